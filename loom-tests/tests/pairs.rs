//! Every pair of operations, from every kind of state, in every execution.

#![cfg(loom)]

use std::sync::Arc;

use loom_tests::{Op, Race, Situation, Tally, situations};

#[test]
fn every_pair_on_a_closed_circuit_has_an_order() {
    every_pair(&Tally::of("pairs, closed"), situations::closed());
}

#[test]
fn every_pair_on_an_open_circuit_has_an_order() {
    every_pair(&Tally::of("pairs, open"), situations::open());
}

#[test]
fn every_pair_on_a_half_open_circuit_has_an_order() {
    every_pair(&Tally::of("pairs, half-open"), situations::half_open());
}

#[test]
fn every_pair_on_a_forced_circuit_has_an_order() {
    every_pair(&Tally::of("pairs, forced"), situations::forced());
}

fn every_pair(tally: &Tally, situations: Vec<Situation>) {
    for situation in situations.into_iter().map(Arc::new) {
        for (n, one) in Op::ALL.iter().enumerate() {
            for other in &Op::ALL[n..] {
                if let Some(race) = Race::new(&situation, &[&[*one], &[*other]]) {
                    race.explore(tally);
                }
            }
        }
    }
}
