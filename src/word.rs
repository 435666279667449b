//! The word: the whole circuit in 64 bits.
//!
//! ```text
//! 63          52 51      46 45        38 37                          2 1   0
//! +-------------+----------+------------+-----------------------------+-----+
//! | payload 12  | reopens 6|   turn 8   |  entered 36 (ms, wrapping)  |state|
//! +-------------+----------+------------+-----------------------------+-----+
//! ```
//!
//! | payload of | bits |
//! |---|---|
//! | closed | consecutive failures (12); with a window, a wrapping count of failures and slow calls |
//! | half-open | probes in flight (low 6), successes (high 6) |
//! | open | the jitter draw of this opening (12) |
//! | forced | 0 open, 1 closed, 2 retired; anything else reads as forced open |
//!
//! Every bit pattern decodes. All-zero is a closed circuit that nothing has happened to.

use core::fmt;

mod ticket;

#[cfg(feature = "std")]
pub(crate) use self::ticket::Difference;
pub use self::ticket::Ticket;
use crate::state::State;

/// One bit field: its shift is its neighbour's end, so that no field can overlap another.
#[derive(Clone, Copy)]
struct Field {
    shift: u32,
    bits: u32,
}

impl Field {
    const fn first(bits: u32) -> Self {
        Self { shift: 0, bits }
    }

    const fn after(below: Self, bits: u32) -> Self {
        Self { shift: below.end(), bits }
    }

    const fn end(self) -> u32 {
        self.shift + self.bits
    }

    const fn max(self) -> u64 {
        (1 << self.bits) - 1
    }

    const fn mask(self) -> u64 {
        self.max() << self.shift
    }

    const fn get(self, bits: u64) -> u64 {
        (bits >> self.shift) & self.max()
    }

    const fn put(self, bits: u64, value: u64) -> u64 {
        (bits & !self.mask()) | ((value & self.max()) << self.shift)
    }
}

const STATE: Field = Field::first(2);
const ENTERED: Field = Field::after(STATE, 36);
const TURN: Field = Field::after(ENTERED, 8);
const REOPENS: Field = Field::after(TURN, 6);
const PAYLOAD: Field = Field::after(REOPENS, 12);

/// The payload of a half-open word.
const IN_FLIGHT: Field = Field { shift: PAYLOAD.shift, bits: 6 };
const SUCCESSES: Field = Field::after(IN_FLIGHT, 6);

/// `entered` and the turn: what tells one closed period from another.
const PERIOD: Field = Field { shift: ENTERED.shift, bits: ENTERED.bits + TURN.bits };

const _: () = {
    assert!(PERIOD.end() == TURN.end(), "a period is all of its two fields");
    assert!(PAYLOAD.end() == 64, "the fields fill the word");
    assert!(SUCCESSES.end() == PAYLOAD.end(), "the probe counters fill the payload");
    let all = STATE.mask() ^ ENTERED.mask() ^ TURN.mask() ^ REOPENS.mask() ^ PAYLOAD.mask();
    assert!(all == u64::MAX, "no two fields share a bit");
};

const CLOSED: u64 = 0;
const HALF_OPEN: u64 = 1;
const OPEN: u64 = 2;
const FORCED: u64 = 3;

const FORCED_OPEN: u64 = 0;
const FORCED_CLOSED: u64 = 1;
const RETIRED: u64 = 2;

/// The largest count of consecutive failures.
pub(crate) const MAX_FAILURES: u64 = PAYLOAD.max();
/// The largest count of probes in flight and of probe successes.
pub(crate) const MAX_PROBES: u64 = IN_FLIGHT.max();
/// The bits that tell one closed period from another.
#[cfg(any(feature = "std", all(loom, feature = "loom")))]
pub(crate) const PERIOD_BITS: u32 = PERIOD.bits;
/// The number of failed half-open periods at which the count stops.
pub(crate) const MAX_REOPENS: u64 = REOPENS.max();
/// The bits of a jitter draw.
pub(crate) const DRAW_BITS: u32 = PAYLOAD.bits;

/// Milliseconds after which `entered` wraps: 2.18 years.
const ENTERED_SPAN: u64 = ENTERED.max() + 1;
/// A difference this close to the end of the span (12 days) is a clock that stepped back.
const STEP_BACK: u64 = 1 << 30;

/// What the two state bits and, while forced, the payload say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Closed,
    HalfOpen,
    Open,
    ForcedOpen,
    ForcedClosed,
    Retired,
}

