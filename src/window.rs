//! The window: outcomes of the present closed period, counted without locks and without loss (rules 12 to 14).
//!
//! # Periods
//!
//! Nothing is ever cleared. Every event is written with the *ordinal* of its period beside it, and whoever counts
//! passes over those of other ordinals. `origin` says which period the present ordinal belongs to; the first recorder of a
//! period installs the next one:
//!
//! ```text
//! origin   63                       20 19          0
//!          +--------------------------+-------------+
//!          | period 44: turn, entered |  ordinal 20 |
//!          +--------------------------+-------------+
//! ```
//!
//! # Protocol of a recorder
//!
//! 1. Load `origin`.
//! 2. Load the word: the ticket must be current, else the outcome is stale. In this order, an `origin` that names a later
//!    period comes with a word that makes the ticket stale, so that no late recorder replaces a later period's origin.
//! 3. If `origin` does not name this period, swap it for one that does. If that fails: from the beginning.
//! 4. Count the event, in exactly one cell, tagged with the ordinal. A success that was not slow is done.
//! 5. A failure or slow call is noted in the word: one read-modify-write, ticket still current. Of two failures, the one
//!    noted later sees what the other counted, in whatever cell. Without this, both could miss the other.
//! 6. Count the window. If it is over a rate, swap exactly the word of step 5 for an open one. If that fails, another
//!    failure was noted meanwhile, which has the duty now, or the period is over.
//!
//! # Limits
//!
//! An ordinal is used again after 2<sup>20</sup> periods. Events of the older one would be taken for the newer one's only if
//! their cell was not used in any period between and, in a time window, their bucket has not passed. A note is used again
//! after 4095 of them: a thread that hangs between steps 5 and 6 for exactly that many opens the circuit on what it saw.

use core::fmt;

mod calls;
mod time;

use self::calls::CallRing;
use self::time::TimeBuckets;
use crate::cell::{Change, StateCell};
use crate::clock::{Clock, Timestamp};
use crate::limits::Rules;
use crate::outcome::Settled;
use crate::sync::{AtomicU64, Ordering};
use crate::word::{PERIOD_BITS, Ticket, Word};

/// What a window holds of one outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The call failed.
    pub failed: bool,
    /// The call was slow.
    pub slow: bool,
}

/// The sums of a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// All calls.
    pub total: u64,
    /// Those that failed.
    pub failures: u64,
    /// Those that were slow.
    pub slow: u64,
}

/// From what on a window opens its circuit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// The fewest calls on which a verdict is based.
    pub min_calls: u32,
    /// The share of failures.
    pub failures: f64,
    /// The share of slow calls, `None` if they do not matter.
    pub slow: Option<f64>,
}

/// What an outcome did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// What became of the outcome.
    pub settled: Settled,
    /// Set if it opened the circuit.
    pub opening: Option<Opening>,
}

/// An opening. Whoever gets one is the only one to get it, and is to report it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The change.
    pub change: Change,
    /// The sums that caused it.
    pub totals: Totals,
    /// The rate that they reached.
    pub reached: Reached,
    /// The fewest calls that would have done.
    pub min_calls: u32,
}

/// A rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// That of failures, whatever that of slow calls is.
    Failures,
    /// That of slow calls alone.
    Slow,
}

/// What a window needs of the circuit that it belongs to.
#[derive(Debug)]
pub struct Circuit<'a, R, C> {
    /// The word.
    pub cell: &'a StateCell,
    /// The numbers, of which an opening needs the seed.
    pub rules: &'a R,
    /// The clock.
    pub clock: &'a C,
}

/// The events of a circuit's present closed period.
pub struct Events {
    origin: AtomicU64,
    shape: Shape,
}

enum Shape {
    Calls(CallRing),
    Time(TimeBuckets),
}

impl Event {
    /// A success that was not slow.
    pub const SUCCESS: Self = Self { failed: false, slow: false };
    /// A failure that was not slow.
    pub const FAILURE: Self = Self { failed: true, slow: false };
}

impl Rates {
    /// The rate that these sums reach, if any: the circuit opens.
    #[must_use]
    pub fn reached_by(&self, totals: &Totals) -> Option<Reached> {
        if totals.total < u64::from(self.min_calls) {
            return None;
        }
        let total = totals.total as f64;
        if totals.failures as f64 / total >= self.failures {
            return Some(Reached::Failures);
        }
        let slow = totals.slow as f64 / total;
        self.slow.is_some_and(|rate| slow >= rate).then_some(Reached::Slow)
    }
}

impl Events {
    /// A window over the last `calls` calls.
    #[must_use]
    pub fn of_calls(calls: u32) -> Self {
        Self::new(Shape::Calls(CallRing::new(calls)))
    }

    /// A window over `buckets` buckets, each `width` nanoseconds wide, of which each of `stripes` groups of threads has
    /// its own.
    #[must_use]
    pub fn of_time(width: u64, buckets: u32, stripes: usize) -> Self {
        Self::new(Shape::Time(TimeBuckets::new(width, buckets, stripes)))
    }

    fn new(shape: Shape) -> Self {
        Self { origin: AtomicU64::new(NO_PERIOD), shape }
    }

