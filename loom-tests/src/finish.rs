//! How an execution of a race ended.

use std::fmt;

use atomic_breaker::engine::{Change, Word};
use atomic_breaker::{Reason, Settled};

use crate::op::Told;
use crate::order::Order;
use crate::race::Event;

/// The end of one execution.
#[derive(Debug)]
pub struct Finish {
    /// What happened, by actor.
    pub logs: Vec<Vec<Event>>,
    /// An order that explains it.
    pub order: Order,
}

impl Finish {
    /// The last word.
    #[must_use]
    pub fn word(&self) -> Word {
        self.order.words[self.order.deeds.len()]
    }

    /// What an actor was told, last operation first.
    pub fn told(&self, actor: usize) -> impl DoubleEndedIterator<Item = Told> + '_ {
        self.logs[actor].iter().map(|event| event.told)
    }

    /// What all were told, by actor.
    pub fn all_told(&self) -> impl Iterator<Item = Told> + '_ {
        self.logs.iter().flatten().map(|event| event.told)
    }

    /// The changes that were handed out, in the order of the turns that they are.
    #[must_use]
    pub fn changes(&self) -> Vec<Change> {
        let first = self.order.words[0].turn();
        let mut changes: Vec<_> = self.all_told().filter_map(|told| told.change()).collect();
        changes.sort_by_key(|change| change.after.turn().wrapping_sub(first));
        changes
    }

    /// The calls that were admitted.
    #[must_use]
    pub fn admitted(&self) -> usize {
        self.all_told().filter(|told| matches!(told, Told::Acquired(Ok(_)))).count()
    }

    /// The rejections for this reason.
    #[must_use]
    pub fn rejected(&self, reason: Reason) -> usize {
        self.all_told().filter_map(|told| told.rejection()).filter(|told| told.reason() == reason).count()
    }

    /// The outcomes of which this became.
    #[must_use]
    pub fn settled(&self, wanted: Settled) -> usize {
        self.all_told().filter(|told| matches!(told, Told::Settled(got) if got.settled == wanted)).count()
    }

    /// The actors that retired the circuit.
    #[must_use]
    pub fn retired(&self) -> usize {
        self.all_told().filter(|told| *told == Told::Retired(Ok(()))).count()
    }
}

impl fmt::Display for Finish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "from {:?}", self.order.words[0])?;
        for (&(actor, number), word) in self.order.deeds.iter().zip(&self.order.words[1..]) {
            writeln!(f, "  actor {actor}: {}\n    {word:?}", self.logs[actor][number])?;
        }
        Ok(())
    }
}
