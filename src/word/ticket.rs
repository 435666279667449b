//! Tickets: words that remember under what a call was admitted.

use core::fmt;

use super::{CLOSED, ENTERED, FORCED, HALF_OPEN, PAYLOAD, REOPENS, STATE, TURN, Word};

/// The right to report one outcome: the word under which a call was admitted, and whether it took a slot.
///
/// A ticket is neither `Copy` nor `Clone`, so that an outcome is reported at most once. Whoever must store one
/// (in a foreign struct, across a language border) keeps its [`to_bits`](Ticket::to_bits) and sees to that
/// himself. Dropping a ticket reports nothing: a half-open slot that it held is then given back only when its
/// lease is over, so settle it with [`Outcome::Ignored`](crate::Outcome::Ignored) instead.
#[derive(PartialEq, Eq, Hash)]
#[must_use = "a ticket that is not settled keeps its half-open slot until the lease is over"]
pub struct Ticket(u64);

// A closed ticket is the word with its payload cleared. Any other one stands in the place of a forced word with
// a payload that no forced word has. So a ticket equals a word only if both are closed and no failure is
// counted, and the healthy success is one comparison.
const TICKET_STALE: u64 = PAYLOAD.max();
const TICKET_SLOT: u64 = PAYLOAD.max() - 1;
const TICKET_PROBE: u64 = PAYLOAD.max() - 2;
const TICKET_FORCED: u64 = PAYLOAD.max() - 3;

impl Ticket {
    /// A ticket that is stale from birth.
    pub(crate) const STALE: Self = Self(PAYLOAD.put(FORCED, TICKET_STALE));

    /// The ticket of a call admitted under a closed `word`.
    #[inline]
    pub(crate) const fn closed(word: Word) -> Self {
        debug_assert!(word.is_closed());
        Self(word.0 & !PAYLOAD.mask())
    }

    /// The ticket of a probe that took a slot under a half-open `word`.
    pub(crate) const fn slot(word: Word) -> Self {
        Self::marked(word, TICKET_SLOT)
    }

    /// The ticket of a probe of unlimited half-open.
    pub(crate) const fn probe(word: Word) -> Self {
        Self::marked(word, TICKET_PROBE)
    }

    /// The ticket of a call admitted under a word forced closed.
    pub(crate) const fn forced(word: Word) -> Self {
        Self::marked(word, TICKET_FORCED)
    }

    const fn marked(word: Word, mark: u64) -> Self {
        Self(PAYLOAD.put(STATE.put(word.0, FORCED), mark))
    }

    /// Reads a ticket from bits that [`to_bits`](Ticket::to_bits) gave. Bits from elsewhere are safe, too: they settle
    /// as the ticket would that they happen to spell, or are stale if they spell none.
    ///
    /// ```
    /// # use atomic_breaker::{Rejected, Timestamp, engine::{Limits, StateCell, Ticket}};
    /// let cell = StateCell::new();
    /// let admitted = cell.try_acquire(&Limits::default(), &|| Timestamp::from_nanos(0))?;
    /// let bits = admitted.ticket.to_bits();
    /// let ticket = Ticket::from_bits(bits);
    /// assert_eq!(ticket.to_bits(), bits);
    /// # Ok::<(), atomic_breaker::Rejected>(())
    /// ```
    pub const fn from_bits(bits: u64) -> Self {
        match (STATE.get(bits), PAYLOAD.get(bits)) {
            (CLOSED, 0) | (FORCED, TICKET_FORCED | TICKET_PROBE | TICKET_SLOT) => Self(bits),
            _ => Self::STALE,
        }
    }

    /// The bits of this ticket.
    ///
    /// ```
    /// # use atomic_breaker::engine::Ticket;
    /// assert_eq!(Ticket::from_bits(0).to_bits(), 0);
    /// ```
    #[inline]
    #[must_use]
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// Whether dropping this ticket unreported would keep a slot.
    #[inline]
    pub(crate) const fn took_slot(&self) -> bool {
        self.is(TICKET_SLOT)
    }