    /// Takes an outcome of a call that a closed circuit admitted into account. `ended` says when the call did, and is
    /// asked only if time matters. `rates` are asked for once the outcome has
    /// been counted, and only if it can open the circuit.
    #[inline]
    pub fn settle<R: Rules, C: Clock>(
        &self,
        circuit: &Circuit<'_, R, C>,
        ticket: &Ticket,
        event: Event,
        stripe: usize,
        ended: impl FnOnce() -> Timestamp,
        rates: impl FnOnce() -> Option<Rates>,
    ) -> Recorded {
        let Some(ordinal) = self.begin(circuit.cell, ticket) else {
            return Recorded::but(Settled::Stale);
        };
        let bucket = match &self.shape {
            Shape::Calls(ring) => {
                ring.record(&self.origin, ordinal, event);
                0
            }
            Shape::Time(buckets) => {
                let bucket = buckets.bucket(ended());
                buckets.record(&self.origin, ordinal, stripe, bucket, event);
                bucket
            }
        };
        if event == Event::SUCCESS {
            return Recorded::but(Settled::Applied);
        }
        let Some(noted) = circuit.cell.note(ticket) else {
            return Recorded::but(Settled::Stale);
        };
        let totals = self.count(ordinal, bucket, circuit.clock);
        let opening = rates().and_then(|rates| {
            let reached = rates.reached_by(&totals)?;
            let change = circuit.cell.open_noted(noted, circuit.rules, circuit.clock)?;
            Some(Opening { change, totals, reached, min_calls: rates.min_calls })
        });
        let settled = if opening.is_some() { Settled::Opened } else { Settled::Applied };
        Recorded { settled, opening }
    }

    /// The sums of the period that `word` is in, all zero if that is not a closed one.
    pub fn totals(&self, word: Word, clock: &impl Clock) -> Totals {
        let origin = self.origin.load(Ordering::Acquire);
        if word.is_closed() && period(origin) == word.period() {
            self.count(ordinal(origin), 0, clock)
        } else {
            Totals::default()
        }
    }

    /// Closes the circuit and starts a new period, unless it is closed and nothing has been recorded (rule 17).
    pub fn reset(&self, cell: &StateCell, clock: &impl Clock) -> Option<Change> {
        // Acquire: pairs with the swap in `install`; whoever has recorded a success has left no other trace in the word.
        cell.reset_unless(|word| period(self.origin.load(Ordering::Acquire)) != word.period(), clock)
    }

    /// The ordinal of the ticket's period, `None` if that is over.
    #[inline]
    fn begin(&self, cell: &StateCell, ticket: &Ticket) -> Option<u64> {
        // Acquire: pairs with the swap in `install`; a later period's origin comes with that period's word (model
        // `a_late_recorder_and_the_next_period`).
        let origin = self.origin.load(Ordering::Acquire);
        if !ticket.is_closed_in(cell.word()) {
            return None;
        }
        if period(origin) == ticket.period() {
            return Some(ordinal(origin));
        }
        self.install(cell, ticket, origin)
    }

    #[cold]
    fn install(&self, cell: &StateCell, ticket: &Ticket, mut origin: u64) -> Option<u64> {
        while period(origin) != ticket.period() {
            let next = ticket.period() | (ordinal(origin) + 1) & ORDINAL_MAX;
            // AcqRel: pairs with itself and with the loads of `origin`, here and in the shapes.
            match self.origin.compare_exchange(origin, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => origin = next,
                Err(other) => {
                    origin = other;
                    if !ticket.is_closed_in(cell.word()) {
                        return None;
                    }
                }
            }
        }
        Some(ordinal(origin))
    }

    /// The sums now. The clock is read after the word was changed: a failure that was noted before may lie in a later
    /// bucket than this thread's own.
    #[inline(never)]
    fn count(&self, ordinal: u64, bucket: u64, clock: &impl Clock) -> Totals {
        match &self.shape {
            Shape::Calls(ring) => ring.totals(ordinal),
            Shape::Time(buckets) => {
                let mut newest = bucket.max(buckets.bucket(clock.now()));
                loop {
                    let (totals, passed) = buckets.totals(ordinal, newest);
                    // Buckets were used anew while they were being read: time has moved on by more than the spare ones.
                    // If it has not, the clock stepped back, and they stay passed.
                    let now = if passed { buckets.bucket(clock.now()) } else { newest };
                    if now <= newest {
                        return totals;
                    }
                    newest = now;
                }
            }
        }
    }
}

impl Recorded {
    const fn but(settled: Settled) -> Self {
        Self { settled, opening: None }
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = match &self.shape {
            Shape::Calls(_) => "calls",
            Shape::Time(_) => "time",
        };
        f.debug_struct("Events").field("shape", &shape).finish_non_exhaustive()
    }
}

const ORDINAL_BITS: u32 = u64::BITS - PERIOD_BITS;
const ORDINAL_MAX: u64 = (1 << ORDINAL_BITS) - 1;

/// An origin before the first event: a period that could begin 2.18 years from now at the earliest, in its 256th turn.
const NO_PERIOD: u64 = !ORDINAL_MAX;

#[inline]
const fn ordinal(origin: u64) -> u64 {
    origin & ORDINAL_MAX
}

/// As [`Word::period`].
#[inline]
const fn period(origin: u64) -> u64 {
    origin & !ORDINAL_MAX
}

/// Whether `origin` still has this ordinal: if so, whatever bears another one is older.
#[inline]
fn is_present(origin: &AtomicU64, ordinal: u64) -> bool {
    // Acquire: pairs with the swap in `Events::install`.
    self::ordinal(origin.load(Ordering::Acquire)) == ordinal
}
