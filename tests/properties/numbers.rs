//! Strategies: limits that a circuit can have, and moves of its clock.

use std::time::Duration;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::model::time::Tick;
use crate::model::{Numbers, Outcome, Probe};

const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
const MILLI: u64 = 1_000_000;

prop_compose! {
    /// Mostly small numbers, so that walks get somewhere; now and then the ends of the ranges.
    pub(crate) fn numbers()(
        failures in prop_oneof![8 => 1..=5_u32, 1 => Just(4095), 1 => 1..=4095_u32],
        recovery in waits(),
        slots in prop_oneof![4 => Just(Some(1)), 6 => (1..=4_u32).prop_map(Some), 1 => Just(Some(63)), 2 => Just(None)],
        successes in prop_oneof![8 => 1..=3_u32, 1 => Just(63)],
        probe in prop_oneof![
            4 => Just(Probe::Wait),
            2 => waits().prop_map(Probe::After),
            1 => Just(Probe::Never),
        ],
        backoff in option::weighted(0.4, (prop_oneof![Just(1.0), Just(2.0), Just(f64::MAX), 1.0..4.0], waits())),
        jitter in prop_oneof![3 => Just(0.0), 1 => Just(1.0), 2 => 0.0..=1.0],
    ) -> Numbers {
        let backoff = backoff.map(|(multiplier, max)| (multiplier, max.max(recovery)));
        Numbers { failures, recovery, slots, successes, probe, backoff, jitter }
    }
}

/// A few sets to switch between.
pub(crate) fn number_sets() -> impl Strategy<Value = Vec<Numbers>> {
    vec(numbers(), 1..4)
}

pub(crate) fn waits() -> impl Strategy<Value = Duration> {
    prop_oneof![
        2 => Just(Duration::from_millis(1)),
        4 => (1..=50_u64).prop_map(Duration::from_millis),
        4 => (MILLI..=50 * MILLI).prop_map(Duration::from_nanos),
        2 => (1..=100_u64).prop_map(Duration::from_secs),
        1 => Just(YEAR),
    ]
}

/// Where a clock may stand when a circuit is made.
pub(crate) fn starts() -> impl Strategy<Value = u64> {
    let lap = (1_u64 << 36) * MILLI;
    prop_oneof![
        2 => Just(0),
        2 => 0..5 * MILLI,
        2 => (lap - 50 * MILLI)..(lap + 50 * MILLI),
        1 => (u64::MAX - 50 * MILLI)..=u64::MAX,
        2 => any::<u64>(),
    ]
}

pub(crate) fn outcomes() -> impl Strategy<Value = Outcome> {
    prop_oneof![3 => Just(Outcome::Success), 5 => Just(Outcome::Failure), 2 => Just(Outcome::Ignored)]
}

pub(crate) fn ticks() -> impl Strategy<Value = Tick> {
    let lap = (1_u64 << 36) * MILLI;
    let back = (1_u64 << 30) * MILLI;
    prop_oneof![
        4 => (0..3 * MILLI).prop_map(Tick::Forward),
        3 => prop_oneof![Just(1), Just(MILLI - 1), Just(MILLI), Just(MILLI + 1)].prop_map(Tick::Forward),
        2 => (0..100 * MILLI).prop_map(Tick::Forward),
        1 => (0..lap).prop_map(Tick::Forward),
        1 => (lap - back - 2 * MILLI..=lap).prop_map(Tick::Forward),
        2 => (0..5 * MILLI).prop_map(Tick::Back),
        1 => (back - 2 * MILLI..back + 2 * MILLI).prop_map(Tick::Back),
        1 => (0..2 * lap).prop_map(Tick::Back),
        6 => near().prop_map(Tick::Deadline),
        4 => near().prop_map(Tick::NextMs),
        1 => any::<u64>().prop_map(Tick::To),
    ]
}

/// Nanoseconds beside a border.
fn near() -> impl Strategy<Value = i64> {
    let milli = i64::try_from(MILLI).unwrap();
    prop_oneof![3 => Just(0), 2 => Just(-1), 2 => Just(1), 1 => -milli..=milli]
}
