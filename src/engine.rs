//! The engine alone: a circuit in one atomic word, for those who build their own breaker.
//!
//! `no_std`, no dependency, no clock, no allocation, no `unsafe`. The word may live wherever an
//! [`AtomicU64`] can: see [`StateCell::from_ref`].
//!
//! | item | what it is |
//! |---|---|
//! | [`StateCell`] | the atomic word and its operations |
//! | [`Word`] | a value of it, decoded |
//! | [`Limits`] | the numbers of the rules |
//! | [`Ticket`] | the right to report one outcome |
//! | [`transition`] | the rules as functions of a word |
//!
//! # Duties of the caller
//!
//! - Settle each ticket once. One that is lost keeps its half-open slot until its lease is over.
//! - Report each [`Change`]: it is given to exactly one caller.
//! - Hand in a clock that does not lead; see [`Clock`](crate::Clock).
//!
//! # Limits of the word
//!
//! Times are kept in milliseconds modulo 2<sup>36</sup>: an open circuit that nobody calls for 2.18 years seems
//! freshly opened. Periods are told apart by a count modulo 256 and the millisecond of their beginning. To be taken for
//! one of another period, a ticket of a closed circuit would need 256 transitions within one millisecond; one of a
//! probe must be held across a multiple of 256 transitions, with the back-off step equal again (once 63 half-open
//! periods in a row have failed: across 128 more), and then only its verdict counts once more. A probe that was written off
//! and still hangs would give back another's slot if the clock stepped back to the very millisecond in which its own lease
//! began and a new lease began right then.
//!
//! A clock that steps back by up to 12 days extends the running wait or lease by the step. A longer step reads as one
//! forward.

pub use crate::cell::{Admitted, Change, Settlement, StateCell};
pub use crate::limits::{Backoff, Limits, LimitsBuilder, ProbeTimeout, Rules};
pub use crate::sync::AtomicU64;
pub use crate::word::{Ticket, Word};

/// The windows, for this project's own models and tests.
#[cfg(any(feature = "std", all(loom, feature = "loom")))]
#[doc(hidden)]
pub mod window {
    pub use crate::window::{Circuit, Event, Events, Opening, Rates, Reached, Recorded, Totals};
}

/// The rules as functions of a word, for words that live in no atomic of this process.
///
/// [`acquire`](transition::acquire), [`settle`](transition::settle) and the controls are what [`StateCell`] runs in its
/// compare-and-swap loop. Whoever keeps the word in a database row, in a file or behind a lock runs them himself and
/// installs [`Step::next`](transition::Step::next) if nobody else changed the word meanwhile. Each is a function of the
/// word, the limits and the clock's reading; the clock is asked only where a rule needs the time.
///
/// ```
/// use atomic_breaker::{Outcome, Settled, Timestamp};
/// use atomic_breaker::engine::{Limits, Word, transition};
///
/// let limits = Limits::builder().failure_threshold(1).build()?;
/// let now = || Timestamp::from_nanos(0);
///
/// let word = Word::default();
/// let admitted = transition::acquire(word, &limits, &now);
/// let ticket = admitted.answer.expect("a closed circuit admits");
/// let failed = transition::settle(word, &ticket, Outcome::Failure, &limits, &now);
/// assert_eq!(failed.answer, Settled::Opened);
/// let word = failed.next.expect("the circuit opened").word;
/// assert!(transition::acquire(word, &limits, &now).answer.is_err());
/// # Ok::<(), atomic_breaker::ConfigError>(())
/// ```
pub mod transition {
    pub use crate::transition::{
        Next, Step, acquire, force_closed, force_open, peek, reset, retire, settle, trip,
    };
}
