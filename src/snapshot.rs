//! What a circuit looks like at one moment.

use std::time::Duration;

use crate::error::Rejected;
use crate::state::State;
use crate::word::Word;

/// What a circuit looked like at one moment: one word, so the values belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    word: Word,
    /// What a call would have got.
    answer: Result<(), Rejected>,
}

impl Snapshot {
    pub(crate) fn new(word: Word, answer: Result<(), Rejected>) -> Self {
        Self { word, answer }
    }

    /// The stored state: an open circuit stays [`Open`](State::Open) until a call half-opens it.
    #[must_use]
    pub const fn state(&self) -> State {
        self.word.state()
    }

    /// The effective state: an open circuit whose wait is over reads [`HalfOpen`](State::HalfOpen).
    #[must_use]
    pub const fn effective_state(&self) -> State {
        if self.is_probe_due() { State::HalfOpen } else { self.word.state() }
    }

    /// Consecutive failures of a closed circuit, 0 in any other state.
    #[must_use]
    pub const fn failures(&self) -> u32 {
        self.word.failures()
    }

    /// Probes of a half-open circuit that hold a slot, 0 in any other state.
    #[must_use]
    pub const fn probes_in_flight(&self) -> u32 {
        self.word.probes_in_flight()
    }

    /// Successful probes of this half-open period, 0 in any other state.
    #[must_use]
    pub const fn probe_successes(&self) -> u32 {
        self.word.probe_successes()
    }

    /// Failed half-open periods since the circuit last closed; stops at 63. Drives the back-off.
    #[must_use]
    pub const fn reopens(&self) -> u32 {
        self.word.reopens()
    }

    /// Whether the circuit is open and its wait over, so that the next call becomes a probe.
    #[must_use]
    pub const fn is_probe_due(&self) -> bool {
        self.word.is_open() && self.answer.is_ok()
    }

    /// What a rejection at that moment would say: `None` if a call would be admitted, or if nobody can tell.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        match &self.answer {
            Ok(()) => None,
            Err(rejected) => rejected.retry_after(),
        }
    }
}
