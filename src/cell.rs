//! The atomic word and the one compare-and-swap loop.

use core::borrow::Borrow;
use core::fmt;

use crate::clock::{Clock, Timestamp};
use crate::error::Rejected;
use crate::limits::Rules;
use crate::outcome::{Outcome, Settled};
use crate::state::State;
use crate::sync::{AtomicU64, Ordering};
use crate::transition::{self, Next, Step};
use crate::word::{Ticket, Word};

/// A circuit: one atomic word and the operations on it.
///
/// The word may be the cell's own ([`new`](StateCell::new)) or live elsewhere: in shared memory, in a struct of the
/// caller's ([`from_ref`](StateCell::from_ref)), behind an `Arc` ([`over`](StateCell::over)). A cell knows no
/// clock and no limits; both are handed to each operation, the clock to be read after the word was, again after
/// each lost compare-and-swap, and not at all where the rules need no time.
///
/// # Memory ordering
///
/// Whatever happened before an operation that changed the word happens before whatever follows one that read the
/// changed word. Operations on one cell have a single order, and each is one atomic step in it.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use atomic_breaker::{Outcome, Reason, Settled, Timestamp};
/// use atomic_breaker::engine::{Limits, StateCell};
///
/// let limits = Limits::builder().failure_threshold(1).recovery_timeout(Duration::from_millis(10)).build()?;
/// let cell = StateCell::new();
///
/// let start = || Timestamp::from_nanos(0);
/// let admitted = cell.try_acquire(&limits, &start).expect("a new circuit admits");
/// let settled = cell.settle(admitted.ticket, Outcome::Failure, &limits, &start);
/// assert_eq!(settled.settled, Settled::Opened);
/// assert_eq!(cell.peek(&limits, &start).unwrap_err().reason(), Reason::Open);
///
/// let later = || Timestamp::from_nanos(10_000_000);
/// let probe = cell.try_acquire(&limits, &later).expect("the wait is over");
/// assert_eq!(cell.settle(probe.ticket, Outcome::Success, &limits, &later).settled, Settled::Closed);
/// # Ok::<(), atomic_breaker::ConfigError>(())
/// ```
#[derive(Default)]
pub struct StateCell<T = AtomicU64> {
    word: T,
}

/// A change of state. Whoever gets one is the only one to get it, and is to report it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The word that was replaced.
    pub before: Word,
    /// The word that replaced it.
    pub after: Word,
    /// The clock's reading with which it was.
    pub at: Timestamp,
}

/// An admission.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a probe's ticket that is not settled keeps its slot until the lease is over"]
pub struct Admitted {
    /// To be settled with the call's outcome.
    pub ticket: Ticket,
    /// Set if this admission half-opened the circuit.
    pub change: Option<Change>,
}

/// What an outcome did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a change is to be reported"]
pub struct Settlement {
    /// What became of the outcome.
    pub settled: Settled,
    /// Set if it opened or closed the circuit.
    pub change: Option<Change>,
}

impl StateCell {
    /// A closed, untouched circuit.
    ///
    /// ```
    /// # use atomic_breaker::engine::StateCell;
    /// assert!(StateCell::new().word().is_untouched());
    /// ```
    #[cfg(not(all(loom, feature = "loom")))]
    #[must_use]
    pub const fn new() -> Self {
        Self { word: AtomicU64::new(0) }
    }

    /// A closed, untouched circuit.
    #[cfg(all(loom, feature = "loom"))]
    #[must_use]
    pub fn new() -> Self {
        Self { word: AtomicU64::new(0) }
    }
}

impl<'a> StateCell<&'a AtomicU64> {
    /// The circuit in an atomic that lives elsewhere. A zeroed one is closed and untouched.
    ///
    /// ```
    /// use std::sync::atomic::AtomicU64;
    /// use atomic_breaker::engine::{Limits, StateCell};
    /// use atomic_breaker::{State, Timestamp};
    ///
    /// struct Connection {
    ///     circuit: AtomicU64,
    /// }
    ///
    /// let connection = Connection { circuit: AtomicU64::new(0) };
    /// let limits = Limits::default();
    /// StateCell::from_ref(&connection.circuit).trip(&limits, &|| Timestamp::from_nanos(0));
    /// assert_eq!(StateCell::from_ref(&connection.circuit).word().state(), State::Open);
    /// ```
    #[must_use]
    pub const fn from_ref(word: &'a AtomicU64) -> Self {
        Self { word }
    }
}

