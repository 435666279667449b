//! The operator's switches.

use super::{CircuitBreaker, Inner};
use crate::clock::Clock;
use crate::observe::Cause;

impl<C: Clock> CircuitBreaker<C> {
    /// Opens the circuit now, for one wait.
    ///
    /// While it is open and the wait runs, nothing happens; if the wait is over, it starts again. A forced circuit is
    /// handed back to the timer.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config, State};
    /// let breaker = CircuitBreaker::new(Config::default());
    /// breaker.trip();
    /// assert_eq!(breaker.state(), State::Open);
    /// ```
    pub fn trip(&self) {
        let change = self.inner.cell.trip(&self.inner.numbers, &self.inner.clock);
        self.report(change, Cause::Trip);
    }

    /// Closes the circuit and starts anew: all counts zero, calls in flight count no more.
    ///
    /// If it is closed and nothing has been counted, nothing happens, and calls in flight still count.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config, State};
    /// let breaker = CircuitBreaker::new(Config::default());
    /// breaker.trip();
    /// breaker.reset();
    /// assert_eq!(breaker.state(), State::Closed);
    /// ```
    pub fn reset(&self) {
        let Inner { cell, window, clock, .. } = &*self.inner;
        let change = match window {
            None => cell.reset(clock),
            Some(windowed) => windowed.events.reset(cell, clock),
        };
        self.report(change, Cause::Reset);
    }

    /// Rejects every call until [`reset`](CircuitBreaker::reset) or [`trip`](CircuitBreaker::trip): the off switch. In
    /// shadow mode these rejections, too, are only reported.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config, State};
    /// let breaker = CircuitBreaker::new(Config::default());
    /// breaker.force_open();
    /// assert_eq!(breaker.state(), State::ForcedOpen);
    /// ```
    pub fn force_open(&self) {
        self.report(self.inner.cell.force_open(&self.inner.clock), Cause::Force);
    }

    /// Admits every call and counts nothing until [`reset`](CircuitBreaker::reset) or
    /// [`trip`](CircuitBreaker::trip): the bypass.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config, State};
    /// let breaker = CircuitBreaker::new(Config::default());
    /// breaker.force_closed();
    /// assert_eq!(breaker.state(), State::ForcedClosed);
    /// ```
    pub fn force_closed(&self) {
        self.report(self.inner.cell.force_closed(&self.inner.clock), Cause::Force);
    }
}
