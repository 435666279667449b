//! The breaker beside the naive model: reconfigured, in shadow mode, observed, its permits dropped and leaked.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::model::breaker::{BreakerWalk, Op, Setup};
use crate::numbers::{numbers, outcomes, starts, ticks};
use crate::{cases, steps};

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn the_breaker_does_what_the_model_does(
        setups in vec(setups(), 1..4),
        start in starts(),
        ops in vec(ops(), steps(100)),
    ) {
        let mut walk = BreakerWalk::new(&setups, start);
        for op in &ops {
            walk.step(op);
        }
    }
}

fn setups() -> impl Strategy<Value = Setup> {
    (numbers(), prop::bool::weighted(0.2), prop::bool::weighted(0.8))
        .prop_map(|(numbers, shadow, observed)| Setup { numbers, shadow, observed })
}

fn ops() -> impl Strategy<Value = Op> {
    let which = 0..8_usize;
    prop_oneof![
        8 => Just(Op::Acquire),
        8 => (which.clone(), outcomes()).prop_map(|(which, outcome)| Op::Settle(which, outcome)),
        2 => which.clone().prop_map(Op::Drop),
        1 => which.clone().prop_map(Op::Leak),
        4 => outcomes().prop_map(Op::Call),
        2 => outcomes().prop_map(Op::CallAsync),
        8 => ticks().prop_map(Op::Tick),
        1 => prop_oneof![Just(Op::Trip), Just(Op::Reset), Just(Op::ForceOpen), Just(Op::ForceClosed)],
        2 => which.prop_map(Op::Reconfigure),
    ]
}