impl<T: Borrow<AtomicU64>> StateCell<T> {
    /// The circuit in anything that lends its atomic: a reference, a `Box`, an `Arc`.
    ///
    /// ```
    /// # use std::sync::{Arc, atomic::AtomicU64};
    /// # use atomic_breaker::engine::StateCell;
    /// let shared = Arc::new(AtomicU64::new(0));
    /// let cell = StateCell::over(Arc::clone(&shared));
    /// assert!(cell.word().is_untouched());
    /// ```
    #[must_use]
    pub const fn over(word: T) -> Self {
        Self { word }
    }

    /// The present word.
    ///
    /// ```
    /// # use atomic_breaker::{State, engine::StateCell};
    /// assert_eq!(StateCell::new().word().state(), State::Closed);
    /// ```
    #[inline]
    #[must_use]
    pub fn word(&self) -> Word {
        // Acquire: pairs with `swap_weak` (models `one_that_is_rejected_finds_...` and `a_success_that_writes_nothing_...`
        // in loom-tests/tests/ordering.rs).
        Word::from_bits(self.word.borrow().load(Ordering::Acquire))
    }

    /// Admits a call, as [`transition::acquire`] does.
    ///
    /// # Errors
    ///
    /// The rejection, with an empty circuit name.
    ///
    /// ```
    /// # use atomic_breaker::{Outcome, Settled, State, Timestamp, engine::{Limits, StateCell}};
    /// # let (limits, now) = (Limits::default(), || Timestamp::from_nanos(0));
    /// let cell = StateCell::new();
    /// let admitted = cell.try_acquire(&limits, &now)?;
    /// let _ = cell.settle(admitted.ticket, Outcome::Success, &limits, &now);
    /// # Ok::<(), atomic_breaker::Rejected>(())
    /// ```
    #[inline]
    pub fn try_acquire(&self, rules: &impl Rules, clock: &impl Clock) -> Result<Admitted, Rejected> {
        let word = self.word();
        if word.is_half_open() {
            if let Some(ticket) = self.seat_at_once(word, rules, clock) {
                return Ok(Admitted { ticket, change: None });
            }
        }
        let (answer, change) = self.update(|word| transition::acquire(word, rules, clock));
        answer.map(|ticket| Admitted { ticket, change })
    }

    /// What [`try_acquire`](StateCell::try_acquire) would answer. Nothing changes.
    ///
    /// # Errors
    ///
    /// The rejection that a call would get.
    ///
    /// ```
    /// # use atomic_breaker::{Outcome, Settled, State, Timestamp, engine::{Limits, StateCell}};
    /// # let (limits, now) = (Limits::default(), || Timestamp::from_nanos(0));
    /// let cell = StateCell::new();
    /// assert!(cell.peek(&limits, &now).is_ok());
    /// ```
    pub fn peek(&self, rules: &impl Rules, clock: &impl Clock) -> Result<(), Rejected> {
        transition::peek(self.word(), rules, clock)
    }

    /// Takes an outcome into account, as [`transition::settle`] does.
    ///
    /// ```
    /// # use atomic_breaker::{Outcome, Settled, State, Timestamp, engine::{Limits, StateCell}};
    /// # let (limits, now) = (Limits::default(), || Timestamp::from_nanos(0));
    /// let cell = StateCell::new();
    /// let admitted = cell.try_acquire(&limits, &now)?;
    /// let settlement = cell.settle(admitted.ticket, Outcome::Failure, &limits, &now);
    /// assert_eq!(settlement.settled, Settled::Applied);
    /// assert_eq!(cell.word().failures(), 1);
    /// # Ok::<(), atomic_breaker::Rejected>(())
    /// ```
    #[inline]
    #[expect(clippy::needless_pass_by_value, reason = "a ticket is spent when it is settled")]
    pub fn settle(
        &self,
        ticket: Ticket,
        outcome: Outcome,
        rules: &impl Rules,
        clock: &impl Clock,
    ) -> Settlement {
        if self.is_quiet(&ticket, outcome) {
            return Settlement { settled: Settled::Applied, change: None };
        }
        if let Some(settled) = self.settle_at_once(ticket.duplicate(), outcome, rules) {
            return Settlement { settled, change: None };
        }
        let (settled, change) = self.update(|word| transition::settle(word, &ticket, outcome, rules, clock));
        Settlement { settled, change }
    }