/// A snapshot of a circuit: the value of its one atomic word.
///
/// Every `u64` is a word. `Debug` prints the decoded fields.
///
/// ```
/// use atomic_breaker::{State, engine::Word};
///
/// let word = Word::default();
/// assert_eq!(word.to_bits(), 0);
/// assert_eq!(word.state(), State::Closed);
/// assert!(word.is_untouched());
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Word(u64);

impl Word {
    /// Reads a word from its bits.
    ///
    /// ```
    /// # use atomic_breaker::{State, engine::Word};
    /// assert_eq!(Word::from_bits(2).state(), State::Open);
    /// ```
    #[inline]
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The bits of this word.
    ///
    /// ```
    /// # use atomic_breaker::engine::Word;
    /// assert_eq!(Word::from_bits(42).to_bits(), 42);
    /// ```
    #[inline]
    #[must_use]
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// The stored state. An open circuit whose wait is over is still [`Open`](State::Open) here; a retired one
    /// reads [`ForcedClosed`](State::ForcedClosed).
    ///
    /// ```
    /// # use atomic_breaker::{State, Timestamp, engine::{Limits, Word, transition}};
    /// # let (limits, now) = (Limits::default(), || Timestamp::from_nanos(7_000_000));
    /// let open = transition::trip(Word::default(), &limits, &now).next.unwrap().word;
    /// assert_eq!(open.state(), State::Open);
    /// ```
    #[must_use]
    pub const fn state(self) -> State {
        match self.mode() {
            Mode::Closed => State::Closed,
            Mode::HalfOpen => State::HalfOpen,
            Mode::Open => State::Open,
            Mode::ForcedOpen => State::ForcedOpen,
            Mode::ForcedClosed | Mode::Retired => State::ForcedClosed,
        }
    }

    /// When this state was entered, or the present lease of a half-open circuit began: milliseconds of the
    /// circuit's clock, wrapping after 2<sup>36</sup> (2.18 years).
    ///
    /// ```
    /// # use atomic_breaker::{State, Timestamp, engine::{Limits, Word, transition}};
    /// # let (limits, now) = (Limits::default(), || Timestamp::from_nanos(7_000_000));
    /// let open = transition::trip(Word::default(), &limits, &now).next.unwrap().word;
    /// assert_eq!(open.entered_ms(), 7);
    /// ```
    #[must_use]
    pub const fn entered_ms(self) -> u64 {
        ENTERED.get(self.0)
    }

    /// The number of transitions so far, wrapping after 256.
    ///
    /// ```
    /// # use atomic_breaker::{State, Timestamp, engine::{Limits, Word, transition}};
    /// # let (limits, now) = (Limits::default(), || Timestamp::from_nanos(7_000_000));
    /// let open = transition::trip(Word::default(), &limits, &now).next.unwrap().word;
    /// assert_eq!(open.turn(), 1);
    /// ```
    #[must_use]
    pub const fn turn(self) -> u8 {
        TURN.get(self.0) as u8
    }

    /// Failed half-open periods since the circuit last closed; stops at 63.
    ///
    /// ```
    /// # use atomic_breaker::{State, Timestamp, engine::{Limits, Word, transition}};
    /// # let (limits, now) = (Limits::default(), || Timestamp::from_nanos(7_000_000));
    /// let open = transition::trip(Word::default(), &limits, &now).next.unwrap().word;
    /// assert_eq!(open.reopens(), 0, "no probe has failed yet");
    /// ```
    #[must_use]
    pub const fn reopens(self) -> u32 {
        REOPENS.get(self.0) as u32
    }

    /// Consecutive failures of a closed circuit, 0 in any other state.
    ///
    /// ```
    /// # use atomic_breaker::engine::Word;
    /// assert_eq!(Word::default().failures(), 0);
    /// ```
    #[must_use]
    pub const fn failures(self) -> u32 {
        if self.is_closed() { self.payload() as u32 } else { 0 }
    }

    /// Probes of a half-open circuit that hold a slot, 0 in any other state.
    ///
    /// ```
    /// # use atomic_breaker::{State, Timestamp, engine::{Limits, Word, transition}};
    /// # let (limits, now) = (Limits::default(), || Timestamp::from_nanos(7_000_000));
    /// let open = transition::trip(Word::default(), &limits, &now).next.unwrap().word;
    /// let later = || Timestamp::from_nanos(61_000_000_000);
    /// let half_open = transition::acquire(open, &limits, &later).next.unwrap().word;
    /// assert_eq!(half_open.probes_in_flight(), 1);
    /// ```
    #[must_use]
    pub const fn probes_in_flight(self) -> u32 {
        if self.is_half_open() { IN_FLIGHT.get(self.0) as u32 } else { 0 }
    }

