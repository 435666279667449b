//! The runs as series over time, for the picture.

use std::ops::Range;
use std::time::Duration;

use crate::figures::percentile;
use crate::plan::TICK;
use crate::run::{Call, Run, Verdict};

/// Calls by the time of their arrival, so that both runs have the same
/// outline and differ only in what became of the calls.
pub(crate) struct Bin {
    pub(crate) time: Range<f64>,
    /// Calls per second.
    pub(crate) ok: f64,
    pub(crate) failed: f64,
    pub(crate) rejected: f64,
    /// In seconds; none if no call arrived.
    pub(crate) p50: Option<f64>,
    pub(crate) p99: Option<f64>,
}

/// How many callers were kept busy at some instant.
pub(crate) struct Crowd {
    pub(crate) time: f64,
    pub(crate) in_flight: f64,
    /// All threads were taken.
    pub(crate) waiting: f64,
}

pub(crate) fn bins(run: &Run, length: Duration) -> Vec<Bin> {
    const MOST: u32 = 140;
    let width = TICK * (length / MOST).div_duration_f64(TICK).ceil() as u32;
    let mut bins = Vec::new();
    let mut start = Duration::ZERO;
    let mut rest = run.calls.as_slice();
    // A bin cut short at the end would be all noise.
    while start + width <= length {
        let end = start + width;
        let (inside, after) = rest.split_at(rest.partition_point(|call| call.due < end));
        bins.push(bin(inside, start..end));
        (start, rest) = (end, after);
    }
    bins
}

pub(crate) fn crowd(run: &Run, length: Duration) -> Vec<Crowd> {
    const SAMPLES: u32 = 450;
    let due = sorted(run, |call| call.due);
    let started = sorted(run, |call| call.started);
    let finished = sorted(run, |call| call.finished);
    (0..=SAMPLES)
        .map(|sample| {
            let time = length * sample / SAMPLES;
            let until = |times: &[Duration]| float(times.partition_point(|&at| at <= time));
            Crowd {
                time: time.as_secs_f64(),
                in_flight: until(&started) - until(&finished),
                waiting: until(&due) - until(&started),
            }
        })
        .collect()
}

fn bin(calls: &[Call], time: Range<Duration>) -> Bin {
    let seconds = time.end.saturating_sub(time.start).as_secs_f64();
    let rate = |wanted: fn(Verdict) -> bool| {
        float(calls.iter().filter(|call| wanted(call.verdict)).count()) / seconds
    };
    let mut latencies: Vec<_> = calls.iter().map(Call::latency).collect();
    let mut latency = |share| percentile(&mut latencies, share).map(|time| time.as_secs_f64());
    Bin {
        time: time.start.as_secs_f64()..time.end.as_secs_f64(),
        ok: rate(|verdict| verdict == Verdict::Ok),
        failed: rate(|verdict| matches!(verdict, Verdict::Failed(_))),
        rejected: rate(|verdict| verdict == Verdict::Rejected),
        p50: latency(0.50),
        p99: latency(0.99),
    }
}

fn sorted(run: &Run, time: impl Fn(&Call) -> Duration) -> Vec<Duration> {
    let mut times: Vec<_> = run.calls.iter().map(time).collect();
    times.sort_unstable();
    times
}

/// Exact: there are fewer than 2^32 calls.
fn float(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::INFINITY, f64::from)
}
