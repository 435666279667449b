//! A clock that stands still until it is moved.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::{Clock, Timestamp};
use crate::sync::{AtomicU64, Ordering};

/// A clock for tests: it moves only when it is told to.
///
/// Clones are handles to the same clock.
///
/// ```
/// use std::time::Duration;
/// use atomic_breaker::{CircuitBreaker, Config, ManualClock, State};
///
/// let clock = ManualClock::new();
/// let breaker = CircuitBreaker::with_clock(Config::default(), clock.clone());
/// breaker.trip();
/// assert_eq!(breaker.state(), State::Open);
/// clock.advance(Duration::from_secs(60));
/// assert_eq!(breaker.state(), State::HalfOpen);
/// ```
#[derive(Clone, Default)]
pub struct ManualClock {
    nanos: Arc<AtomicU64>,
}

impl ManualClock {
    /// A clock that shows its origin.
    ///
    /// ```
    /// # use atomic_breaker::{Clock, ManualClock};
    /// assert_eq!(ManualClock::new().now().as_nanos(), 0);
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A clock that shows `time` since its origin. Times beyond 584 years stop there.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use atomic_breaker::{Clock, ManualClock};
    /// assert_eq!(ManualClock::at(Duration::from_nanos(5)).now().as_nanos(), 5);
    /// ```
    #[must_use]
    pub fn at(time: Duration) -> Self {
        let clock = Self::new();
        clock.set(time);
        clock
    }

    /// Moves the clock on by `step`. The clock stops 584 years after its origin.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use atomic_breaker::{Clock, ManualClock};
    /// let clock = ManualClock::at(Duration::from_nanos(5));
    /// clock.clone().advance(Duration::from_nanos(2));
    /// assert_eq!(clock.now().as_nanos(), 7);
    /// ```
    pub fn advance(&self, step: Duration) {
        let step = saturating_nanos(step);
        let moved = |nanos: u64| Some(nanos.saturating_add(step));
        let _ = self.nanos.fetch_update(Ordering::AcqRel, Ordering::Acquire, moved);
    }

    /// Sets the clock to `time` since its origin; it may go back.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use atomic_breaker::{Clock, ManualClock};
    /// let clock = ManualClock::at(Duration::from_nanos(5));
    /// clock.set(Duration::from_nanos(2));
    /// assert_eq!(clock.now().as_nanos(), 2);
    /// ```
    pub fn set(&self, time: Duration) {
        self.nanos.store(saturating_nanos(time), Ordering::Release);
    }
}

impl Clock for ManualClock {
    #[inline]
    fn now(&self) -> Timestamp {
        Timestamp::from_nanos(self.nanos.load(Ordering::Acquire))
    }
}

impl fmt::Debug for ManualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ManualClock").field(&self.now()).finish()
    }
}

fn saturating_nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
