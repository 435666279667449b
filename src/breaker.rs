//! The circuit breaker: engine, clock, configuration and observer in one.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use crossbeam_utils::CachePadded;

use crate::cell::{Change, StateCell};
use crate::clock::{Clock, QuantaClock};
use crate::config::Config;
use crate::error::{ConfigError, ConfigErrorKind, Reason, Refusal, Rejected, Value};
use crate::limits::Rules;
use crate::observe::{Cause, Transition, report, shielded};
use crate::outcome::{Outcome, Settled};
use crate::permit::{OwnedPermit, Permit};
use crate::snapshot::{Snapshot, WindowTotals};
use crate::state::State;
use crate::transition;
use crate::word::{Difference, Ticket, Word};

mod calls;
mod control;
mod numbers;
mod windowed;

pub(crate) use self::calls::path_of;
use self::numbers::Numbers;
pub(crate) use self::windowed::Began;
use self::windowed::{Took, Windowed};

/// A circuit breaker.
///
/// It is shared by reference: in a `static` (with [`LazyLock`](std::sync::LazyLock)), in an [`Arc`], in a struct.
/// Nothing it does takes a lock, but for [`reconfigure`](CircuitBreaker::reconfigure); a call of a healthy circuit
/// reads the circuit's word twice and writes nothing.
///
/// On the clocks of this crate, a breaker takes 128 bytes, one pair of cache lines, so that a hot neighbour in the same
/// struct does not slow it down; a configuration with back-off adds 512 bytes, a window
/// [what its docs say](crate::Window#memory).
///
/// ```
/// use std::sync::LazyLock;
/// use atomic_breaker::{CircuitBreaker, Config, Error};
///
/// static ORDERS: LazyLock<CircuitBreaker> =
///     LazyLock::new(|| CircuitBreaker::new(Config::builder().name("orders").build_clamped()));
///
/// fn fetch() -> Result<String, std::io::Error> {
///     Ok("order 1".to_owned())
/// }
///
/// match ORDERS.call(fetch) {
///     Ok(order) => println!("{order}"),
///     Err(Error::Rejected(rejected)) => println!("not now: {rejected}"),
///     Err(Error::Inner(error)) => println!("failed: {error}"),
/// }
/// ```
pub struct CircuitBreaker<C = QuantaClock> {
    inner: CachePadded<Inner<C>>,
}

struct Inner<C> {
    cell: StateCell,
    numbers: Numbers,
    /// `None`: consecutive failures, counted in the word.
    window: Option<Box<CachePadded<Windowed>>>,
    /// In what a word differs from the ticket of a success that changes nothing.
    quiet: Difference,
    /// As in `config`; here, because a rejection names it.
    name: &'static str,
    clock: C,
    config: ArcSwap<Config>,
    /// Held while `numbers` and `config` are replaced, so that both end up with the same configuration.
    replacing: Mutex<()>,
}

impl CircuitBreaker {
    /// A closed circuit on the default clock.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config, State};
    /// assert_eq!(CircuitBreaker::new(Config::default()).state(), State::Closed);
    /// ```
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self::with_clock(config, QuantaClock::new())
    }
}

impl<C: Clock> CircuitBreaker<C> {
    /// A closed circuit on a clock of its own.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config, ManualClock};
    /// let breaker = CircuitBreaker::with_clock(Config::default(), ManualClock::new());
    /// ```
    #[must_use]
    pub fn with_clock(config: Config, clock: C) -> Self {
        let seed = RandomState::new().hash_one(config.name());
        let windowed = |window| Box::new(CachePadded::new(Windowed::new(window, &config)));
        let inner = Inner {
            cell: StateCell::new(),
            numbers: Numbers::new(&config, seed),
            window: config.window().map(windowed),
            // With a window, a success is no quieter than a failure.
            quiet: if config.window().is_some() { Difference::IMPOSSIBLE } else { Difference::NONE },
            name: config.name(),
            clock,
            config: ArcSwap::from_pointee(config),
            replacing: Mutex::new(()),
        };
        Self { inner: CachePadded::new(inner) }
    }