    /// Successful probes of this half-open period, 0 in any other state.
    ///
    /// ```
    /// # use atomic_breaker::engine::Word;
    /// assert_eq!(Word::default().probe_successes(), 0);
    /// ```
    #[must_use]
    pub const fn probe_successes(self) -> u32 {
        if self.is_half_open() { SUCCESSES.get(self.0) as u32 } else { 0 }
    }

    /// Whether the circuit is closed and counts no failure: nothing would be lost with it.
    ///
    /// ```
    /// # use atomic_breaker::{State, Timestamp, engine::{Limits, Word, transition}};
    /// # let (limits, now) = (Limits::default(), || Timestamp::from_nanos(7_000_000));
    /// let open = transition::trip(Word::default(), &limits, &now).next.unwrap().word;
    /// assert!(Word::default().is_untouched());
    /// assert!(!open.is_untouched());
    /// ```
    #[inline]
    #[must_use]
    pub const fn is_untouched(self) -> bool {
        self.0 & (STATE.mask() | PAYLOAD.mask()) == CLOSED
    }

    /// Whether a registry has taken the circuit out of use. It admits every call, counts nothing and stays so.
    ///
    /// ```
    /// # use atomic_breaker::engine::{Word, transition};
    /// assert!(transition::retire(Word::default()).unwrap().is_retired());
    /// ```
    #[must_use]
    pub const fn is_retired(self) -> bool {
        matches!(self.mode(), Mode::Retired)
    }

    #[inline]
    pub(crate) const fn is_closed(self) -> bool {
        STATE.get(self.0) == CLOSED
    }

    #[inline]
    pub(crate) const fn is_half_open(self) -> bool {
        STATE.get(self.0) == HALF_OPEN
    }

    #[cfg(feature = "std")]
    #[inline]
    pub(crate) const fn is_open(self) -> bool {
        STATE.get(self.0) == OPEN
    }

    pub(crate) const fn mode(self) -> Mode {
        match STATE.get(self.0) {
            CLOSED => Mode::Closed,
            HALF_OPEN => Mode::HalfOpen,
            OPEN => Mode::Open,
            _ => match self.payload() {
                FORCED_CLOSED => Mode::ForcedClosed,
                RETIRED => Mode::Retired,
                _ => Mode::ForcedOpen,
            },
        }
    }

    pub(crate) const fn is_forced_closed(self) -> bool {
        matches!(self.mode(), Mode::ForcedClosed)
    }

    /// Probes in flight and successes of a half-open word.
    #[inline]
    pub(crate) const fn probes(self) -> (u64, u64) {
        debug_assert!(self.is_half_open());
        (IN_FLIGHT.get(self.0), SUCCESSES.get(self.0))
    }

    pub(crate) const fn payload(self) -> u64 {
        PAYLOAD.get(self.0)
    }

    /// Milliseconds since `entered`, given the clock's present millisecond; 0 after a step back.
    pub(crate) const fn elapsed_ms(self, now_ms: u64) -> u64 {
        let elapsed = self.since_entered_ms(now_ms);
        if elapsed >= ENTERED_SPAN - STEP_BACK { 0 } else { elapsed }
    }

    /// As [`elapsed_ms`](Word::elapsed_ms), but larger than every timeout after a step back.
    #[inline]
    pub(crate) const fn since_entered_ms(self, now_ms: u64) -> u64 {
        now_ms.wrapping_sub(self.entered_ms()) & ENTERED.max()
    }

    /// Whether the clock's present millisecond is the one before `entered`.
    pub(crate) const fn is_entered_next(self, now_ms: u64) -> bool {
        now_ms.wrapping_add(1) & ENTERED.max() == self.entered_ms()
    }

    /// The word one transition later, in a new state with nothing counted.
    const fn turned(self, state: u64, entered_ms: u64, reopens: u64, payload: u64) -> Self {
        let mut bits = STATE.put(0, state);
        bits = ENTERED.put(bits, entered_ms);
        bits = TURN.put(bits, TURN.get(self.0) + 1);
        bits = REOPENS.put(bits, reopens);
        Self(PAYLOAD.put(bits, payload))
    }

