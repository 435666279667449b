//! What actors do, and the same on a cell and on a word: the two sides that a model compares.

use std::time::Duration;

use atomic_breaker::engine::{AtomicU64, Change, Limits, Settlement, StateCell, Ticket, Word, transition};
use atomic_breaker::{Clock, Outcome, Rejected};

/// What an actor does, as a script says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Asks for admission.
    Acquire,
    /// Asks whether it would be admitted.
    Peek,
    /// Reads the word.
    Read,
    /// Reports an outcome for a ticket that was granted before the race.
    Settle(Held, Outcome),
    /// Reports an outcome for the ticket that this actor was granted last; nothing if it was rejected.
    Report(Outcome),
    /// Opens the circuit.
    Trip,
    /// Closes the circuit.
    Reset,
    /// Forces the circuit open.
    ForceOpen,
    /// Forces the circuit closed.
    ForceClosed,
    /// Reads the word, then retires the circuit if it still is that word.
    Retire,
    /// Lets the clock that all actors share advance.
    Tick(Duration),
    /// Stores, relaxed, what only the word's ordering promise makes visible.
    Publish,
    /// Loads, relaxed, what [`Publish`](Op::Publish) stored.
    Look,
}

impl Op {
    /// All that one actor can do to a circuit at once.
    pub const ALL: [Self; 17] = [
        Self::Acquire,
        Self::Peek,
        Self::Read,
        Self::Settle(Held::Current, Outcome::Success),
        Self::Settle(Held::Current, Outcome::Failure),
        Self::Settle(Held::Current, Outcome::Ignored),
        Self::Settle(Held::WrittenOff, Outcome::Success),
        Self::Settle(Held::WrittenOff, Outcome::Failure),
        Self::Settle(Held::WrittenOff, Outcome::Ignored),
        Self::Settle(Held::Stale, Outcome::Success),
        Self::Settle(Held::Stale, Outcome::Failure),
        Self::Settle(Held::Stale, Outcome::Ignored),
        Self::Trip,
        Self::Reset,
        Self::ForceOpen,
        Self::ForceClosed,
        Self::Retire,
    ];
}

/// How a ticket of before the race stands to the word with which the race starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Of the present period, with its slot if it took one.
    Current,
    /// Of the present period, without the slot that it took.
    WrittenOff,
    /// Of an earlier period.
    Stale,
}

/// One atomic step of a script.
#[derive(Clone, Copy, Debug)]
pub enum Deed {
    /// The ticket, if one is granted, goes by the given name.
    Acquire(Name),
    /// Asks whether it would be admitted.
    Peek,
    /// Reads the word.
    Read,
    /// Reports an outcome.
    Settle {
        /// Whose outcome.
        name: Name,
        /// The ticket's bits.
        bits: u64,
        /// What is reported.
        outcome: Outcome,
    },
    /// Opens the circuit.
    Trip,
    /// Closes the circuit.
    Reset,
    /// Forces the circuit open.
    ForceOpen,
    /// Forces the circuit closed.
    ForceClosed,
    /// Retires the circuit if it still is this word.
    Retire(Word),
    /// Lets the clock advance.
    Tick(Duration),
    /// Stores the data.
    Publish,
    /// Loads the data.
    Look,
}

/// Tells one ticket of a race from another: their bits may be the same.
pub type Name = u32;

/// What an actor was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// The ticket's bits and the change, or the rejection.
    Acquired(Result<(u64, Option<Change>), Rejected>),
    /// Whether a call would be admitted.
    Peeked(Result<(), Rejected>),
    /// The word.
    Word(Word),
    /// What became of an outcome.
    Settled(Settlement),
    /// What a control changed.
    Controlled(Option<Change>),
    /// Whether the circuit was retired.
    Retired(Result<(), Word>),
    /// The data.
    Data(u64),
    /// Nothing.
    Nothing,
}

impl Deed {
    /// The deed on the word that all actors share.
    pub(crate) fn on_cell(self, word: &AtomicU64, limits: &Limits, clock: &impl Clock) -> Told {
        let cell = StateCell::from_ref(word);
        match self {
            Self::Acquire(_) => Told::Acquired(
                cell.try_acquire(limits, clock).map(|admitted| (admitted.ticket.to_bits(), admitted.change)),
            ),
            Self::Peek => Told::Peeked(cell.peek(limits, clock)),
            Self::Read => Told::Word(cell.word()),
            Self::Settle { bits, outcome, .. } => {
                Told::Settled(cell.settle(Ticket::from_bits(bits), outcome, limits, clock))
            }
            Self::Trip => Told::Controlled(cell.trip(limits, clock)),
            Self::Reset => Told::Controlled(cell.reset(clock)),
            Self::ForceOpen => Told::Controlled(cell.force_open(clock)),
            Self::ForceClosed => Told::Controlled(cell.force_closed(clock)),
            Self::Retire(expected) => Told::Retired(cell.retire(expected)),
            Self::Tick(_) | Self::Publish | Self::Look => Told::Nothing,
        }
    }

    /// What the deed is told, and makes of `word`, when nobody else is about.
    pub(crate) fn on_word(self, word: Word, limits: &Limits, clock: &impl Clock) -> (Told, Word) {
        match self {
            Self::Acquire(_) => {
                let step = transition::acquire(word, limits, clock);
                let (change, after) = install(word, step.next);
                (Told::Acquired(step.answer.map(|ticket| (ticket.to_bits(), change))), after)
            }
            Self::Peek => (Told::Peeked(transition::peek(word, limits, clock)), word),
            Self::Read => (Told::Word(word), word),
            Self::Settle { bits, outcome, .. } => {
                let step = transition::settle(word, &Ticket::from_bits(bits), outcome, limits, clock);
                let (change, after) = install(word, step.next);
                (Told::Settled(Settlement { settled: step.answer, change }), after)
            }
            Self::Trip => control(word, transition::trip(word, limits, clock)),
            Self::Reset => control(word, transition::reset(word, clock)),
            Self::ForceOpen => control(word, transition::force_open(word, clock)),
            Self::ForceClosed => control(word, transition::force_closed(word, clock)),
            Self::Retire(expected) => match transition::retire(expected) {
                Ok(retired) if word == expected => (Told::Retired(Ok(())), retired),
                Ok(_) => (Told::Retired(Err(word)), word),
                Err(touched) => (Told::Retired(Err(touched)), word),
            },
            Self::Tick(_) | Self::Publish | Self::Look => (Told::Nothing, word),
        }
    }
}

impl Told {
    /// The change of state that comes with this answer.
    #[must_use]
    pub fn change(&self) -> Option<Change> {
        match self {
            Self::Acquired(Ok((_, change)))
            | Self::Settled(Settlement { change, .. })
            | Self::Controlled(change) => *change,
            _ => None,
        }
    }

    /// The rejection, if this is one.
    #[must_use]
    pub fn rejection(&self) -> Option<Rejected> {
        match self {
            Self::Acquired(Err(rejected)) | Self::Peeked(Err(rejected)) => Some(*rejected),
            _ => None,
        }
    }
}

fn control(word: Word, step: transition::Step<()>) -> (Told, Word) {
    let (change, after) = install(word, step.next);
    (Told::Controlled(change), after)
}

fn install(before: Word, next: Option<transition::Next>) -> (Option<Change>, Word) {
    let Some(transition::Next { word: after, at }) = next else { return (None, before) };
    let change = (before.state() != after.state()).then_some(Change { before, after, at });
    (change, after)
}
