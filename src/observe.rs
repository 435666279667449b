//! Who wants to hear of it: transitions and rejections.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use crate::cell::Change;
use crate::clock::Timestamp;
use crate::error::Rejected;
use crate::snapshot::WindowTotals;
use crate::state::State;

/// Hears of transitions and rejections.
///
/// A method runs on the thread that caused the event, after the event, with no lock and no guard held. It should
/// be quick: that thread's caller waits for it. If it panics, the panic is swallowed (after the panic hook has reported
/// it; a program that aborts on panic aborts), and neither the breaker nor the caller notices.
///
/// It may use the breaker. Events that it causes by that are reported in turn, four deep; those of an observer that answers
/// each event with another would never end, and are not reported beyond that.
///
/// Each transition is otherwise reported exactly once. Reports of two transitions may reach an observer in either order
/// if two threads made them; [`Transition::turn`] tells.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use atomic_breaker::{CircuitBreaker, Config, Observer, State, Transition};
///
/// #[derive(Default)]
/// struct Trips(AtomicU32);
///
/// impl Observer for Trips {
///     fn on_transition(&self, transition: &Transition) {
///         if transition.to() == State::Open {
///             self.0.fetch_add(1, Ordering::Relaxed);
///         }
///     }
/// }
///
/// let trips = Arc::new(Trips::default());
/// let breaker = CircuitBreaker::new(Config::builder().observer(trips.clone()).build()?);
/// breaker.trip();
/// assert_eq!(trips.0.load(Ordering::Relaxed), 1);
/// # Ok::<(), atomic_breaker::ConfigError>(())
/// ```
pub trait Observer: Send + Sync + 'static {
    /// The circuit changed its state.
    fn on_transition(&self, transition: &Transition) {
        let _ = transition;
    }

    /// A call was rejected, or would have been but for [shadow mode](crate::ConfigBuilder::shadow).
    fn on_rejected(&self, rejected: &Rejected) {
        let _ = rejected;
    }
}

impl<T: Observer + ?Sized> Observer for Box<T> {
    fn on_transition(&self, transition: &Transition) {
        (**self).on_transition(transition);
    }

    fn on_rejected(&self, rejected: &Rejected) {
        (**self).on_rejected(rejected);
    }
}

impl<T: Observer + ?Sized> Observer for Arc<T> {
    fn on_transition(&self, transition: &Transition) {
        (**self).on_transition(transition);
    }

    fn on_rejected(&self, rejected: &Rejected) {
        (**self).on_rejected(rejected);
    }
}

/// A change of state, with the numbers that caused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    circuit: &'static str,
    change: Change,
    cause: Cause,
    wait: Option<Duration>,
    failures: u32,
    window: Option<WindowTotals>,
}

/// What made a circuit change its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// So many failures in a row opened it.
    Failures,
    /// So large a share of the calls in the window failed that it opened.
    FailureRate,
    /// So large a share of the calls in the window was slow that it opened.
    SlowCalls,
    /// A probe failed, or was slow, and opened it again.
    ProbeFailed,
    /// Enough probes succeeded and closed it.
    ProbesSucceeded,
    /// Its wait was over and a call became its first probe.
    WaitOver,
    /// [`trip`](crate::CircuitBreaker::trip).
    Trip,
    /// [`reset`](crate::CircuitBreaker::reset).
    Reset,
    /// [`force_open`](crate::CircuitBreaker::force_open) or [`force_closed`](crate::CircuitBreaker::force_closed).
    Force,
}

impl Transition {
    /// `wait` tells, for a circuit that is open now, how long it stays so.
    pub(crate) fn new(circuit: &'static str, change: Change, cause: Cause, wait: Option<Duration>) -> Self {
        let failures = change.before.failures() + u32::from(cause == Cause::Failures);
        Self { circuit, change, cause, wait, failures, window: None }
    }

    /// The same of a circuit that may have a window, with the sums that opened it.
    pub(crate) fn with_window(self, is_windowed: bool, window: Option<WindowTotals>) -> Self {
        let failures = match window {
            Some(totals) => totals.failures_u32(),
            None if is_windowed => 0,
            None => self.failures,
        };
        Self { failures, window, ..self }
    }

