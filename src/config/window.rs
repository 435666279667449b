//! Failure rate and slow calls: what a window is told to do.

use std::fmt;
use std::time::Duration;

use crate::error::{ConfigError, ConfigErrorKind, Value};
use crate::limits::MAX_TIMEOUT;
use crate::window::{Events, Rates};

/// The outcomes on which a failure rate is based. Fixed for the life of a breaker.
///
/// | | [`Calls`](Window::Calls) | [`Time`](Window::Time) |
/// |---|---|---|
/// | a success costs | one compare-and-swap, every sixteenth one more | one clock read, one compare-and-swap |
/// | a failure costs, beside that | two compare-and-swaps at most, and a look at every 16 calls | two of them, a clock read, and a look at every bucket of every stripe |
/// | many cores | meet in one place: the order of all calls is what it is about | each has a place of its own |
/// | little traffic | old outcomes count for as long as no newer ones come | they are forgotten in time |
/// | much traffic | covers an instant | covers its length |
/// | memory | 8 bytes for 16 calls | 64 bytes per bucket and stripe |
///
/// Take `Time` unless the verdict has to be about a fixed number of calls.
///
/// # Memory
///
/// A breaker with a window takes, beside itself:
///
/// | window | bytes | for example |
/// |---|---|---|
/// | `Calls(n)` | 128 + 8 × *(n / 16, rounded up, + 5, rounded up to a power of two)* | 100 calls: 256; 10,000: 8,320; 65,536: 65,664 |
/// | `Time` of `b` buckets | 128 + 64 × *(b + 1, rounded up to a power of two)* × stripes | 10 buckets: 1,024 per stripe; 4,096: 524,288 per stripe |
///
/// There are as many stripes as the process can use cores, rounded up to a power of two, eight at most. All of it is
/// allocated when the breaker is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Window {
    /// The last so many calls.
    Calls(u32),
    /// The present bucket of time and those before it that, together, make up the length.
    Time {
        /// The length of the window: a multiple of the buckets, in nanoseconds.
        length: Duration,
        /// Into how many parts it is cut. Outcomes are forgotten bucket by bucket.
        buckets: u32,
    },
}

/// The share of failed calls that opens a circuit, instead of a number of failures in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FailureRate {
    /// The share, above 0 and up to 1.
    pub rate: f64,
    /// The fewest calls in the window on which a verdict is based.
    pub min_calls: u32,
    /// The calls that count.
    pub window: Window,
}

/// The share of slow calls that opens a circuit, beside that of failed ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowCalls {
    /// A call that took so long, or longer, is slow.
    pub slower_than: Duration,
    /// The share, above 0 and up to 1.
    pub rate: f64,
}

/// What a breaker goes by.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Policy {
    /// `None`: consecutive failures.
    pub(super) failure_rate: Option<FailureRate>,
    pub(super) slow_calls: Option<SlowCalls>,
}

type Illegal<'a, E> = &'a mut dyn FnMut(ConfigError) -> Result<(), E>;

impl Policy {
    /// The nearest legal values, each illegal one told to `illegal`, which decides whether to go on.
    pub(super) fn clamped<E>(mut self, illegal: Illegal<'_, E>) -> Result<Self, E> {
        if let Some(failures) = &mut self.failure_rate {
            share("failure_rate.rate", &mut failures.rate, illegal)?;
            failures.window = failures.window.clamped(illegal)?;
            let most = failures.window.most_calls();
            count("failure_rate.min_calls", &mut failures.min_calls, most, illegal)?;
        }
        if let Some(slow) = &mut self.slow_calls {
            if self.failure_rate.is_none() {
                let value = Value::Time(slow.slower_than);
                let kind = ConfigErrorKind::NeedsFailureRate;
                illegal(ConfigError::of_kind(kind, "slow_calls", value, Value::None, Value::None))?;
                self.slow_calls = None;
                return Ok(self);
            }
            span("slow_calls.slower_than", &mut slow.slower_than, Duration::from_nanos(1), illegal)?;
            share("slow_calls.rate", &mut slow.rate, illegal)?;
        }
        Ok(self)
    }