    /// Asks to make a call.
    ///
    /// # Errors
    ///
    /// [`Rejected`] while the circuit does not admit it.
    ///
    /// # Panics
    ///
    /// Never panics, unless the breaker's clock does.
    ///
    /// # Examples
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config, Settled};
    /// let breaker = CircuitBreaker::new(Config::builder().failure_threshold(1).build()?);
    /// assert_eq!(breaker.try_acquire()?.failure(), Settled::Opened);
    /// assert!(breaker.try_acquire().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn try_acquire(&self) -> Result<Permit<'_, C>, Rejected> {
        self.acquire_for(None)
    }

    /// Asks to make a call that will end elsewhere: the permit shares in the breaker.
    ///
    /// # Errors
    ///
    /// [`Rejected`] while the circuit does not admit it.
    ///
    /// # Panics
    ///
    /// Never panics, unless the breaker's clock does.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use atomic_breaker::{CircuitBreaker, Config, OwnedPermit};
    /// struct Body {
    ///     permit: Option<OwnedPermit>,
    /// }
    ///
    /// let breaker = Arc::new(CircuitBreaker::new(Config::default()));
    /// let mut body = Body { permit: Some(breaker.try_acquire_owned()?) };
    /// // ... when the last byte has been read:
    /// body.permit.take().map(OwnedPermit::success);
    /// # Ok::<(), atomic_breaker::Rejected>(())
    /// ```
    #[inline]
    pub fn try_acquire_owned(self: &Arc<Self>) -> Result<OwnedPermit<C>, Rejected> {
        let ticket = self.try_acquire()?.into_ticket();
        Ok(OwnedPermit::new(Arc::clone(self), ticket))
    }

    /// Tells whether a call would be admitted. Changes nothing, reports nothing, reserves nothing.
    ///
    /// # Errors
    ///
    /// The [`Rejected`] that a call would get. Never in [shadow mode](crate::ConfigBuilder::shadow).
    ///
    /// # Examples
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config};
    /// let breaker = CircuitBreaker::new(Config::default());
    /// assert!(breaker.peek().is_ok());
    /// breaker.trip();
    /// assert!(breaker.peek().is_err());
    /// ```
    #[inline]
    pub fn peek(&self) -> Result<(), Rejected> {
        let word = self.inner.cell.word();
        if word.is_closed() { Ok(()) } else { self.peek_unhealthy(word) }
    }

    /// The effective state: an open circuit whose wait is over reads [`HalfOpen`](State::HalfOpen).
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config, State};
    /// let breaker = CircuitBreaker::new(Config::default());
    /// breaker.trip();
    /// assert_eq!(breaker.state(), State::Open);
    /// ```
    #[must_use]
    pub fn state(&self) -> State {
        let word = self.inner.cell.word();
        self.snapshot_of(word, None).effective_state()
    }

    /// All that can be seen of the circuit at this moment. Changes nothing.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config};
    /// let breaker = CircuitBreaker::new(Config::default());
    /// breaker.try_acquire()?.failure();
    /// assert_eq!(breaker.snapshot().failures(), 1);
    /// # Ok::<(), atomic_breaker::Rejected>(())
    /// ```
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let word = self.inner.cell.word();
        self.snapshot_of(word, self.window_totals(word))
    }

    fn snapshot_of(&self, word: Word, window: Option<WindowTotals>) -> Snapshot {
        let Inner { numbers, clock, name, .. } = &*self.inner;
        let answer = transition::peek(word, numbers, clock);
        Snapshot::new(word, answer.map_err(|rejected| rejected.untagged().of_circuit(name)), window)
    }

    /// The configuration in force.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config};
    /// let breaker = CircuitBreaker::new(Config::default());
    /// assert_eq!(breaker.config().failure_threshold(), 5);
    /// ```
    #[must_use]
    pub fn config(&self) -> Arc<Config> {
        self.inner.config.load_full()
    }

    /// Replaces the configuration while the breaker is in use.
    ///
    /// The state stays. Every decision goes by one configuration, the old or the new. The wait of an open circuit
    /// becomes the new one, counted from when it opened; a lowered threshold trips at the next failure; with fewer
    /// slots, nobody is admitted until fewer probes are in flight. With a window, rates, `min_calls` and slow calls are
    /// those of the next failure. The name stays that of construction.
    ///
    /// # Errors
    ///
    /// A [`ConfigError`] of the kind [`OtherWindow`](ConfigErrorKind::OtherWindow) if the shape of the window is not that
    /// of construction, or if there is a window in one of them only; the old configuration stays in force.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use atomic_breaker::{CircuitBreaker, Config};
    /// let breaker = CircuitBreaker::new(Config::default());
    /// let patient = breaker.config().to_builder().recovery_timeout(Duration::from_secs(120)).build()?;
    /// breaker.reconfigure(patient)?;
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    pub fn reconfigure(&self, config: Config) -> Result<(), ConfigError> {
        let inner = &*self.inner;
        // No reconfiguration changes it, so any is as good as the present one.
        let made = inner.config.load().window();
        if config.window() != made {
            let (value, made) = (Value::window(config.window()), Value::window(made));
            let kind = ConfigErrorKind::OtherWindow;
            return Err(ConfigError::of_kind(kind, "failure_rate.window", value, made, made));
        }
        let config = Arc::new(config.named(inner.name));
        // A thread that panicked here left one whole configuration in each place, and this one replaces both.
        let guard = inner.replacing.lock().unwrap_or_else(PoisonError::into_inner);
        // Observers are looked up where the numbers say that there is one, so they come first.
        let old = inner.config.swap(Arc::clone(&config));
        inner.numbers.store(&config);
        if let Some(windowed) = &inner.window {
            windowed.store(&config);
        }
        drop(guard);
        // The old observer's destructor is the user's code: it runs without the lock, and its panic ends here.
        shielded(move || drop(old));
        Ok(())
    }

    /// As [`try_acquire`](CircuitBreaker::try_acquire); a rejection of a nameless circuit names `caller`.
    #[inline]
    pub(crate) fn acquire_for(&self, caller: Caller) -> Result<Permit<'_, C>, Rejected> {
        let word = self.inner.cell.word();
        if word.is_closed() {
            return Ok(Permit::new(self, Ticket::closed(word)));
        }
        unlikely();
        match self.acquire_unhealthy(word) {
            Ok(ticket) => Ok(Permit::new(self, ticket)),
            Err(refusal) => self.reject(refusal, caller),
        }
    }

    #[inline]
    pub(crate) fn settle(&self, ticket: Ticket, outcome: Outcome) -> Settled {
        self.settle_taking(ticket, outcome, || Took::NOTHING)
    }

    /// As [`settle`](CircuitBreaker::settle); only a window asks how long the call took.
    #[inline]
    fn settle_taking(&self, ticket: Ticket, outcome: Outcome, took: impl FnOnce() -> Took) -> Settled {
        if self.is_quiet(&ticket, outcome) {
            return Settled::Applied;
        }
        match &self.inner.window {
            None => self.settle_counted(ticket, outcome),
            Some(windowed) => self.settle_windowed(windowed, ticket, outcome, took()),
        }
    }

    /// Whether this is a success of a healthy circuit without a window: applied, and nothing to write.
    #[inline]
    fn is_quiet(&self, ticket: &Ticket, outcome: Outcome) -> bool {
        let Inner { cell, quiet, .. } = &*self.inner;
        matches!(outcome, Outcome::Success) && ticket.difference(cell.word()) == *quiet
    }

    /// Settles what is counted in the word: every outcome without a window, and those of probes.
    #[inline]
    fn settle_counted(&self, ticket: Ticket, outcome: Outcome) -> Settled {
        let Inner { cell, numbers, .. } = &*self.inner;
        match cell.settle_at_once(ticket.duplicate(), outcome, numbers) {
            Some(settled) => settled,
            None => self.settle_noted(ticket, outcome),
        }
    }

    /// Takes back a ticket that will not be settled.
    #[inline]
    pub(crate) fn release(&self, ticket: &Ticket) {
        // Without a slot there is nothing to give back, and ignoring does nothing else.
        if ticket.took_slot() {
            self.settle_noted(ticket.duplicate(), Outcome::Ignored);
        }
    }

    /// The rejection of an open circuit is the one that happens often: it is decided here, without the loop. Its answer
    /// fits two registers.
    #[inline(never)]
    fn acquire_unhealthy(&self, word: Word) -> Result<Ticket, Refusal> {
        let Inner { numbers, clock, .. } = &*self.inner;
        if word.is_open() {
            let now = clock.now();
            let limits = numbers.open(word.reopens());
            if let Some(left) = transition::plainly_left_ms(word, limits, now) {
                return Err(Refusal::new(Reason::Open, left, limits.tags()));
            }
        }
        self.acquire_seat(word)
    }

    /// A free slot of a half-open circuit is taken here, without the loop and with nothing to report.
    #[cold]
    #[inline(never)]
    fn acquire_seat(&self, word: Word) -> Result<Ticket, Refusal> {
        let Inner { cell, numbers, clock, .. } = &*self.inner;
        if word.is_half_open() {
            if let Some(ticket) = cell.seat_at_once(word, numbers, clock) {
                return Ok(ticket);
            }
        }
        self.acquire_probe()
    }

    #[cold]
    #[inline(never)]
    fn acquire_probe(&self) -> Result<Ticket, Refusal> {
        let Inner { cell, numbers, clock, .. } = &*self.inner;
        match cell.try_acquire(numbers, clock) {
            Ok(admitted) => {
                // The permit comes first: should a report ever unwind, the slot is given back.
                let permit = Permit::new(self, admitted.ticket);
                self.report(admitted.change, Cause::WaitOver);
                Ok(permit.into_ticket())
            }
            Err(rejected) => Err(rejected.refusal()),
        }
    }

    #[inline]
    fn reject(&self, refusal: Refusal, caller: Caller) -> Result<Permit<'_, C>, Rejected> {
        let circuit = match caller {
            Some(path) if self.inner.name.is_empty() => path(),
            _ => self.inner.name,
        };
        if refusal.is_tagged() && self.admits_tagged(refusal, circuit) {
            return Ok(Permit::new(self, Ticket::STALE));
        }
        Err(refusal.of_circuit(circuit))
    }

    /// Reports a rejection to whom it may concern; whether the call is admitted nevertheless.
    #[cold]
    #[inline(never)]
    fn admits_tagged(&self, refusal: Refusal, circuit: &'static str) -> bool {
        let tags = refusal.tags();
        if tags.observed {
            self.report_rejection(&refusal.of_circuit(circuit));
        }
        tags.shadow
    }

    #[cold]
    fn peek_unhealthy(&self, word: Word) -> Result<(), Rejected> {
        let Inner { numbers, clock, name, .. } = &*self.inner;
        match transition::peek(word, numbers, clock) {
            Err(rejected) if !rejected.tags().shadow => Err(rejected.untagged().of_circuit(name)),
            _ => Ok(()),
        }
    }

    #[cold]
    #[inline(never)]
    fn settle_noted(&self, ticket: Ticket, outcome: Outcome) -> Settled {
        let Inner { cell, numbers, clock, .. } = &*self.inner;
        let settlement = cell.settle(ticket, outcome, numbers, clock);
        if let Some(change) = settlement.change {
            let cause = match (settlement.settled, change.from()) {
                (Settled::Closed, _) => Cause::ProbesSucceeded,
                (_, State::HalfOpen) => Cause::ProbeFailed,
                _ => Cause::Failures,
            };
            self.report(Some(change), cause);
        }
        settlement.settled
    }

    #[inline]
    fn report(&self, change: Option<Change>, cause: Cause) {
        if let Some(change) = change {
            self.report_transition(change, cause, None);
        }
    }

    #[cold]
    fn report_transition(&self, change: Change, cause: Cause, window: Option<WindowTotals>) {
        let inner = &*self.inner;
        if !inner.numbers.tags().observed {
            return;
        }
        let after = change.after;
        let wait = after.is_open().then(|| transition::wait(after, inner.numbers.open(after.reopens())));
        let transition =
            Transition::new(inner.name, change, cause, wait).with_window(inner.window.is_some(), window);
        // Loaded in full: no guard is held while the observer runs.
        let config = inner.config.load_full();
        // Moved in: this may be the last share in it, and the observer's destructor is the user's code, too.
        report(move || {
            if let Some(observer) = config.observer() {
                observer.on_transition(&transition);
            }
        });
    }

    #[cold]
    fn report_rejection(&self, rejected: &Rejected) {
        let config = self.inner.config.load_full();
        report(move || {
            if let Some(observer) = config.observer() {
                observer.on_rejected(rejected);
            }
        });
    }
}

impl<C: Clock> fmt::Debug for CircuitBreaker<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CircuitBreaker")
            .field("name", &self.inner.name)
            .field("word", &self.inner.cell.word())
            .finish_non_exhaustive()
    }
}

/// Who tells the name of the function to be called, asked only where a rejection needs it.
pub(crate) type Caller = Option<fn() -> &'static str>;

/// Tells the compiler which way a branch seldom goes.
#[cold]
#[inline]
const fn unlikely() {}
