//! The engine beside the naive model.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::model::engine::{EngineWalk, Op};
use crate::model::time::Tick;
use crate::model::{Numbers, Outcome, Probe};
use crate::numbers::{number_sets, outcomes, starts, ticks};
use crate::{cases, steps};

proptest! {
    #![proptest_config(cases(800))]

    #[test]
    fn the_engine_does_what_the_model_does(
        sets in number_sets(),
        start in starts(),
        ops in vec(ops(), steps(120)),
    ) {
        let mut walk = EngineWalk::new(&sets, start);
        for op in &ops {
            walk.step(op);
        }
    }
}

/// What a random walk hardly gets to.
#[test]
#[cfg_attr(miri, ignore = "long, and every part of it is in the walk above")]
fn counters_stop_at_their_ends_and_turns_wrap() {
    let numbers = Numbers {
        failures: 4095,
        recovery: Duration::from_millis(7),
        slots: Some(63),
        successes: 63,
        probe: Probe::Wait,
        backoff: Some((1.1, Duration::from_secs(5))),
        jitter: 0.3,
    };
    let mut walk = EngineWalk::new(&[numbers], 1);
    for _ in 0..3 {
        walk.step(&Op::Failures(4094));
        walk.step(&Op::Failures(1));
        walk.step(&Op::FailedPeriods(70));
        walk.step(&Op::Tick(Tick::Deadline(0)));
        for _ in 0..64 {
            walk.step(&Op::Acquire);
        }
        for _ in 0..63 {
            walk.step(&Op::Settle(0, Outcome::Success));
        }
        walk.step(&Op::Turns(300));
    }
}

fn ops() -> impl Strategy<Value = Op> {
    let which = 0..8_usize;
    prop_oneof![
        12 => Just(Op::Acquire),
        12 => (which.clone(), outcomes()).prop_map(|(which, outcome)| Op::Settle(which, outcome)),
        1 => which.clone().prop_map(Op::Leak),
        10 => ticks().prop_map(Op::Tick),
        1 => prop_oneof![Just(0), 0..3_000_000_u64].prop_map(Op::Lag),
        1 => Just(Op::Trip),
        1 => Just(Op::Reset),
        1 => prop_oneof![4 => Just(Op::ForceOpen), 4 => Just(Op::ForceClosed), 1 => any::<bool>().prop_map(Op::Retire)],
        2 => which.prop_map(Op::Limits),
        2 => (1..8_u32).prop_map(Op::Failures),
        2 => (1..8_u32).prop_map(Op::FailedPeriods),
        1 => prop_oneof![1..4_u32, if cfg!(miri) { 5..=6_u32 } else { 254..=257 }].prop_map(Op::Turns),
    ]
}
