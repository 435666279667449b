//! The default clock: the processor's time stamp counter through quanta.

use std::fmt;
use std::sync::OnceLock;

use super::{Clock, Timestamp};

/// The default clock: quanta, calibrated once per process.
///
/// All clocks of a process share one origin, the moment at which the first was made. Making that first one
/// calibrates the processor's time stamp counter, which takes up to 200 ms, usually well below 20 ms; where
/// there is no such counter, the system's monotonic clock serves.
///
/// ```
/// use atomic_breaker::{Clock, QuantaClock};
///
/// let clock = QuantaClock::new();
/// let earlier = clock.now();
/// assert!(clock.now() >= earlier);
/// ```
#[derive(Clone, Copy)]
pub struct QuantaClock {
    source: &'static Source,
}

struct Source {
    clock: quanta::Clock,
    /// The counter when the clock was made.
    origin: u64,
}

impl QuantaClock {
    /// The process's clock. The first call calibrates it.
    ///
    /// ```
    /// # use atomic_breaker::{Clock, QuantaClock};
    /// let (one, other) = (QuantaClock::new(), QuantaClock::new());
    /// let earlier = one.now();
    /// assert!(other.now() >= earlier, "one origin");
    /// ```
    #[must_use]
    pub fn new() -> Self {
        static SOURCE: OnceLock<Source> = OnceLock::new();
        let source = SOURCE.get_or_init(|| {
            let clock = quanta::Clock::new();
            Source { origin: clock.raw(), clock }
        });
        Self { source }
    }
}

impl Default for QuantaClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for QuantaClock {
    #[inline]
    fn now(&self) -> Timestamp {
        let Source { clock, origin } = self.source;
        let raw = clock.raw();
        Timestamp::from_nanos(clock.delta_as_nanos(*origin, raw))
    }
}

impl fmt::Debug for QuantaClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("QuantaClock").field(&self.now()).finish()
    }
}
