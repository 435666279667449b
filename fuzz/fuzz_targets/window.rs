//! A breaker with a window beside the naive one, through any sequence of outcomes, times, periods and configurations.

#![no_main]

use std::time::Duration;

use arbitrary::{Arbitrary, Result, Unstructured};
use atomic_breaker::{CircuitBreaker, Config, ManualClock, Outcome, Settled, Window};
use libfuzzer_sys::fuzz_target;

#[path = "../../tests/model/window.rs"]
mod naive;

use crate::naive::{Naive, width_of};

#[derive(Debug)]
struct Input {
    window: Window,
    start: u64,
    rates: Rates,
    ops: Vec<Op>,
}

#[derive(Clone, Copy, Debug)]
struct Rates {
    failures: f64,
    slow: f64,
    min_calls: u32,
}

#[derive(Debug)]
enum Op {
    Record {
        failed: bool,
        slow: bool,
        times: u32,
    },
    Forward(u64),
    /// From here on, only that nothing is invented.
    Back(u64),
    Reset,
    Reopen,
    Reconfigure(Rates),
}

impl<'a> Arbitrary<'a> for Input {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let window = if u.ratio(1, 2)? {
            Window::Calls(if u.ratio(3, 4)? { u.int_in_range(1..=40)? } else { u.int_in_range(1..=65_536)? })
        } else {
            let buckets = if u.ratio(3, 4)? { u.int_in_range(1..=9)? } else { u.int_in_range(1..=4_096)? };
            let widest = *u.choose(&[1_000_000, 2_000_000, 1_000_000_000, 7_000_000_000_000])?;
            Window::Time {
                length: Duration::from_nanos(u.int_in_range(1_000_000..=widest)?) * buckets,
                buckets,
            }
        };
        let start = if u.ratio(1, 2)? { u.int_in_range(0..=1 << 60)? } else { 0 };
        let (rates, mut ops) = (rates(u)?, Vec::new());
        while !u.is_empty() && ops.len() < 200 {
            ops.push(op(u, width_of(window))?);
        }
        Ok(Self { window, start, rates, ops })
    }
}

fn rates(u: &mut Unstructured<'_>) -> Result<Rates> {
    let mut rate = || Ok(f64::from(u.int_in_range(1..=60_u32)?) / 60.0);
    Ok(Rates { failures: rate()?, slow: rate()?, min_calls: u.int_in_range(1..=20)? })
}

fn op(u: &mut Unstructured<'_>, width: u64) -> Result<Op> {
    Ok(match u.int_in_range(0..=15)? {
        0..=7 => Op::Record { failed: u.arbitrary()?, slow: u.ratio(1, 4)?, times: u.int_in_range(1..=20)? },
        8..=11 => Op::Forward(gap(u, width)?),
        12 => Op::Back(gap(u, width)?),
        13 => Op::Reset,
        14 => Op::Reopen,
        _ => Op::Reconfigure(rates(u)?),
    })
}

/// Nanoseconds, up to some months: within a bucket, some buckets, many times the ring.
fn gap(u: &mut Unstructured<'_>, width: u64) -> Result<u64> {
    let buckets = match u.int_in_range(0..=3)? {
        0 => return u.int_in_range(0..=width),
        1 => u.int_in_range(0..=20)?,
        2 => 1 << u.int_in_range(0..=40)?,
        _ => u.int_in_range(0..=1 << 30)?,
    };
    Ok((buckets * u128::from(width)).min(1 << 54) as u64)
}

fn config(window: Window, rates: Rates) -> Config {
    let min_calls =
        if let Window::Calls(calls) = window { rates.min_calls.min(calls) } else { rates.min_calls };
    Config::builder()
        .failure_rate(rates.failures, min_calls, window)
        .slow_calls(Duration::from_secs(1), rates.slow)
        .recovery_timeout(Duration::from_millis(1))
        .build()
        .expect("all of it is legal")
}

fuzz_target!(|input: Input| {
    let Input { window, start, mut rates, ops } = input;
    let clock = ManualClock::at(Duration::from_nanos(start));
    let breaker = CircuitBreaker::with_clock(config(window, rates), clock.clone());
    let mut naive = Naive::new(window);
    let (mut now, mut stepped_back) = (start, false);
    for op in ops {
        match op {
            Op::Record { failed, slow, times } => {
                for _ in 0..times {
                    naive.record(now, failed, slow);
                    let (total, failures, slows) = naive.totals(now);
                    let min_calls =
                        config(window, rates).failure_rate().map_or(1, |failures| failures.min_calls);
                    let opens = (failed || slow)
                        && total >= u64::from(min_calls)
                        && (failures as f64 / total as f64 >= rates.failures
                            || slows as f64 / total as f64 >= rates.slow);
                    let outcome = if failed { Outcome::Failure } else { Outcome::Success };
                    let took = Duration::from_secs(u64::from(slow));
                    let settled = breaker.try_acquire().expect("it is closed").record_after(outcome, took);
                    assert!(stepped_back || (settled == Settled::Opened) == opens, "{settled:?}");
                    if settled == Settled::Opened {
                        breaker.reset();
                        naive.clear();
                    }
                }
            }
            Op::Forward(by) => now += by,
            Op::Back(by) => {
                stepped_back |= by > 0;
                now = now.saturating_sub(by);
            }
            Op::Reset => {
                breaker.reset();
                naive.clear();
            }
            Op::Reopen => {
                breaker.trip();
                now += 2_000_000;
                clock.set(Duration::from_nanos(now));
                assert_eq!(breaker.try_acquire().expect("the wait is over").success(), Settled::Closed);
                naive.clear();
            }
            Op::Reconfigure(other) => {
                rates = other;
                breaker.reconfigure(config(window, rates)).expect("the window is the same");
            }
        }
        clock.set(Duration::from_nanos(now));
        let window = breaker.snapshot().window().expect("it has one");
        let counted = (window.total(), window.failures(), window.slow_calls());
        let exact = naive.totals(now);
        if stepped_back {
            assert!(
                counted.0 <= exact.0 && counted.1 <= exact.1 && counted.2 <= exact.2,
                "{counted:?} {exact:?}"
            );
        } else {
            assert_eq!(counted, exact);
        }
    }
});
