//! What a circuit looks like at one moment.

use std::time::Duration;

use crate::error::Rejected;
use crate::state::State;
use crate::window::Totals;
use crate::word::Word;

/// What a circuit looked like at one moment: one word, so the values belong together. What its window holds is counted
/// after that moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    word: Word,
    /// What a call would have got.
    answer: Result<(), Rejected>,
    window: Option<WindowTotals>,
}

/// The sums of a window: of a closed circuit's present period, zero in any other state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowTotals {
    totals: Totals,
    min_calls: u32,
}

impl Snapshot {
    pub(crate) fn new(word: Word, answer: Result<(), Rejected>, window: Option<WindowTotals>) -> Self {
        Self { word, answer, window }
    }

    /// The stored state: an open circuit stays [`Open`](State::Open) until a call half-opens it.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config, ManualClock, State};
    /// # use std::time::Duration;
    /// let clock = ManualClock::new();
    /// let breaker = CircuitBreaker::with_clock(Config::default(), clock.clone());
    /// breaker.trip();
    /// clock.advance(Duration::from_secs(60));
    /// assert_eq!(breaker.snapshot().state(), State::Open);
    /// ```
    #[must_use]
    pub const fn state(&self) -> State {
        self.word.state()
    }

    /// The effective state: an open circuit whose wait is over reads [`HalfOpen`](State::HalfOpen).
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config, ManualClock, State};
    /// # use std::time::Duration;
    /// let clock = ManualClock::new();
    /// let breaker = CircuitBreaker::with_clock(Config::default(), clock.clone());
    /// breaker.trip();
    /// clock.advance(Duration::from_secs(60));
    /// assert_eq!(breaker.snapshot().effective_state(), State::HalfOpen);
    /// ```
    #[must_use]
    pub const fn effective_state(&self) -> State {
        if self.is_probe_due() { State::HalfOpen } else { self.word.state() }
    }

    /// Consecutive failures of a closed circuit, or the failures in its window; 0 in any other state.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config};
    /// let breaker = CircuitBreaker::new(Config::default());
    /// breaker.try_acquire()?.failure();
    /// assert_eq!(breaker.snapshot().failures(), 1);
    /// # Ok::<(), atomic_breaker::Rejected>(())
    /// ```
    #[must_use]
    pub const fn failures(&self) -> u32 {
        match &self.window {
            Some(totals) => totals.failures_u32(),
            None => self.word.failures(),
        }
    }

    /// What the window holds, `None` if the circuit counts consecutive failures.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config, Window};
    /// let config = Config::builder().failure_rate(0.5, 2, Window::Calls(10)).build()?;
    /// let breaker = CircuitBreaker::new(config);
    /// breaker.try_acquire()?.success();
    /// let window = breaker.snapshot().window().expect("there is one");
    /// assert_eq!(window.total(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn window(&self) -> Option<WindowTotals> {
        self.window
    }

    /// Probes of a half-open circuit that hold a slot, 0 in any other state.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config, ManualClock};
    /// # use std::time::Duration;
    /// let clock = ManualClock::new();
    /// let breaker = CircuitBreaker::with_clock(Config::default(), clock.clone());
    /// breaker.trip();
    /// clock.advance(Duration::from_secs(60));
    /// let probe = breaker.try_acquire()?;
    /// assert_eq!(breaker.snapshot().probes_in_flight(), 1);
    /// drop(probe);
    /// assert_eq!(breaker.snapshot().probes_in_flight(), 0);
    /// # Ok::<(), atomic_breaker::Rejected>(())
    /// ```
    #[must_use]
    pub const fn probes_in_flight(&self) -> u32 {
        self.word.probes_in_flight()
    }

    /// Successful probes of this half-open period, 0 in any other state.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config, ManualClock};
    /// # use std::time::Duration;
    /// let clock = ManualClock::new();
    /// let breaker = CircuitBreaker::with_clock(Config::builder().success_threshold(2).build()?, clock.clone());
    /// breaker.trip();
    /// clock.advance(Duration::from_secs(60));
    /// breaker.try_acquire()?.success();
    /// assert_eq!(breaker.snapshot().probe_successes(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn probe_successes(&self) -> u32 {
        self.word.probe_successes()
    }

    /// Failed half-open periods since the circuit last closed; stops at 63. Drives the back-off.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config, ManualClock};
    /// # use std::time::Duration;
    /// let clock = ManualClock::new();
    /// let breaker = CircuitBreaker::with_clock(Config::default(), clock.clone());
    /// breaker.trip();
    /// clock.advance(Duration::from_secs(60));
    /// breaker.try_acquire()?.failure();
    /// assert_eq!(breaker.snapshot().reopens(), 1);
    /// # Ok::<(), atomic_breaker::Rejected>(())
    /// ```
    #[must_use]
    pub const fn reopens(&self) -> u32 {
        self.word.reopens()
    }

    /// Whether the circuit is open and its wait over, so that the next call becomes a probe.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config, ManualClock};
    /// # use std::time::Duration;
    /// let clock = ManualClock::new();
    /// let breaker = CircuitBreaker::with_clock(Config::default(), clock.clone());
    /// breaker.trip();
    /// assert!(!breaker.snapshot().is_probe_due());
    /// clock.advance(Duration::from_secs(60));
    /// assert!(breaker.snapshot().is_probe_due());
    /// ```
    #[must_use]
    pub const fn is_probe_due(&self) -> bool {
        self.word.is_open() && self.answer.is_ok()
    }

    /// What a rejection at that moment would say: `None` if there would be none, or if nobody can tell. In shadow mode:
    /// what it would say without.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config, ManualClock};
    /// # use std::time::Duration;
    /// let clock = ManualClock::new();
    /// let breaker = CircuitBreaker::with_clock(Config::default(), clock.clone());
    /// breaker.trip();
    /// assert_eq!(breaker.snapshot().retry_after(), Some(Duration::from_secs(60)));
    /// clock.advance(Duration::from_secs(60));
    /// assert_eq!(breaker.snapshot().retry_after(), None);
    /// ```
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        match &self.answer {
            Ok(()) => None,
            Err(rejected) => rejected.retry_after(),
        }
    }
}