    /// Opens the circuit now. An open one whose wait is over waits again, which is no change.
    ///
    /// ```
    /// # use atomic_breaker::{Outcome, Settled, State, Timestamp, engine::{Limits, StateCell}};
    /// # let (limits, now) = (Limits::default(), || Timestamp::from_nanos(0));
    /// let cell = StateCell::new();
    /// let change = cell.trip(&limits, &now).expect("a closed circuit opens");
    /// assert_eq!(change.to(), State::Open);
    /// assert_eq!(cell.trip(&limits, &now), None);
    /// ```
    pub fn trip(&self, rules: &impl Rules, clock: &impl Clock) -> Option<Change> {
        self.update(|word| transition::trip(word, rules, clock)).1
    }

    /// Closes the circuit, all counts zero.
    ///
    /// ```
    /// # use atomic_breaker::{Outcome, Settled, State, Timestamp, engine::{Limits, StateCell}};
    /// # let (limits, now) = (Limits::default(), || Timestamp::from_nanos(0));
    /// let cell = StateCell::new();
    /// assert_eq!(cell.reset(&now), None, "untouched");
    /// cell.trip(&limits, &now);
    /// assert_eq!(cell.reset(&now).unwrap().to(), State::Closed);
    /// ```
    pub fn reset(&self, clock: &impl Clock) -> Option<Change> {
        self.update(|word| transition::reset(word, clock)).1
    }

    /// Rejects every call until [`reset`](StateCell::reset) or [`trip`](StateCell::trip).
    ///
    /// ```
    /// # use atomic_breaker::{Outcome, Settled, State, Timestamp, engine::{Limits, StateCell}};
    /// # let (limits, now) = (Limits::default(), || Timestamp::from_nanos(0));
    /// let cell = StateCell::new();
    /// cell.force_open(&now);
    /// assert!(cell.try_acquire(&limits, &now).is_err());
    /// ```
    pub fn force_open(&self, clock: &impl Clock) -> Option<Change> {
        self.update(|word| transition::force_open(word, clock)).1
    }

    /// Admits every call and counts nothing until [`reset`](StateCell::reset) or [`trip`](StateCell::trip).
    ///
    /// ```
    /// # use atomic_breaker::{Outcome, Settled, State, Timestamp, engine::{Limits, StateCell}};
    /// # let (limits, now) = (Limits::default(), || Timestamp::from_nanos(0));
    /// let cell = StateCell::new();
    /// cell.force_closed(&now);
    /// assert_eq!(cell.word().state(), State::ForcedClosed);
    /// ```
    pub fn force_closed(&self, clock: &impl Clock) -> Option<Change> {
        self.update(|word| transition::force_closed(word, clock)).1
    }

    /// Notes a failure or slow call of a circuit with a window, as [`transition::note`] does.
    #[cfg(any(feature = "std", all(loom, feature = "loom")))]
    pub(crate) fn note(&self, ticket: &Ticket) -> Option<Word> {
        self.update(|word| transition::note(word, ticket)).0
    }

