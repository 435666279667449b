//! Numbers that a circuit can have, from bytes.

use std::time::Duration;

use arbitrary::{Arbitrary, Result, Unstructured};

use crate::model::time::Tick;
use crate::model::{Numbers, Outcome, Probe};

const YEAR_NS: u64 = 365 * 24 * 60 * 60 * 1_000_000_000;
const MILLI: u64 = 1_000_000;

pub(crate) fn numbers(u: &mut Unstructured<'_>) -> Result<Numbers> {
    let recovery = span(u)?;
    let backoff = if u.ratio(1, 2)? {
        let multiplier =
            if u.ratio(1, 4)? { finite(u)?.max(1.0) } else { f64::from(u.int_in_range(10..=40_u32)?) / 10.0 };
        Some((multiplier, span(u)?.max(recovery)))
    } else {
        None
    };
    Ok(Numbers {
        failures: if u.ratio(3, 4)? { u.int_in_range(1..=4)? } else { u.int_in_range(1..=4095)? },
        recovery,
        slots: if u.ratio(1, 4)? { None } else { Some(few(u)?) },
        successes: few(u)?,
        probe: match u.int_in_range(0..=3)? {
            0 => Probe::Never,
            1 => Probe::After(span(u)?),
            _ => Probe::Wait,
        },
        backoff,
        jitter: match u.int_in_range(0..=3)? {
            0 => finite(u)?.clamp(0.0, 1.0),
            1 => 1.0,
            _ => 0.0,
        },
    })
}

pub(crate) fn tick(u: &mut Unstructured<'_>) -> Result<Tick> {
    Ok(match u.int_in_range(0..=8)? {
        0 | 1 => Tick::Deadline(beside(u)?),
        2 | 3 => Tick::NextMs(beside(u)?),
        4 => Tick::Forward(u.int_in_range(0..=3 * MILLI)?),
        5 => Tick::Forward(u64::arbitrary(u)? >> u.int_in_range(0..=40_u32)?),
        6 => Tick::Back(u.int_in_range(0..=3 * MILLI)?),
        7 => Tick::Back(u64::arbitrary(u)? >> u.int_in_range(0..=40_u32)?),
        _ => Tick::To(u64::arbitrary(u)?),
    })
}

pub(crate) fn outcome(u: &mut Unstructured<'_>) -> Result<Outcome> {
    u.choose(&[Outcome::Success, Outcome::Failure, Outcome::Ignored]).copied()
}

/// Small, or near the end of the field.
fn few(u: &mut Unstructured<'_>) -> Result<u32> {
    if u.ratio(3, 4)? { u.int_in_range(1..=3) } else { u.int_in_range(1..=63) }
}

fn span(u: &mut Unstructured<'_>) -> Result<Duration> {
    let longest = *u.choose(&[2 * MILLI, 20 * MILLI, 20 * MILLI, 1_000 * MILLI, YEAR_NS])?;
    Ok(Duration::from_nanos(u.int_in_range(MILLI..=longest)?))
}

/// Nanoseconds beside a border, the border itself more often than not.
fn beside(u: &mut Unstructured<'_>) -> Result<i64> {
    Ok(match u.int_in_range(0..=5)? {
        0 => -1,
        1 => 1,
        2 => i64::from(u.int_in_range(-1_000_000..=1_000_000_i32)?),
        _ => 0,
    })
}

fn finite(u: &mut Unstructured<'_>) -> Result<f64> {
    let number = f64::from_bits(u64::arbitrary(u)?);
    Ok(if number.is_finite() { number } else { 2.5 })
}
