//! Clocks that advance during the race.
//!
//! A cell reads the clock after the word. The other order would let a reading that is older than the word date a
//! lease back, and a probe fly early. The laws look at each order: no word is dated before the one that it replaced, no
//! reading that stamps is older than the one that it supersedes, no probe flies before the wait or the lease is over,
//! and no rejection asks for more than the span. The clock is as weak as can be: coherent, and nothing more.

#![cfg(loom)]

use std::sync::Arc;
use std::time::Duration;

use atomic_breaker::Outcome::{Failure, Ignored, Success};
use atomic_breaker::Reason;
use loom_tests::Held::Current;
use loom_tests::{LEASE, Op, Pace, Race, Tally, WAIT, situations};

/// Into the next millisecond.
const STEP: Duration = Duration::from_micros(1_100);
/// Past every wait and every lease.
const SPAN: Duration = Duration::from_millis(41);

#[test]
fn time_that_passes_between_two_operations_dates_nothing_back() {
    let tally = Tally::of("clock, exact");
    every_pair_beside_a_tick(&tally, Pace::Exact, &[STEP, SPAN]);
}

#[test]
fn a_clock_that_lags_and_stamps_exactly_dates_nothing_back() {
    let tally = Tally::of("clock, coarse");
    every_pair_beside_a_tick(&tally, Pace::Coarse, &[SPAN]);
}

fn every_pair_beside_a_tick(tally: &Tally, pace: Pace, steps: &[Duration]) {
    for situation in situations::all().into_iter().map(Arc::new) {
        for &step in steps {
            for before in Op::ALL {
                for after in Op::ALL {
                    if let Some(race) = Race::new(&situation, &[&[before], &[Op::Tick(step), after]]) {
                        race.pace(pace).explore(tally);
                    }
                }
            }
        }
    }
}

/// The one that prompted the order of the two reads: a caller reads the clock and is held up, another one's lease
/// begins later and ends, and the first one's begins before it.
#[test]
fn a_lease_after_a_lease_is_not_dated_before_it() {
    let tally = Tally::of("clock, lease after lease");
    let starts = [situations::due(1), situations::idle(1), situations::overdue(1), situations::overdue(2)];
    for situation in starts.map(Arc::new) {
        for step in [STEP, LEASE + STEP] {
            let scripts: [&[Op]; 2] =
                [&[Op::Acquire], &[Op::Tick(step), Op::Acquire, Op::Report(Ignored), Op::Acquire]];
            Race::new(&situation, &scripts).expect("no tickets").pace(Pace::Exact).explore(&tally);
        }
    }
}

#[test]
fn an_opening_after_an_opening_is_not_dated_before_it() {
    let tally = Tally::of("clock, opening after opening");
    for situation in situations::all().into_iter().map(Arc::new) {
        let rows: [&[Op]; 3] = [
            &[Op::Tick(STEP), Op::Trip, Op::Reset],
            &[Op::Tick(STEP), Op::ForceOpen, Op::Trip],
            &[Op::Tick(STEP), Op::ForceClosed, Op::Reset],
        ];
        for row in rows {
            for other in [Op::Trip, Op::Reset, Op::ForceOpen, Op::Settle(Current, Failure)] {
                if let Some(race) = Race::new(&situation, &[&[other], row]) {
                    race.pace(Pace::Exact).explore(&tally);
                }
            }
        }
    }
}

#[test]
fn callers_while_the_wait_ends_get_the_slot_or_the_time_that_is_left() {
    let tally = Tally::of("clock, two callers at the end of the wait");
    let waiting = Arc::new(situations::open().remove(0));
    let scripts: [&[Op]; 3] = [&[Op::Acquire], &[Op::Acquire], &[Op::Tick(WAIT + STEP)]];
    let race = Race::new(&waiting, &scripts).expect("no tickets");
    race.pace(Pace::Exact).preemptions(3).explore_and(&tally, |finish| {
        assert!(finish.admitted() <= 1, "one slot");
        assert_eq!(finish.changes().len(), finish.admitted(), "who is admitted half-opened the circuit");
        let rejected = finish.rejected(Reason::Open) + finish.rejected(Reason::HalfOpen);
        assert_eq!(finish.admitted() + rejected, 2);
    });
}

#[test]
fn three_at_once_while_time_passes_have_an_order() {
    let tally = Tally::of("clock, two operations and a tick");
    let operations = [
        Op::Acquire,
        Op::Settle(Current, Success),
        Op::Settle(Current, Failure),
        Op::Settle(Current, Ignored),
        Op::Trip,
        Op::Reset,
        Op::ForceOpen,
    ];
    for situation in situations::all().into_iter().map(Arc::new) {
        for (n, one) in operations.iter().enumerate() {
            for two in &operations[n..] {
                if let Some(race) = Race::new(&situation, &[&[*one], &[*two], &[Op::Tick(SPAN)]]) {
                    race.pace(Pace::Exact).preemptions(2).explore(&tally);
                }
            }
        }
    }
}