    /// From what on the circuit opens, `None` if it counts consecutive failures.
    pub(super) fn rates(&self) -> Option<Rates> {
        let FailureRate { rate, min_calls, .. } = self.failure_rate?;
        Some(Rates { min_calls, failures: rate, slow: self.slow_calls.map(|slow| slow.rate) })
    }
}

impl Window {
    /// An empty window, `stripes` times if it is one of time.
    pub(crate) fn build(self, stripes: impl FnOnce() -> usize) -> Events {
        match self {
            Self::Calls(calls) => Events::of_calls(calls),
            Self::Time { length, buckets } => {
                Events::of_time(length.as_nanos() as u64 / u64::from(buckets), buckets, stripes())
            }
        }
    }

    fn clamped<E>(mut self, illegal: Illegal<'_, E>) -> Result<Self, E> {
        match &mut self {
            Self::Calls(calls) => count("window.calls", calls, MAX_CALLS, illegal)?,
            Self::Time { length, buckets } => {
                count("window.buckets", buckets, MAX_BUCKETS, illegal)?;
                span("window.length", length, MIN_WIDTH * *buckets, illegal)?;
                whole_buckets("window.length", length, *buckets, illegal)?;
            }
        }
        Ok(self)
    }

    const fn most_calls(self) -> u32 {
        match self {
            Self::Calls(calls) => calls,
            Self::Time { .. } => u32::MAX,
        }
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Calls(calls) => write!(f, "{calls} calls"),
            Self::Time { length, buckets } => write!(f, "{} in {buckets} buckets", Value::Time(*length)),
        }
    }
}

const MAX_CALLS: u32 = 65_536;
const MAX_BUCKETS: u32 = 4_096;
/// The narrowest bucket.
const MIN_WIDTH: Duration = Duration::from_millis(1);

fn count<E>(field: &'static str, value: &mut u32, max: u32, illegal: Illegal<'_, E>) -> Result<(), E> {
    let legal = (*value).clamp(1, max);
    if legal != *value {
        illegal(ConfigError::new(field, Value::Count(*value), Value::Count(1), Value::Count(max)))?;
        *value = legal;
    }
    Ok(())
}

fn span<E>(
    field: &'static str,
    value: &mut Duration,
    min: Duration,
    illegal: Illegal<'_, E>,
) -> Result<(), E> {
    let legal = (*value).clamp(min, MAX_TIMEOUT);
    if legal != *value {
        illegal(ConfigError::new(field, Value::Time(*value), Value::Time(min), Value::Time(MAX_TIMEOUT)))?;
        *value = legal;
    }
    Ok(())
}

/// The least share that is one: the end of the legal range that does not belong to it.
const NO_SHARE: f64 = f64::MIN_POSITIVE;

fn share<E>(field: &'static str, value: &mut f64, illegal: Illegal<'_, E>) -> Result<(), E> {
    if *value > 0.0 && *value <= 1.0 {
        return Ok(());
    }
    illegal(ConfigError::new(field, Value::Number(*value), Value::Number(NO_SHARE), Value::Number(1.0)))?;
    *value = if *value > 1.0 { 1.0 } else { NO_SHARE };
    Ok(())
}

fn whole_buckets<E>(
    field: &'static str,
    length: &mut Duration,
    buckets: u32,
    illegal: Illegal<'_, E>,
) -> Result<(), E> {
    // It is legal but for this, so it is 365 days at most.
    let (nanos, buckets) = (length.as_nanos() as u64, u64::from(buckets));
    let rest = nanos % buckets;
    if rest == 0 {
        return Ok(());
    }
    let below = Duration::from_nanos(nanos - rest);
    let above = Duration::from_nanos(nanos - rest + buckets);
    let above = if above > MAX_TIMEOUT { below } else { above };
    let kind = ConfigErrorKind::NotWholeBuckets;
    illegal(ConfigError::of_kind(kind, field, Value::Time(*length), Value::Time(below), Value::Time(above)))?;
    *length = if rest * 2 <= buckets { below } else { above };
    Ok(())
}