impl WindowTotals {
    pub(crate) const fn new(totals: Totals, min_calls: u32) -> Self {
        Self { totals, min_calls }
    }

    /// Calls in the window.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config, Window};
    /// let config = Config::builder().failure_rate(0.5, 2, Window::Calls(10)).build()?;
    /// let breaker = CircuitBreaker::new(config);
    /// breaker.try_acquire()?.success();
    /// let window = breaker.snapshot().window().expect("there is one");
    /// assert_eq!(window.total(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.totals.total
    }

    /// Those that failed.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config, Window};
    /// let config = Config::builder().failure_rate(0.5, 2, Window::Calls(10)).build()?;
    /// let breaker = CircuitBreaker::new(config);
    /// breaker.try_acquire()?.success();
    /// let window = breaker.snapshot().window().expect("there is one");
    /// assert_eq!(window.failures(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn failures(&self) -> u64 {
        self.totals.failures
    }

    /// Those that were slow, whatever their outcome.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config, Window};
    /// let config = Config::builder().failure_rate(0.5, 2, Window::Calls(10)).build()?;
    /// let breaker = CircuitBreaker::new(config);
    /// breaker.try_acquire()?.success();
    /// let window = breaker.snapshot().window().expect("there is one");
    /// assert_eq!(window.slow_calls(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn slow_calls(&self) -> u64 {
        self.totals.slow
    }

    /// The share of failures, `None` while there are fewer calls than a verdict needs.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config, Window};
    /// let config = Config::builder().failure_rate(0.5, 2, Window::Calls(10)).build()?;
    /// let breaker = CircuitBreaker::new(config);
    /// breaker.try_acquire()?.success();
    /// let window = breaker.snapshot().window().expect("there is one");
    /// assert_eq!(window.failure_rate(), None, "fewer than two calls");
    /// breaker.try_acquire()?.success();
    /// assert_eq!(breaker.snapshot().window().unwrap().failure_rate(), Some(0.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn failure_rate(&self) -> Option<f64> {
        self.rate_of(self.totals.failures)
    }

    /// The share of slow calls, `None` while there are fewer calls than a verdict needs.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config, Window};
    /// let config = Config::builder().failure_rate(0.5, 2, Window::Calls(10)).build()?;
    /// let breaker = CircuitBreaker::new(config);
    /// breaker.try_acquire()?.success();
    /// let window = breaker.snapshot().window().expect("there is one");
    /// assert_eq!(window.slow_call_rate(), None, "fewer than two calls");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn slow_call_rate(&self) -> Option<f64> {
        self.rate_of(self.totals.slow)
    }

    fn rate_of(&self, calls: u64) -> Option<f64> {
        let enough = self.totals.total > 0 && self.totals.total >= u64::from(self.min_calls);
        enough.then(|| calls as f64 / self.totals.total as f64)
    }

    pub(crate) const fn failures_u32(&self) -> u32 {
        if self.totals.failures > u32::MAX as u64 { u32::MAX } else { self.totals.failures as u32 }
    }
}
