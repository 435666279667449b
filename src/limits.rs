//! The numbers of the rules: checked once, then packed so that one decision reads one `u64`.

use core::cmp::Ordering;
use core::fmt;
use core::time::Duration;

mod packed;

use self::packed::{JITTER_ONE, NEVER, UNLIMITED};
pub(crate) use self::packed::{MAX_TIMEOUT, Tags};
pub(crate) use self::packed::{OpenLimits, ProbeLimits, SettleLimits};
use crate::error::{ConfigError, Value};
use crate::word::{MAX_FAILURES, MAX_PROBES, MAX_REOPENS};

/// The numbers of a circuit: thresholds, waits, slots.
///
/// Every value fits the field of the word that it bounds; [`LimitsBuilder`] sees to that. About half a kilobyte,
/// since the wait of each back-off step is worked out beforehand; one value serves any number of cells.
///
/// ```
/// use std::time::Duration;
/// use atomic_breaker::engine::Limits;
///
/// let limits = Limits::builder().failure_threshold(3).recovery_timeout(Duration::from_secs(5)).build()?;
/// # Ok::<(), atomic_breaker::ConfigError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Limits {
    settle: SettleLimits,
    probe: ProbeLimits,
    /// By failed half-open periods since the last close.
    open: [OpenLimits; STEPS],
    seed: u64,
}

impl Limits {
    /// A builder that holds the defaults: 5 failures, 60 s, 1 half-open call, 1 success.
    ///
    /// ```
    /// # use atomic_breaker::engine::Limits;
    /// let limits = Limits::builder().build()?;
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    #[must_use]
    pub const fn builder() -> LimitsBuilder {
        LimitsBuilder::new()
    }

    /// The half-open numbers, which may say that those of the back-off step hold instead.
    #[cfg(feature = "std")]
    pub(crate) const fn probe_as_configured(&self) -> ProbeLimits {
        self.probe
    }

    pub(crate) const fn step(&self, reopens: u32) -> OpenLimits {
        self.open[reopens as usize]
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::builder().build_clamped()
    }
}

impl fmt::Debug for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limits")
            .field("settle", &self.settle)
            .field("probe", &self.probe)
            .field("open", &self.open[0])
            .finish_non_exhaustive()
    }
}

/// Where a decision finds its numbers: [`Limits`], or a breaker's numbers, which can be changed while in use.
///
/// Each method reads all that one decision needs at once, so that no decision mixes two configurations. The
/// trait is sealed.
pub trait Rules: sealed::Sealed {
    /// The numbers that settle an outcome.
    #[doc(hidden)]
    fn settle(&self) -> SettleLimits;
    /// The numbers of an open circuit after so many failed half-open periods.
    #[doc(hidden)]
    fn open(&self, reopens: u32) -> OpenLimits;
    /// The numbers of a half-open circuit after so many failed half-open periods.
    #[doc(hidden)]
    fn probe(&self, reopens: u32) -> ProbeLimits;
    /// What tells this circuit's jitter from another's.
    #[doc(hidden)]
    fn seed(&self) -> u64;
}

pub(crate) mod sealed {
    pub trait Sealed {}
}

impl sealed::Sealed for Limits {}

impl Rules for Limits {
    #[inline]
    fn settle(&self) -> SettleLimits {
        self.settle
    }

    #[inline]
    fn open(&self, reopens: u32) -> OpenLimits {
        self.step(reopens)
    }

    #[inline]
    fn probe(&self, reopens: u32) -> ProbeLimits {
        self.step(reopens).as_probe().unwrap_or(self.probe)
    }

    #[inline]
    fn seed(&self) -> u64 {
        self.seed
    }
}

/// Builds [`Limits`]; [`Config::builder`](crate::Config::builder) takes the same values.
///
/// | value | legal | default |
/// |---|---|---|
/// | `failure_threshold` | 1..=4095 | 5 |
/// | `recovery_timeout` | 1 ms..=365 days | 60 s |
/// | `half_open_max_calls` | 1..=63, or unlimited | 1 |
/// | `success_threshold` | 1..=63 | 1 |
/// | `probe_timeout` | 1 ms..=365 days, or never | the wait of the present back-off step |
/// | `backoff` multiplier | 1.0 and up, finite | none |
/// | `backoff` max | the recovery timeout..=365 days | none |
/// | `jitter` | 0.0..=1.0 | 0.0 |
///
/// The circuit goes by whole milliseconds, rounded up.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitsBuilder {
    pub(crate) failure_threshold: u32,
    pub(crate) recovery_timeout: Duration,
    /// `None`: unlimited.
    pub(crate) half_open_max_calls: Option<u32>,
    pub(crate) success_threshold: u32,
    pub(crate) probe_timeout: ProbeTimeout,
    pub(crate) backoff: Option<Backoff>,
    pub(crate) jitter: f64,
    seed: u64,
}