    /// Opens the circuit if it still is exactly `noted`.
    #[cfg(any(feature = "std", all(loom, feature = "loom")))]
    pub(crate) fn open_noted(&self, noted: Word, rules: &impl Rules, clock: &impl Clock) -> Option<Change> {
        let Next { word: after, at } = transition::open_noted(noted, rules, clock);
        // Strong: nobody else has this duty, so it must not be lost to a spurious failure. AcqRel: as in `swap_weak`.
        let swapped = self.word.borrow().compare_exchange(
            noted.to_bits(),
            after.to_bits(),
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
        swapped.is_ok().then_some(Change { before: noted, after, at })
    }

    /// Closes the circuit, all counts zero; leaves it alone if its word is untouched and `is_empty` says that nothing
    /// was counted elsewhere.
    #[cfg(any(feature = "std", all(loom, feature = "loom")))]
    pub(crate) fn reset_unless(&self, is_empty: impl Fn(Word) -> bool, clock: &impl Clock) -> Option<Change> {
        let rule = |word: Word| {
            if word.is_untouched() && is_empty(word) {
                transition::reset(word, clock)
            } else {
                transition::renew(word, clock)
            }
        };
        self.update(rule).1
    }

    /// Takes the circuit out of use for good, if it still is exactly `expected` and that is
    /// [untouched](Word::is_untouched). A retired circuit admits every call and counts nothing; trip, reset and force
    /// do nothing there.
    ///
    /// # Errors
    ///
    /// The word that kept the circuit in use.
    ///
    /// ```
    /// # use atomic_breaker::{Outcome, Settled, State, Timestamp, engine::{Limits, StateCell}};
    /// # let (limits, now) = (Limits::default(), || Timestamp::from_nanos(0));
    /// let cell = StateCell::new();
    /// cell.retire(cell.word()).expect("untouched");
    /// assert!(cell.word().is_retired());
    /// assert_eq!(cell.trip(&limits, &now), None);
    /// ```
    pub fn retire(&self, expected: Word) -> Result<(), Word> {
        let retired = transition::retire(expected)?;
        self.word
            .borrow()
            .compare_exchange(expected.to_bits(), retired.to_bits(), Ordering::AcqRel, Ordering::Acquire)
            .map(drop)
            .map_err(Word::from_bits)
    }

    /// Whether this is a success of a closed circuit without failures: applied, and nothing to write.
    #[inline]
    pub(crate) fn is_quiet(&self, ticket: &Ticket, outcome: Outcome) -> bool {
        matches!(outcome, Outcome::Success) && ticket.is_quiet_in(self.word())
    }

    /// One attempt to admit a probe to a half-open circuit that has room for it. `None` if there is more to it, or if
    /// somebody else was faster.
    #[inline]
    pub(crate) fn seat_at_once(&self, word: Word, rules: &impl Rules, clock: &impl Clock) -> Option<Ticket> {
        let next = transition::seated(word, rules, clock)?;
        if self.swap_weak(word, next) { Some(Ticket::slot(next)) } else { None }
    }

    /// One attempt at an outcome that only moves a count: no clock, nothing to report. `None` if there is more to it, or
    /// if somebody else was faster.
    #[cold]
    #[inline(never)]
    #[expect(clippy::needless_pass_by_value, reason = "in a register, not in memory")]
    pub(crate) fn settle_at_once(
        &self,
        ticket: Ticket,
        outcome: Outcome,
        rules: &impl Rules,
    ) -> Option<Settled> {
        use transition::Verdict;

        let word = self.word();
        match transition::verdict(word, &ticket, outcome, rules) {
            Verdict::Stale => Some(Settled::Stale),
            Verdict::Stay => Some(Settled::Applied),
            Verdict::Go(next) if self.swap_weak(word, next) => Some(Settled::Applied),
            Verdict::Go(_) | Verdict::Open { .. } | Verdict::Close => None,
        }
    }

    /// The loop. Runs the rule on the present word until the word that it asks for is in place.
    #[inline]
    fn update<A>(&self, mut rule: impl FnMut(Word) -> Step<A>) -> (A, Option<Change>) {
        let mut word = self.word();
        loop {
            let Step { answer, next } = rule(word);
            let Some(Next { word: after, at }) = next else {
                return (answer, None);
            };
            if self.swap_weak(word, after) {
                let change = (word.state() != after.state()).then_some(Change { before: word, after, at });
                return (answer, change);
            }
            pause();
            // Read again after the pause: what the lost swap saw may be old by now.
            word = self.word();
        }
    }

    // AcqRel: pairs with itself, with the swap in `retire` and with the load in `word`. The acquiring half matters where the
    // word was changed there and back since it was loaded (model `a_swap_that_meets_a_word_changed_there_and_back_...`).
    #[inline]
    fn swap_weak(&self, expected: Word, next: Word) -> bool {
        self.word
            .borrow()
            .compare_exchange_weak(expected.to_bits(), next.to_bits(), Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }
}

impl<T: Borrow<AtomicU64>> fmt::Debug for StateCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StateCell").field(&self.word()).finish()
    }
}

impl Change {
    /// The state before.
    ///
    /// ```
    /// # use atomic_breaker::{Outcome, Settled, State, Timestamp, engine::{Limits, StateCell}};
    /// # let (limits, now) = (Limits::default(), || Timestamp::from_nanos(0));
    /// let change = StateCell::new().trip(&limits, &now).unwrap();
    /// assert_eq!(change.from(), State::Closed);
    /// ```
    #[must_use]
    pub const fn from(&self) -> State {
        self.before.state()
    }

    /// The state after.
    ///
    /// ```
    /// # use atomic_breaker::{Outcome, Settled, State, Timestamp, engine::{Limits, StateCell}};
    /// # let (limits, now) = (Limits::default(), || Timestamp::from_nanos(0));
    /// let change = StateCell::new().trip(&limits, &now).unwrap();
    /// assert_eq!(change.to(), State::Open);
    /// ```
    #[must_use]
    pub const fn to(&self) -> State {
        self.after.state()
    }
}

/// After a lost compare-and-swap. One pause is enough: with two and with four threads that all fail, neither a growing
/// number of them nor none made a difference.
#[inline]
fn pause() {
    #[cfg(not(all(loom, feature = "loom")))]
    core::hint::spin_loop();
}
