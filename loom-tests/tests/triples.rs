//! Three operations at once, from every kind of state, in every execution with at most two preemptions.
//! `LOOM_MAX_PREEMPTIONS=3` explores more, in three times the time.

#![cfg(loom)]

use std::sync::Arc;

use atomic_breaker::Outcome::{Failure, Ignored, Success};
use loom_tests::Held::{Current, Stale, WrittenOff};
use loom_tests::{Op, Race, Situation, Tally, situations};

/// The operations that write, and a ticket of each kind.
const OPERATIONS: [Op; 13] = [
    Op::Acquire,
    Op::Settle(Current, Success),
    Op::Settle(Current, Failure),
    Op::Settle(Current, Ignored),
    Op::Settle(WrittenOff, Success),
    Op::Settle(WrittenOff, Failure),
    Op::Settle(WrittenOff, Ignored),
    Op::Settle(Stale, Failure),
    Op::Trip,
    Op::Reset,
    Op::ForceOpen,
    Op::ForceClosed,
    Op::Retire,
];

#[test]
fn three_at_once_on_a_closed_circuit_have_an_order() {
    every_triple(&Tally::of("triples, closed"), situations::closed());
}

#[test]
fn three_at_once_on_an_open_circuit_have_an_order() {
    every_triple(&Tally::of("triples, open"), situations::open());
}

#[test]
fn three_at_once_on_a_half_open_circuit_have_an_order() {
    let (_, others) = with_written_off_probes();
    every_triple(&Tally::of("triples, half-open"), others);
}

#[test]
fn three_at_once_beside_written_off_probes_have_an_order() {
    let (with, _) = with_written_off_probes();
    every_triple(&Tally::of("triples, half-open, written-off probes"), with);
}

fn with_written_off_probes() -> (Vec<Situation>, Vec<Situation>) {
    let is_written_off = |situation: &Situation| situation.grants.iter().any(|(held, _)| *held == WrittenOff);
    situations::half_open().into_iter().partition(is_written_off)
}

#[test]
fn three_at_once_on_a_forced_circuit_have_an_order() {
    every_triple(&Tally::of("triples, forced"), situations::forced());
}

fn every_triple(tally: &Tally, situations: Vec<Situation>) {
    for situation in situations.into_iter().map(Arc::new) {
        for (n, one) in OPERATIONS.iter().enumerate() {
            for (m, two) in OPERATIONS.iter().enumerate().skip(n) {
                for three in &OPERATIONS[m..] {
                    if let Some(race) = Race::new(&situation, &[&[*one], &[*two], &[*three]]) {
                        race.preemptions(2).explore(tally);
                    }
                }
            }
        }
    }
}
