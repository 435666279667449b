//! A registry takes a circuit out of use while others use it.
//!
//! A circuit that is armed (open, half-open, forced, or counting failures) must not get lost: whoever changed it was
//! told so and relies on it. Either the circuit is retired before that change, and then there is no change, or it is
//! not retired.

#![cfg(loom)]

use std::sync::Arc;

use atomic_breaker::Outcome::{Failure, Success};
use atomic_breaker::Settled;
use loom_tests::Held::Current;
use loom_tests::{Op, Race, Situation, Tally, situations};

#[test]
fn a_circuit_that_is_retired_is_never_armed() {
    let tally = Tally::of("retire beside what arms");
    let arming: [&[Op]; 6] = [
        &[Op::Trip],
        &[Op::ForceOpen],
        &[Op::ForceClosed],
        &[Op::Settle(Current, Failure)],
        &[Op::Acquire, Op::Report(Failure)],
        &[Op::ForceClosed, Op::Trip],
    ];
    for situation in untouched() {
        for arms in arming {
            race(&situation, &[&[Op::Retire], arms]).explore_and(&tally, |finish| {
                let armed = !finish.changes().is_empty() || finish.settled(Settled::Applied) > 0;
                assert_ne!(finish.retired() == 1, armed, "one of the two, and not both");
                assert_eq!(finish.word().is_retired(), !armed);
            });
        }
    }
}

#[test]
fn a_circuit_is_retired_by_one() {
    let tally = Tally::of("retire beside retire");
    for situation in untouched() {
        for retiring in 2..=3 {
            race(&situation, &vec![&[Op::Retire][..]; retiring]).explore_and(&tally, |finish| {
                assert_eq!(finish.retired(), 1);
                assert!(finish.word().is_retired());
            });
        }
        race(&situation, &[&[Op::Retire], &[Op::Retire], &[Op::Trip]]).explore_and(&tally, |finish| {
            assert_eq!(finish.retired() + finish.changes().len(), 1, "retired by one, or tripped");
        });
    }
}

#[test]
fn a_call_beside_the_retirement_is_admitted_and_no_success_prevents_it() {
    let tally = Tally::of("retire beside a healthy call");
    for situation in untouched() {
        race(&situation, &[&[Op::Retire], &[Op::Acquire, Op::Report(Success)]]).explore_and(
            &tally,
            |finish| {
                assert_eq!(finish.admitted(), 1);
                assert!(finish.word().is_retired(), "a success leaves nothing that would be lost");
            },
        );
    }
}

#[test]
fn what_passed_by_is_retired_before_it_or_after_it() {
    let tally = Tally::of("retire beside what comes and goes");
    let passing: [&[Op]; 3] = [
        &[Op::Trip, Op::Reset],
        &[Op::ForceOpen, Op::Reset],
        &[Op::Settle(Current, Failure), Op::Settle(Current, Success)],
    ];
    for situation in untouched() {
        for passes in passing {
            race(&situation, &[&[Op::Retire], passes]).explore_and(&tally, |finish| {
                if finish.retired() == 1 {
                    assert!(finish.word().is_retired(), "nothing ends a retirement");
                } else {
                    assert!(finish.word().is_untouched());
                }
                assert_ne!(finish.changes().len(), 1, "it was retired in between");
            });
        }
    }
}

#[test]
fn a_touched_circuit_is_not_retired() {
    let tally = Tally::of("retire, touched");
    for situation in situations::all().into_iter().filter(|situation| !situation.word.is_untouched()) {
        let situation = Arc::new(situation);
        race(&situation, &[&[Op::Retire], &[Op::Retire]]).explore_and(&tally, |finish| {
            assert_eq!(finish.retired(), 0);
        });
    }
}

fn untouched() -> impl Iterator<Item = Arc<Situation>> {
    situations::closed().into_iter().filter(|situation| situation.word.is_untouched()).map(Arc::new)
}

fn race(situation: &Arc<Situation>, scripts: &[&[Op]]) -> Race {
    let race = Race::new(situation, scripts).expect("the situation has these tickets");
    if scripts.len() > 2 { race.preemptions(3) } else { race }
}
