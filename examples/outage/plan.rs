//! What both runs face alike: when calls arrive, and when the server is bad.

use std::fmt;
use std::time::Duration;

use crate::options::{FaultKind, Options};

/// The grid of the timeline.
pub(crate) const TICK: Duration = Duration::from_millis(100);

/// One workload and one outage, laid down before the first run starts so that
/// the second one gets exactly the same.
pub(crate) struct Plan {
    pub(crate) length: Duration,
    pub(crate) rate: u32,
    /// The instant each call falls due, in order; its index is the call's id.
    pub(crate) arrivals: Vec<Duration>,
    pub(crate) outage: Vec<Phase>,
}

/// A stretch of the outage during which the server fails in one way.
#[derive(Clone, Copy)]
pub(crate) struct Phase {
    pub(crate) fault: Fault,
    pub(crate) from: Duration,
    pub(crate) until: Duration,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nobody listens on the port.
    Refuse,
    /// Requests are read and never answered.
    Hang,
    /// Every request is answered at once, with status 500.
    Error500,
}

impl Plan {
    pub(crate) fn new(options: &Options) -> Self {
        let length = options.length;
        Self {
            length,
            rate: options.rate,
            arrivals: arrivals(length, options.rate, options.seed),
            outage: outage(length, options.fault),
        }
    }
}

impl Phase {
    pub(crate) fn length(&self) -> Duration {
        self.until.saturating_sub(self.from)
    }

    pub(crate) fn covers(&self, time: Duration) -> bool {
        (self.from..self.until).contains(&time)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Refuse => "refuses connections",
            Self::Hang => "hangs",
            Self::Error500 => "answers 500",
        })
    }
}

/// A pseudo-random number in `0.0..1.0` that depends on nothing but its
/// arguments (`SplitMix64`), so call 123 is the same call in both runs.
pub(crate) fn random(seed: u64, index: usize) -> f64 {
    const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut z = seed.wrapping_add(GAMMA.wrapping_mul(index as u64 + 1));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^= z >> 31;
    // 32 bits are plenty here and convert to `f64` without loss.
    f64::from((z >> 32) as u32) / (f64::from(u32::MAX) + 1.0)
}

/// One call somewhere at random in each slot of `1 / rate` seconds: irregular
/// enough to be no metronome, and still the same number in every second.
fn arrivals(length: Duration, rate: u32, seed: u64) -> Vec<Duration> {
    let slot = Duration::from_secs(1) / rate;
    let mut start = Duration::ZERO;
    let mut arrivals = Vec::new();
    while start + slot <= length {
        arrivals.push(start + slot.mul_f64(random(seed, arrivals.len())));
        start += slot;
    }
    arrivals
}

fn outage(length: Duration, kind: FaultKind) -> Vec<Phase> {
    // The mixed outage is a story: the server hangs, is killed and restarted
    // (nobody listens meanwhile), and answers 500 until it has warmed up.
    let parts: &[(Fault, f64)] = match kind {
        FaultKind::Refuse => &[(Fault::Refuse, 1.0)],
        FaultKind::Hang => &[(Fault::Hang, 1.0)],
        FaultKind::Error500 => &[(Fault::Error500, 1.0)],
        FaultKind::Mixed => &[(Fault::Hang, 0.45), (Fault::Refuse, 0.25), (Fault::Error500, 0.30)],
    };
    let whole = length.mul_f64(0.45);
    let mut from = whole_ticks(length.mul_f64(0.15));
    let mut phases = Vec::new();
    for &(fault, share) in parts {
        let until = from + whole_ticks(whole.mul_f64(share));
        phases.push(Phase { fault, from, until });
        from = until;
    }
    phases
}

/// Phases keep to the grid of the timeline, so that no row of it is half good
/// and half bad.
fn whole_ticks(time: Duration) -> Duration {
    TICK * time.div_duration_f64(TICK).round() as u32
}