/// When the probes in flight are written off, so that the next one may fly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeTimeout {
    /// As long after the first of them as the circuit was last open: the wait of the present back-off step,
    /// without jitter. The default.
    Wait,
    /// So long after the first of them.
    After(Duration),
    /// Never: a probe that hangs blocks the circuit until it reports.
    Never,
}

/// How the wait grows while the circuit fails to close.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backoff {
    /// The factor from one wait to the next.
    pub multiplier: f64,
    /// The longest wait.
    pub max: Duration,
}

impl LimitsBuilder {
    const fn new() -> Self {
        Self {
            failure_threshold: 5,
            recovery_timeout: Duration::from_secs(60),
            half_open_max_calls: Some(1),
            success_threshold: 1,
            probe_timeout: ProbeTimeout::Wait,
            backoff: None,
            jitter: 0.0,
            seed: 0,
        }
    }

    /// Consecutive failures that open the circuit.
    ///
    /// ```
    /// # use atomic_breaker::engine::Limits;
    /// let limits = Limits::builder().failure_threshold(3).build()?;
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    #[must_use]
    pub const fn failure_threshold(mut self, failures: u32) -> Self {
        self.failure_threshold = failures;
        self
    }

    /// How long the circuit stays open before it lets a probe through.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use atomic_breaker::engine::Limits;
    /// let limits = Limits::builder().recovery_timeout(Duration::from_secs(5)).build()?;
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    #[must_use]
    pub const fn recovery_timeout(mut self, wait: Duration) -> Self {
        self.recovery_timeout = wait;
        self
    }

    /// Slots of the half-open circuit: probes that may be in flight at once.
    ///
    /// ```
    /// # use atomic_breaker::engine::Limits;
    /// let limits = Limits::builder().half_open_max_calls(3).build()?;
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    #[must_use]
    pub const fn half_open_max_calls(mut self, slots: u32) -> Self {
        self.half_open_max_calls = Some(slots);
        self
    }

    /// Lets every call of the half-open circuit through. For upstreams that nothing can overload.
    ///
    /// ```
    /// # use atomic_breaker::engine::Limits;
    /// let limits = Limits::builder().half_open_unlimited().build()?;
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    #[must_use]
    pub const fn half_open_unlimited(mut self) -> Self {
        self.half_open_max_calls = None;
        self
    }

    /// Successful probes that close the circuit.
    ///
    /// ```
    /// # use atomic_breaker::engine::Limits;
    /// let limits = Limits::builder().success_threshold(2).build()?;
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    #[must_use]
    pub const fn success_threshold(mut self, successes: u32) -> Self {
        self.success_threshold = successes;
        self
    }

    /// When the probes in flight are written off.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use atomic_breaker::engine::{Limits, ProbeTimeout};
    /// let limits = Limits::builder().probe_timeout(ProbeTimeout::After(Duration::from_secs(2))).build()?;
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    #[must_use]
    pub const fn probe_timeout(mut self, timeout: ProbeTimeout) -> Self {
        self.probe_timeout = timeout;
        self
    }

    /// Multiplies the wait with each failed half-open period, up to `max`. A recovery starts over.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use atomic_breaker::engine::Limits;
    /// let limits = Limits::builder().backoff(2.0, Duration::from_secs(600)).build()?;
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    #[must_use]
    pub const fn backoff(mut self, multiplier: f64, max: Duration) -> Self {
        self.backoff = Some(Backoff { multiplier, max });
        self
    }

    /// Shortens each wait by a random part, up to this share of it, so that a fleet does not probe in step.
    ///
    /// ```
    /// # use atomic_breaker::engine::Limits;
    /// let limits = Limits::builder().jitter(0.25).build()?;
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    #[must_use]
    pub const fn jitter(mut self, share: f64) -> Self {
        self.jitter = share;
        self
    }

    /// Sets this circuit's jitter apart from that of others which open at the same moment.
    ///
    /// ```
    /// # use atomic_breaker::engine::Limits;
    /// let limits = Limits::builder().jitter(0.25).seed(0xfeed).build()?;
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    #[must_use]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Checks every value.
    ///
    /// # Errors
    ///
    /// A [`ConfigError`] that names the first value which is outside its range.
    ///
    /// ```
    /// # use atomic_breaker::engine::Limits;
    /// let error = Limits::builder().success_threshold(64).build().unwrap_err();
    /// assert_eq!(error.to_string(), "success_threshold is 64, legal is 1..=63");
    /// ```
    pub fn build(self) -> Result<Limits, ConfigError> {
        let clamped = self.clone().clamped(&mut |error| Err(error))?;
        debug_assert_eq!(clamped, self, "nothing was out of range");
        Ok(clamped.pack())
    }

