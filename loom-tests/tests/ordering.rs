//! The promise of the cell: whatever happened before an operation that changed the word happens before whatever
//! follows one that read the changed word.
//!
//! The data is a relaxed atomic, so nothing else makes it visible. Each order that explains an execution is asked
//! whether the data was found where the promise says so.

#![cfg(loom)]

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use atomic_breaker::Outcome::{Failure, Ignored, Success};
use atomic_breaker::Settled;
use atomic_breaker::engine::{AtomicU64, StateCell, Ticket};
use loom_tests::Held::Current;
use loom_tests::{Op, PUBLISHED, Race, Tally, Told, situations};

#[test]
fn one_that_meets_a_changed_word_finds_what_was_published_before() {
    let tally = Tally::of("ordering, pairs");
    for situation in situations::all().into_iter().map(Arc::new) {
        for change in Op::ALL {
            for meet in Op::ALL {
                let scripts: [&[Op]; 2] = [&[Op::Publish, change], &[meet, Op::Look]];
                if let Some(race) = Race::new(&situation, &scripts) {
                    race.explore(&tally);
                }
            }
        }
    }
}

/// The word is what it was before, and yet another: only the acquiring side of the swap tells.
#[test]
fn a_swap_that_meets_a_word_changed_there_and_back_finds_what_was_published_before() {
    let tally = Tally::of("ordering, there and back");
    let there_and_back: [&[Op]; 3] = [
        &[Op::Publish, Op::Settle(Current, Failure), Op::Settle(Current, Success)],
        &[Op::Publish, Op::Acquire, Op::Report(Ignored)],
        &[Op::Publish, Op::Settle(Current, Ignored), Op::Acquire],
    ];
    for situation in situations::all().into_iter().map(Arc::new) {
        for change in there_and_back {
            for meet in Op::ALL {
                if let Some(race) = Race::new(&situation, &[change, &[meet, Op::Look]]) {
                    race.explore(&tally);
                }
            }
        }
    }
}

/// Somebody else's change in between takes nothing away.
#[test]
fn one_that_meets_a_later_change_finds_what_was_published_before_an_earlier_one() {
    let tally = Tally::of("ordering, through a third");
    let writes =
        [Op::Acquire, Op::Settle(Current, Success), Op::Settle(Current, Failure), Op::Trip, Op::Reset];
    for situation in situations::all().into_iter().map(Arc::new) {
        for first in writes {
            for second in writes {
                for meet in [Op::Read, Op::Acquire] {
                    let scripts: [&[Op]; 3] = [&[meet, Op::Look], &[Op::Publish, first], &[second]];
                    if let Some(race) = Race::new(&situation, &scripts) {
                        race.preemptions(2).explore(&tally);
                    }
                }
            }
        }
    }
}

#[test]
fn one_that_is_rejected_finds_what_was_published_before_the_trip() {
    let tally = Tally::of("ordering, trip and rejection");
    let situation = Arc::new(situations::closed().remove(0));
    let race = Race::new(&situation, &[&[Op::Acquire, Op::Look], &[Op::Publish, Op::Trip]]);
    race.expect("no tickets needed").explore_and(&tally, |finish| {
        let told: Vec<Told> = finish.told(0).collect();
        if let [Told::Acquired(Err(_)), data] = told[..] {
            assert_eq!(data, Told::Data(PUBLISHED), "the rejected call looks after the trip");
        }
    });
}

/// The success that writes nothing is a load like any other. Only a ticket of the new period, which got there without
/// the word, tells that it met the changed word and not the one before.
#[test]
fn a_success_that_writes_nothing_finds_what_was_published_before_its_period() {
    let tally = Tally::of("ordering, quiet success");
    let count = tally.model();
    let situation = Arc::new(situations::one_below_the_threshold());
    loom::model(move || {
        count();
        let relaxed = |value| Arc::new(AtomicU64::new(value));
        let (word, data, handed) = (relaxed(situation.word.to_bits()), relaxed(0), relaxed(0));
        let now = situation.now;
        let caller = {
            let (situation, word) = (Arc::clone(&situation), Arc::clone(&word));
            let (data, handed) = (Arc::clone(&data), Arc::clone(&handed));
            loom::thread::spawn(move || {
                let bits = handed.load(Relaxed);
                if bits != 0 {
                    let ticket = Ticket::from_bits(bits);
                    let cell = StateCell::from_ref(&word);
                    let settled = cell.settle(ticket, Success, &situation.limits, &|| now).settled;
                    if settled == Settled::Applied {
                        assert_eq!(data.load(Relaxed), PUBLISHED, "the ticket's period began after that");
                    }
                }
            })
        };
        let cell = StateCell::over(word);
        data.store(PUBLISHED, Relaxed);
        let _reported = cell.reset(&|| now);
        let admitted = cell.try_acquire(&situation.limits, &|| now).expect("a closed circuit admits");
        handed.store(admitted.ticket.to_bits(), Relaxed);
        caller.join().expect("the caller panicked");
    });
}
