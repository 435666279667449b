//! Time: what a circuit reads it from, and in what unit.

use core::fmt;
use core::time::Duration;

#[cfg(feature = "std")]
mod coarse;
#[cfg(feature = "std")]
mod manual;
#[cfg(feature = "std")]
mod quanta;

#[cfg(feature = "std")]
pub use self::{
    coarse::{CoarseClock, CoarseClockError},
    manual::ManualClock,
    quanta::QuantaClock,
};

const NANOS_PER_MILLI: u64 = 1_000_000;

/// A moment on a [`Clock`]: nanoseconds since an origin of the clock's own choice.
///
/// ```
/// use std::time::Duration;
/// use atomic_breaker::Timestamp;
///
/// let earlier = Timestamp::from_nanos(1_000);
/// let later = Timestamp::from_nanos(4_000);
/// assert_eq!(later.saturating_duration_since(earlier), Duration::from_micros(3));
/// assert_eq!(earlier.saturating_duration_since(later), Duration::ZERO);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

impl Timestamp {
    /// A moment `nanos` nanoseconds after the clock's origin.
    ///
    /// ```
    /// # use atomic_breaker::Timestamp;
    /// assert!(Timestamp::from_nanos(1) < Timestamp::from_nanos(2));
    /// ```
    #[inline]
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the clock's origin.
    ///
    /// ```
    /// # use atomic_breaker::Timestamp;
    /// assert_eq!(Timestamp::from_nanos(42).as_nanos(), 42);
    /// ```
    #[inline]
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to this moment, zero if `earlier` is later.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use atomic_breaker::Timestamp;
    /// let (earlier, later) = (Timestamp::from_nanos(1), Timestamp::from_nanos(3));
    /// assert_eq!(later.saturating_duration_since(earlier), Duration::from_nanos(2));
    /// assert_eq!(earlier.saturating_duration_since(later), Duration::ZERO);
    /// ```
    #[must_use]
    pub const fn saturating_duration_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// The millisecond in which this moment lies.
    #[inline]
    pub(crate) const fn floor_ms(self) -> u64 {
        self.0 / NANOS_PER_MILLI
    }

    /// The first whole millisecond that is not before this moment.
    pub(crate) const fn ceil_ms(self) -> u64 {
        // `div_ceil` needs a second multiplication.
        self.0.saturating_sub(1) / NANOS_PER_MILLI + (self.0 != 0) as u64
    }

    pub(crate) const fn is_whole_ms(self) -> bool {
        self.0.is_multiple_of(NANOS_PER_MILLI)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&Duration::from_nanos(self.0), f)
    }
}

/// A source of time for a circuit.
///
/// A clock should be monotonic and need not be more: one that steps back, by up to 12 days, extends the running wait or
/// lease by the step and does no other harm. Only differences count, so the origin is free; a circuit measures them up to
/// 2.18 years.
///
/// Any closure that returns a [`Timestamp`] is a clock. It stamps transitions as well, so it must be exact: one that
/// lags (cached time, a coarse clock in a closure) lets probes through too early. Implement the trait for such a clock.
///
/// ```
/// use atomic_breaker::{CircuitBreaker, Config, Timestamp};
///
/// let frozen = CircuitBreaker::with_clock(Config::default(), || Timestamp::from_nanos(42));
/// frozen.trip();
/// assert!(frozen.try_acquire().is_err());
/// ```
pub trait Clock {
    /// The present moment, good enough to see whether a wait is over. May lag, must not lead.
    fn now(&self) -> Timestamp;

    /// The present moment, exactly: it stamps transitions, so that a clock whose [`now`](Clock::now) lags makes
    /// waits longer and never shorter.
    #[inline]
    fn precise(&self) -> Timestamp {
        self.now()
    }
}

impl<F: Fn() -> Timestamp> Clock for F {
    #[inline]
    fn now(&self) -> Timestamp {
        self()
    }
}

#[cfg(feature = "std")]
impl<C: Clock + ?Sized> Clock for std::sync::Arc<C> {
    #[inline]
    fn now(&self) -> Timestamp {
        (**self).now()
    }

    #[inline]
    fn precise(&self) -> Timestamp {
        (**self).precise()
    }
}
