//! The breaker and the engine below it, each beside the naive model, through any sequence of operations.

#![no_main]

#[path = "input.rs"]
mod input;
#[path = "../../tests/model/mod.rs"]
#[allow(dead_code, reason = "each target uses its part")]
mod model;

use arbitrary::{Arbitrary, Result, Unstructured};
use libfuzzer_sys::fuzz_target;

use crate::input::{numbers, outcome, tick};
use crate::model::Numbers;
use crate::model::breaker::{BreakerWalk, Op, Setup};
use crate::model::engine::{self, EngineWalk};

#[derive(Debug)]
enum Input {
    Breaker { setups: Vec<Setup>, start: u64, ops: Vec<Op> },
    Engine { sets: Vec<Numbers>, start: u64, ops: Vec<engine::Op> },
}

impl<'a> Arbitrary<'a> for Input {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let sets = (0..u.int_in_range(1..=3_u32)?).map(|_| numbers(u)).collect::<Result<Vec<_>>>()?;
        let start = if u.ratio(1, 2)? { u64::arbitrary(u)? } else { u.int_in_range(0..=5_000_000)? };
        if u.ratio(2, 3)? {
            let mut setups = Vec::new();
            for numbers in sets {
                setups.push(Setup { numbers, shadow: u.ratio(1, 6)?, observed: u.ratio(5, 6)? });
            }
            return Ok(Self::Breaker { setups, start, ops: all(u, breaker_op)? });
        }
        Ok(Self::Engine { sets, start, ops: all(u, engine_op)? })
    }
}

/// As many as the rest of the bytes makes.
fn all<'a, T>(u: &mut Unstructured<'a>, one: impl Fn(&mut Unstructured<'a>) -> Result<T>) -> Result<Vec<T>> {
    const LONGEST: usize = 200;
    let mut items = Vec::new();
    while !u.is_empty() && items.len() < LONGEST {
        items.push(one(u)?);
    }
    Ok(items)
}

fn breaker_op(u: &mut Unstructured<'_>) -> Result<Op> {
    let which = |u: &mut Unstructured<'_>| u.int_in_range(0..=7_usize);
    Ok(match u.int_in_range(0..=19)? {
        0..=3 => Op::Acquire,
        4..=7 => Op::Settle(which(u)?, outcome(u)?),
        8 => Op::Drop(which(u)?),
        9 => Op::Leak(which(u)?),
        10 | 11 => Op::Call(outcome(u)?),
        12 => Op::CallAsync(outcome(u)?),
        13 => Op::Trip,
        14 => Op::Reset,
        15 => {
            if u.arbitrary()? {
                Op::ForceOpen
            } else {
                Op::ForceClosed
            }
        }
        16 => Op::Reconfigure(which(u)?),
        _ => Op::Tick(tick(u)?),
    })
}

fn engine_op(u: &mut Unstructured<'_>) -> Result<engine::Op> {
    use engine::Op;
    let which = |u: &mut Unstructured<'_>| u.int_in_range(0..=7_usize);
    Ok(match u.int_in_range(0..=19)? {
        0..=3 => Op::Acquire,
        4..=7 => Op::Settle(which(u)?, outcome(u)?),
        8 => Op::Leak(which(u)?),
        9 => Op::Lag(u.int_in_range(0..=2_000_000)?),
        10 => Op::Failures(u.int_in_range(1..=20)?),
        11 => Op::FailedPeriods(u.int_in_range(1..=70)?),
        12 => Op::Turns(u.int_in_range(1..=130)?),
        13 => Op::Trip,
        14 => Op::Reset,
        15 => u.choose(&[Op::ForceOpen, Op::ForceClosed, Op::Retire(false), Op::Retire(true)])?.clone(),
        16 => Op::Limits(which(u)?),
        _ => Op::Tick(tick(u)?),
    })
}

fuzz_target!(|input: Input| {
    match input {
        Input::Breaker { setups, start, ops } => {
            let mut walk = BreakerWalk::new(&setups, start);
            for op in &ops {
                walk.step(op);
            }
        }
        Input::Engine { sets, start, ops } => {
            let mut walk = EngineWalk::new(&sets, start);
            for op in &ops {
                walk.step(op);
            }
        }
    }
});
