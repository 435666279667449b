//! The right to make one call, and the duty to say how it went.

use std::fmt;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use crate::breaker::{Began, CircuitBreaker};
use crate::clock::{Clock, QuantaClock};
use crate::outcome::{Outcome, Settled};
use crate::word::Ticket;

/// The methods that both permits have; `$settle` gives the permit up and reports.
macro_rules! settles {
    () => {
        /// Reports that the upstream answered.
        ///
        /// Never panics, unless the breaker's clock does; the permit then counts as dropped.
        ///
        /// ```
        /// # use atomic_breaker::{CircuitBreaker, Config};
        /// let breaker = CircuitBreaker::new(Config::default());
        /// breaker.try_acquire()?.success();
        /// # Ok::<(), atomic_breaker::Rejected>(())
        /// ```
        #[inline]
        pub fn success(self) -> Settled {
            self.record(Outcome::Success)
        }

        /// Reports that the upstream failed.
        ///
        /// Never panics, unless the breaker's clock does; the permit then counts as dropped.
        ///
        /// ```
        /// # use atomic_breaker::{CircuitBreaker, Config};
        /// let breaker = CircuitBreaker::new(Config::default());
        /// breaker.try_acquire()?.failure();
        /// assert_eq!(breaker.snapshot().failures(), 1);
        /// # Ok::<(), atomic_breaker::Rejected>(())
        /// ```
        #[inline]
        pub fn failure(self) -> Settled {
            self.record(Outcome::Failure)
        }

        /// Reports that the call says nothing about the upstream. Dropping the permit does the same.
        ///
        /// Never panics, unless the breaker's clock does; the permit then counts as dropped.
        ///
        /// ```
        /// # use atomic_breaker::{CircuitBreaker, Config};
        /// let breaker = CircuitBreaker::new(Config::default());
        /// breaker.try_acquire()?.ignore();
        /// assert_eq!(breaker.snapshot().failures(), 0);
        /// # Ok::<(), atomic_breaker::Rejected>(())
        /// ```
        #[inline]
        pub fn ignore(self) -> Settled {
            self.record(Outcome::Ignored)
        }

        /// Reports an outcome and how long the call took.
        ///
        /// The time matters only to breakers that count [slow calls](crate::ConfigBuilder::slow_calls).
        ///
        /// Never panics, unless the breaker's clock does; the permit then counts as dropped.
        ///
        /// ```
        /// # use std::time::Instant;
        /// # use atomic_breaker::{CircuitBreaker, Config, Outcome};
        /// let breaker = CircuitBreaker::new(Config::default());
        /// let permit = breaker.try_acquire()?;
        /// let start = Instant::now();
        /// // ... the call ...
        /// permit.record_after(Outcome::Success, start.elapsed());
        /// # Ok::<(), atomic_breaker::Rejected>(())
        /// ```
        #[inline]
        pub fn record_after(self, outcome: Outcome, took: Duration) -> Settled {
            self.end(|breaker, ticket| breaker.settle_after(ticket, outcome, took))
        }

        /// Reports an outcome.
        ///
        /// Never panics, unless the breaker's clock does; the permit then counts as dropped.
        ///
        /// ```
        /// # use atomic_breaker::{CircuitBreaker, Config, Outcome};
        /// let breaker = CircuitBreaker::new(Config::default());
        /// breaker.try_acquire()?.record(Outcome::Failure);
        /// assert_eq!(breaker.snapshot().failures(), 1);
        /// # Ok::<(), atomic_breaker::Rejected>(())
        /// ```
        #[inline]
        pub fn record(self, outcome: Outcome) -> Settled {
            self.end(|breaker, ticket| breaker.settle(ticket, outcome))
        }
    };
}

/// The right to make one call, borrowed from its breaker: for calls that end where they began. Costs no reference
/// count.
///
/// Dropped without an outcome (early return, panic, cancelled future), it counts as [`Outcome::Ignored`].
///
/// ```
/// use atomic_breaker::{CircuitBreaker, Config, Settled};
///
/// let breaker = CircuitBreaker::new(Config::default());
/// let permit = breaker.try_acquire()?;
/// // ... the call ...
/// assert_eq!(permit.success(), Settled::Applied);
/// # Ok::<(), atomic_breaker::Rejected>(())
/// ```
#[must_use = "a permit that is dropped at once ignores the call"]
pub struct Permit<'a, C: Clock = QuantaClock> {
    breaker: &'a CircuitBreaker<C>,
    ticket: Ticket,
}

impl<'a, C: Clock> Permit<'a, C> {
    #[inline]
    pub(crate) const fn new(breaker: &'a CircuitBreaker<C>, ticket: Ticket) -> Self {
        Self { breaker, ticket }
    }

    settles!();

    /// Reports the outcome of a call that began then.
    #[inline]
    pub(crate) fn record_since(self, outcome: Outcome, began: Began) -> Settled {
        self.end(|breaker, ticket| breaker.settle_since(ticket, outcome, began))
    }

    #[inline]
    fn end(self, settle: impl FnOnce(&CircuitBreaker<C>, Ticket) -> Settled) -> Settled {
        // Given up only now: should the clock panic, dropping the permit gives the slot back.
        let settled = settle(self.breaker, self.ticket.duplicate());
        mem::forget(self);
        settled
    }

    /// Gives the permit up without reporting anything.
    #[inline]
    pub(crate) fn into_ticket(self) -> Ticket {
        let ticket = self.ticket.duplicate();
        mem::forget(self);
        ticket
    }
}

impl<C: Clock> Drop for Permit<'_, C> {
    #[inline]
    fn drop(&mut self) {
        self.breaker.release(&self.ticket);
    }
}

impl<C: Clock> fmt::Debug for Permit<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Permit").field(&self.ticket).finish()
    }
}

/// The right to make one call, with a share in its breaker: for calls that end elsewhere, in a task, a stream, a
/// response body.
///
/// Dropped without an outcome, it counts as [`Outcome::Ignored`].
///
/// ```
/// use std::sync::Arc;
/// use std::thread;
/// use atomic_breaker::{CircuitBreaker, Config, Settled};
///
/// let breaker = Arc::new(CircuitBreaker::new(Config::default()));
/// let permit = breaker.try_acquire_owned()?;
/// let call = thread::spawn(move || permit.success());
/// assert_eq!(call.join().unwrap(), Settled::Applied);
/// # Ok::<(), atomic_breaker::Rejected>(())
/// ```
#[must_use = "a permit that is dropped at once ignores the call"]
pub struct OwnedPermit<C: Clock = QuantaClock> {
    /// `None` once settled.
    breaker: Option<Arc<CircuitBreaker<C>>>,
    ticket: Ticket,
}

impl<C: Clock> OwnedPermit<C> {
    pub(crate) const fn new(breaker: Arc<CircuitBreaker<C>>, ticket: Ticket) -> Self {
        Self { breaker: Some(breaker), ticket }
    }

    settles!();

    #[inline]
    fn end(mut self, settle: impl FnOnce(&CircuitBreaker<C>, Ticket) -> Settled) -> Settled {
        let settled = match &self.breaker {
            Some(breaker) => settle(breaker, self.ticket.duplicate()),
            None => Settled::Stale,
        };
        self.breaker = None;
        settled
    }
}

impl<C: Clock> Drop for OwnedPermit<C> {
    #[inline]
    fn drop(&mut self) {
        if let Some(breaker) = &self.breaker {
            breaker.release(&self.ticket);
        }
    }
}

impl<C: Clock> fmt::Debug for OwnedPermit<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OwnedPermit").field(&self.ticket).finish()
    }
}