    /// Moves every value to the nearest legal one; what is not a number becomes the lower end. Never fails.
    ///
    /// ```
    /// # use atomic_breaker::engine::Limits;
    /// let clamped = Limits::builder().success_threshold(64).build_clamped();
    /// assert_eq!(Ok(clamped), Limits::builder().success_threshold(63).build());
    /// ```
    #[must_use]
    pub fn build_clamped(self) -> Limits {
        match self.clamped(&mut |_| Ok::<(), core::convert::Infallible>(())) {
            Ok(clamped) => clamped.pack(),
            Err(never) => match never {},
        }
    }

    /// The nearest legal values, each illegal one told to `illegal`, which decides whether to go on.
    pub(crate) fn clamped<E>(
        mut self,
        illegal: &mut impl FnMut(ConfigError) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut count = |field, value: &mut u32, max: u64| {
            let legal = (*value).clamp(1, max as u32);
            if legal != *value {
                illegal(ConfigError::new(
                    field,
                    Value::Count(*value),
                    Value::Count(1),
                    Value::Count(max as u32),
                ))?;
                *value = legal;
            }
            Ok(())
        };
        count("failure_threshold", &mut self.failure_threshold, MAX_FAILURES)?;
        if let Some(slots) = &mut self.half_open_max_calls {
            count("half_open_max_calls", slots, MAX_PROBES)?;
        }
        count("success_threshold", &mut self.success_threshold, MAX_PROBES)?;

        let mut span = |field, value: &mut Duration, min: Duration| {
            let legal = (*value).clamp(min, MAX_TIMEOUT);
            if legal != *value {
                let (min, max) = (Value::Time(min), Value::Time(MAX_TIMEOUT));
                illegal(ConfigError::new(field, Value::Time(*value), min, max))?;
                *value = legal;
            }
            Ok(())
        };
        span("recovery_timeout", &mut self.recovery_timeout, MIN_TIMEOUT)?;
        if let ProbeTimeout::After(timeout) = &mut self.probe_timeout {
            span("probe_timeout", timeout, MIN_TIMEOUT)?;
        }
        if let Some(backoff) = &mut self.backoff {
            span("backoff.max", &mut backoff.max, self.recovery_timeout)?;
        }

        let mut number = |field, value: &mut f64, min: f64, max: f64| {
            // Without this, `clamp` would let it through.
            let legal = if value.is_nan() { min } else { value.clamp(min, max) };
            if legal.partial_cmp(value) != Some(Ordering::Equal) {
                illegal(ConfigError::new(
                    field,
                    Value::Number(*value),
                    Value::Number(min),
                    Value::Number(max),
                ))?;
                *value = legal;
            }
            Ok(())
        };
        if let Some(backoff) = &mut self.backoff {
            number("backoff.multiplier", &mut backoff.multiplier, 1.0, f64::MAX)?;
        }
        number("jitter", &mut self.jitter, 0.0, 1.0)?;
        Ok(self)
    }

    /// Packs values that are known to be legal.
    pub(crate) fn pack(&self) -> Limits {
        let slots = self.half_open_max_calls.unwrap_or(UNLIMITED);
        // Half a step up, then truncated: rounded, in a form that core has.
        let jitter = (self.jitter * f64::from(JITTER_ONE) + 0.5) as u32;
        let base = whole_ms(self.recovery_timeout);
        let mut open = [OpenLimits::new(slots, base, jitter); STEPS];
        if let Some(backoff) = self.backoff {
            let max = whole_ms(backoff.max) as f64;
            let mut wait = base as f64;
            for step in &mut open[1..] {
                wait = (wait * backoff.multiplier).min(max);
                *step = OpenLimits::new(slots, (wait as u64).max(base), jitter);
            }
        }
        let probe = match self.probe_timeout {
            ProbeTimeout::After(timeout) => ProbeLimits::new(slots, whole_ms(timeout)),
            ProbeTimeout::Never => ProbeLimits::new(slots, NEVER),
            ProbeTimeout::Wait if self.backoff.is_none() => ProbeLimits::new(slots, base),
            ProbeTimeout::Wait => {
                for step in &mut open {
                    *step = step.for_probes();
                }
                ProbeLimits::new(slots, base).with_table()
            }
        };
        let settle = SettleLimits::new(self.failure_threshold, self.success_threshold);
        Limits { settle, probe, open, seed: self.seed }
    }
}

/// The shortest time that can be configured.
const MIN_TIMEOUT: Duration = Duration::from_millis(1);

/// The number of different waits: one for each count of failed half-open periods.
pub(crate) const STEPS: usize = MAX_REOPENS as usize + 1;

/// Milliseconds that are not before `time`, so that no wait is shorter than it was asked to be.
fn whole_ms(time: Duration) -> u64 {
    time.as_nanos().div_ceil(1_000_000) as u64
}