    /// The circuit's name, empty if it has none.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config, Observer, Transition};
    /// struct Check;
    ///
    /// impl Observer for Check {
    ///     fn on_transition(&self, transition: &Transition) {
    ///         assert_eq!(transition.circuit(), "orders");
    ///     }
    /// }
    ///
    /// let breaker = CircuitBreaker::new(Config::builder().name("orders").observer(Check).build()?);
    /// breaker.trip();
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    #[must_use]
    pub const fn circuit(&self) -> &'static str {
        self.circuit
    }

    /// The state before.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config, Observer, State, Transition};
    /// struct Check;
    ///
    /// impl Observer for Check {
    ///     fn on_transition(&self, transition: &Transition) {
    ///         assert_eq!(transition.from(), State::Closed);
    ///     }
    /// }
    ///
    /// let breaker = CircuitBreaker::new(Config::builder().name("orders").observer(Check).build()?);
    /// breaker.trip();
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    #[must_use]
    pub const fn from(&self) -> State {
        self.change.from()
    }

    /// The state after.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config, Observer, State, Transition};
    /// struct Check;
    ///
    /// impl Observer for Check {
    ///     fn on_transition(&self, transition: &Transition) {
    ///         assert_eq!(transition.to(), State::Open);
    ///     }
    /// }
    ///
    /// let breaker = CircuitBreaker::new(Config::builder().name("orders").observer(Check).build()?);
    /// breaker.trip();
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    #[must_use]
    pub const fn to(&self) -> State {
        self.change.to()
    }

    /// When it happened, on the breaker's clock.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config, Observer, Transition};
    /// struct Check;
    ///
    /// impl Observer for Check {
    ///     fn on_transition(&self, transition: &Transition) {
    ///         println!("{} at {}", transition.to(), transition.at());
    ///     }
    /// }
    ///
    /// let breaker = CircuitBreaker::new(Config::builder().name("orders").observer(Check).build()?);
    /// breaker.trip();
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    #[must_use]
    pub const fn at(&self) -> Timestamp {
        self.change.at
    }

    /// What made the circuit change.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config, Cause, Observer, Transition};
    /// struct Check;
    ///
    /// impl Observer for Check {
    ///     fn on_transition(&self, transition: &Transition) {
    ///         assert_eq!(transition.cause(), Cause::Trip);
    ///     }
    /// }
    ///
    /// let breaker = CircuitBreaker::new(Config::builder().name("orders").observer(Check).build()?);
    /// breaker.trip();
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    #[must_use]
    pub const fn cause(&self) -> Cause {
        self.cause
    }

    /// Consecutive failures when the circuit left [`Closed`](State::Closed), the one that opened it included; 0 from
    /// any other state. With a window: the failures in it that opened the circuit, 0 if something else did.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config, Observer, Transition};
    /// struct Check;
    ///
    /// impl Observer for Check {
    ///     fn on_transition(&self, transition: &Transition) {
    ///         assert_eq!(transition.failures(), 0);
    ///     }
    /// }
    ///
    /// let breaker = CircuitBreaker::new(Config::builder().name("orders").observer(Check).build()?);
    /// breaker.trip();
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    #[must_use]
    pub const fn failures(&self) -> u32 {
        self.failures
    }

    /// What the window held when it opened the circuit, the call that did it included; `None` if something else did.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config, Observer, Transition};
    /// struct Check;
    ///
    /// impl Observer for Check {
    ///     fn on_transition(&self, transition: &Transition) {
    ///         assert_eq!(transition.window(), None, "tripped by hand");
    ///     }
    /// }
    ///
    /// let breaker = CircuitBreaker::new(Config::builder().name("orders").observer(Check).build()?);
    /// breaker.trip();
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    #[must_use]
    pub const fn window(&self) -> Option<WindowTotals> {
        self.window
    }

    /// Successful probes when the circuit left [`HalfOpen`](State::HalfOpen), the one that closed it included; 0 from
    /// any other state.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config, Observer, Transition};
    /// struct Check;
    ///
    /// impl Observer for Check {
    ///     fn on_transition(&self, transition: &Transition) {
    ///         assert_eq!(transition.probe_successes(), 0);
    ///     }
    /// }
    ///
    /// let breaker = CircuitBreaker::new(Config::builder().name("orders").observer(Check).build()?);
    /// breaker.trip();
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    #[must_use]
    pub const fn probe_successes(&self) -> u32 {
        self.change.before.probe_successes() + matches!(self.cause, Cause::ProbesSucceeded) as u32
    }

    /// Failed half-open periods since the circuit last closed, one that ends here included; stops at 63. When the
    /// circuit closes, this tells how many it took.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config, Observer, Transition};
    /// struct Check;
    ///
    /// impl Observer for Check {
    ///     fn on_transition(&self, transition: &Transition) {
    ///         assert_eq!(transition.reopens(), 0);
    ///     }
    /// }
    ///
    /// let breaker = CircuitBreaker::new(Config::builder().name("orders").observer(Check).build()?);
    /// breaker.trip();
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    #[must_use]
    pub const fn reopens(&self) -> u32 {
        match self.change.to() {
            State::Open => self.change.after.reopens(),
            _ => self.change.before.reopens(),
        }
    }

    /// How long the circuit stays open, back-off and jitter included; `None` unless it opened.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config, Observer, Transition};
    /// struct Check;
    ///
    /// impl Observer for Check {
    ///     fn on_transition(&self, transition: &Transition) {
    ///         assert!(transition.wait().is_some());
    ///     }
    /// }
    ///
    /// let breaker = CircuitBreaker::new(Config::builder().name("orders").observer(Check).build()?);
    /// breaker.trip();
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    #[must_use]
    pub const fn wait(&self) -> Option<Duration> {
        self.wait
    }

    /// The number of this transition, wrapping after 256. Not every number has an event: a closed circuit that is
    /// [reset](crate::CircuitBreaker::reset) and an open one that [waits again](crate::CircuitBreaker::trip) take one, too.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config, Observer, Transition};
    /// struct Check;
    ///
    /// impl Observer for Check {
    ///     fn on_transition(&self, transition: &Transition) {
    ///         assert_eq!(transition.turn(), 1);
    ///     }
    /// }
    ///
    /// let breaker = CircuitBreaker::new(Config::builder().name("orders").observer(Check).build()?);
    /// breaker.trip();
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    #[must_use]
    pub const fn turn(&self) -> u8 {
        self.change.after.turn()
    }
}

/// Calls an observer, unless this is an event that observers have caused one inside the other, too deep.
pub(crate) fn report(call: impl FnOnce()) {
    thread_local! {
        static DEPTH: Cell<u32> = const { Cell::new(0) };
    }
    let depth = DEPTH.get();
    if depth < MAX_DEPTH {
        DEPTH.set(depth + 1);
        shielded(call);
        DEPTH.set(depth);
    } else {
        shielded(move || drop(call));
    }
}

/// Runs an observer's code so that its panic ends here.
pub(crate) fn shielded(report: impl FnOnce()) {
    let Err(payload) = catch_unwind(AssertUnwindSafe(report)) else {
        return;
    };
    // The payload's destructor is the observer's code as well.
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(again);
    }
}

/// How deep events may be nested that observers cause while they hear of others.
const MAX_DEPTH: u32 = 4;
