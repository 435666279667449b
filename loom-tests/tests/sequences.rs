//! Actors that do more than one thing: an order has to respect each actor's own.

#![cfg(loom)]

use std::sync::Arc;

use atomic_breaker::Outcome::{Failure, Ignored, Success};
use loom_tests::Held::Current;
use loom_tests::{Op, Race, Tally, situations};

/// What a caller, an operator or a dashboard does in a row.
const ROWS: [&[Op]; 10] = [
    &[Op::Acquire, Op::Report(Success)],
    &[Op::Acquire, Op::Report(Failure)],
    &[Op::Acquire, Op::Report(Ignored)],
    &[Op::Acquire, Op::Acquire],
    &[Op::Settle(Current, Failure), Op::Acquire],
    &[Op::Settle(Current, Ignored), Op::Acquire],
    &[Op::Trip, Op::Reset],
    &[Op::Reset, Op::Trip],
    &[Op::ForceOpen, Op::Reset],
    &[Op::Read, Op::Peek, Op::Read],
];

#[test]
fn a_row_beside_any_operation_has_an_order() {
    let tally = Tally::of("rows beside one operation");
    for situation in situations::all().into_iter().map(Arc::new) {
        for row in ROWS {
            for other in Op::ALL {
                if let Some(race) = Race::new(&situation, &[row, &[other]]) {
                    race.explore(&tally);
                }
            }
        }
    }
}

#[test]
fn a_row_beside_another_row_has_an_order() {
    let tally = Tally::of("rows beside rows");
    for situation in situations::all().into_iter().map(Arc::new) {
        for (n, one) in ROWS.iter().enumerate() {
            for other in &ROWS[n..] {
                if let Some(race) = Race::new(&situation, &[one, other]) {
                    race.explore(&tally);
                }
            }
        }
    }
}