    pub(crate) const fn to_closed(self, entered_ms: u64) -> Self {
        self.turned(CLOSED, entered_ms, 0, 0)
    }

    /// Half-open with `in_flight` probes; the back-off step stays.
    pub(crate) const fn to_half_open(self, entered_ms: u64, in_flight: u64) -> Self {
        self.turned(HALF_OPEN, entered_ms, REOPENS.get(self.0), in_flight)
    }

    /// Open with a jitter draw. `reopens` above the field's maximum stays at the maximum.
    pub(crate) const fn to_open(self, entered_ms: u64, reopens: u64, draw: u64) -> Self {
        let reopens = if reopens > MAX_REOPENS { MAX_REOPENS } else { reopens };
        self.turned(OPEN, entered_ms, reopens, draw)
    }

    pub(crate) const fn to_forced_open(self, entered_ms: u64) -> Self {
        self.turned(FORCED, entered_ms, 0, FORCED_OPEN)
    }

    pub(crate) const fn to_forced_closed(self, entered_ms: u64) -> Self {
        self.turned(FORCED, entered_ms, 0, FORCED_CLOSED)
    }

    pub(crate) const fn to_retired(self) -> Self {
        self.turned(FORCED, self.entered_ms(), 0, RETIRED)
    }

    /// Closed, this period, with another count of failures.
    pub(crate) const fn with_failures(self, failures: u64) -> Self {
        Self(PAYLOAD.put(self.0, failures))
    }

    /// Closed, this period, one failure or slow call later: the count of a circuit with a window, which is never 0
    /// again once something was noted.
    #[cfg(any(feature = "std", all(loom, feature = "loom")))]
    pub(crate) const fn with_note(self) -> Self {
        let noted = PAYLOAD.get(self.0);
        Self(PAYLOAD.put(self.0, if noted == PAYLOAD.max() { 1 } else { noted + 1 }))
    }

    /// What tells this closed period from any other: the bits of turn and `entered`, at the top.
    #[cfg(any(feature = "std", all(loom, feature = "loom")))]
    #[inline]
    pub(crate) const fn period(self) -> u64 {
        (self.0 & PERIOD.mask()) << (u64::BITS - PERIOD.end())
    }

    /// Closed, this period, with one failure more, which must be below a threshold.
    #[inline]
    pub(crate) const fn with_another_failure(self) -> Self {
        debug_assert!(self.payload() < MAX_FAILURES);
        Self(self.0 + (1 << PAYLOAD.shift))
    }

    /// Half-open, this period, with other counts.
    #[cfg(test)]
    pub(crate) const fn with_probes(self, in_flight: u64, successes: u64) -> Self {
        Self(SUCCESSES.put(IN_FLIGHT.put(self.0, in_flight), successes))
    }

    /// Half-open, this period, with one probe more in flight, which there must be a slot for.
    #[inline]
    pub(crate) const fn with_probe_more(self) -> Self {
        debug_assert!(self.probes().0 < MAX_PROBES);
        Self(self.0 + (1 << IN_FLIGHT.shift))
    }

    /// Half-open, this period, with one probe less in flight, which there must be.
    #[inline]
    pub(crate) const fn with_probe_less(self) -> Self {
        debug_assert!(self.probes().0 > 0);
        Self(self.0 - (1 << IN_FLIGHT.shift))
    }

    /// Half-open, this period, with one success more, which must be below a threshold.
    #[inline]
    pub(crate) const fn with_success_more(self) -> Self {
        debug_assert!(self.probes().1 < MAX_PROBES);
        Self(self.0 + (1 << SUCCESSES.shift))
    }

    /// Half-open, this period, at the start of a lease with its first probe.
    pub(crate) const fn with_lease(self, entered_ms: u64) -> Self {
        Self(IN_FLIGHT.put(ENTERED.put(self.0, entered_ms), 1))
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Word");
        out.field("mode", &self.mode())
            .field("entered_ms", &self.entered_ms())
            .field("turn", &self.turn())
            .field("reopens", &self.reopens());
        match self.mode() {
            Mode::Closed => out.field("failures", &self.payload()),
            Mode::HalfOpen => {
                out.field("in_flight", &self.probes_in_flight()).field("successes", &self.probe_successes())
            }
            Mode::Open => out.field("draw", &self.payload()),
            Mode::ForcedOpen | Mode::ForcedClosed | Mode::Retired => out.field("payload", &self.payload()),
        };
        out.finish()
    }
}

#[cfg(test)]
mod tests;