    #[inline]
    const fn is(&self, mark: u64) -> bool {
        self.0 & (PAYLOAD.mask() | STATE.mask()) == PAYLOAD.put(FORCED, mark)
    }

    #[inline]
    pub(crate) const fn duplicate(&self) -> Self {
        Self(self.0)
    }

    /// Whether `word` is this ticket's period and a success would change nothing: closed, no failure counted.
    #[inline]
    pub(crate) const fn is_quiet_in(&self, word: Word) -> bool {
        word.0 == self.0
    }

    /// In what `word` differs from this ticket.
    #[cfg(feature = "std")]
    #[inline]
    pub(crate) const fn difference(&self, word: Word) -> Difference {
        Difference(word.0 ^ self.0)
    }

    /// Whether `word` is closed, and this ticket was granted in its period.
    #[inline]
    pub(crate) const fn is_closed_in(&self, word: Word) -> bool {
        // No ticket has the state of a word that is not closed together with an empty payload.
        self.0 == word.0 & !PAYLOAD.mask()
    }

    /// Whether `word` is half-open, and this ticket was granted in its period.
    #[inline]
    pub(crate) const fn is_half_open_in(&self, word: Word) -> bool {
        const KEPT: u64 = STATE.mask() | TURN.mask() | REOPENS.mask();
        let is_probe = self.is(TICKET_SLOT) || self.is(TICKET_PROBE);
        is_probe && (word.0 ^ self.0) & KEPT == HALF_OPEN ^ FORCED
    }

    /// Whether `word` is forced closed, and this ticket was granted in its period.
    #[inline]
    pub(crate) const fn is_forced_closed_in(&self, word: Word) -> bool {
        word.is_forced_closed() && self.0 == Self::forced(word).0
    }

    /// Whether the period in which this ticket was granted still runs.
    #[cfg(test)]
    pub(crate) const fn is_current_in(&self, word: Word) -> bool {
        self.is_closed_in(word) || self.is_half_open_in(word) || self.is_forced_closed_in(word)
    }

    /// Whether this is the ticket of a call admitted by a closed circuit.
    #[cfg(feature = "std")]
    #[inline]
    pub(crate) const fn is_closed(&self) -> bool {
        STATE.get(self.0) == CLOSED
    }

    /// The period in which this ticket of a closed circuit was granted, as [`Word::period`] tells it.
    #[cfg(any(feature = "std", all(loom, feature = "loom")))]
    #[inline]
    pub(crate) const fn period(&self) -> u64 {
        Word(self.0).period()
    }

    /// Whether the slot of this ticket is one that `word` counts: taken, and not written off meanwhile.
    pub(crate) const fn holds_slot_in(&self, word: Word) -> bool {
        self.took_slot() && (word.0 ^ self.0) & ENTERED.mask() == 0
    }
}

/// In what a word differs from a ticket.
#[cfg(feature = "std")]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Difference(u64);

#[cfg(feature = "std")]
impl Difference {
    /// None at all: the ticket's period, no failure counted.
    pub(crate) const NONE: Self = Self(0);
    /// One that no word has: if the state bits are equal, both are closed, and then the back-off steps are equal, too; or
    /// both stand for a forced circuit, and then the payloads are not.
    pub(crate) const IMPOSSIBLE: Self = Self(1 << REOPENS.shift);
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let granted = match (STATE.get(self.0), PAYLOAD.get(self.0)) {
            (CLOSED, 0) => "closed",
            (FORCED, TICKET_FORCED) => "forced_closed",
            (FORCED, TICKET_PROBE) => "half_open",
            (FORCED, TICKET_SLOT) => "half_open, slot taken",
            _ => return f.write_str("Ticket(stale from birth)"),
        };
        let word = Word(self.0);
        f.debug_struct("Ticket")
            .field("granted", &granted)
            .field("entered_ms", &word.entered_ms())
            .field("turn", &word.turn())
            .field("reopens", &word.reopens())
            .finish()
    }
}
