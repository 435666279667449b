//! What must hold in any order, kept by a ledger that knows the tickets by name.
//!
//! An order that the transitions allow proves nothing about the transitions: both sides of the comparison run them.
//! The ledger looks at a word's period and slots from outside. It knows which call holds a slot and which period is
//! over because it saw both happen, not because some bits are equal.

use std::time::Duration;

use atomic_breaker::engine::{Settlement, Word, transition};
use atomic_breaker::{Reason, Settled, State, Timestamp};

use crate::op::{Deed, Held, Name, Told};
use crate::race::{Event, PUBLISHED};
use crate::story::Situation;

/// The books of one circuit, in one order of the deeds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ledger {
    /// The tickets of the present period, by name.
    current: u64,
    /// Those of them that hold a slot.
    holders: u64,
    /// Slots held by nobody in this race.
    strangers: u32,
    /// The reading from which the word's time of entry was made.
    stamped: Timestamp,
    /// Actors that have published, by number.
    publishers: u64,
    /// Whether one of them has changed the word since.
    published: bool,
    /// Actors that have met such a word, by number.
    informed: u64,
}

/// The law that an order breaks.
pub(crate) type Broken = &'static str;

impl Ledger {
    pub(crate) fn open(situation: &Situation) -> Self {
        let named = |wanted: &[Held]| {
            let names = situation.grants.iter().enumerate().filter(|(_, (held, _))| wanted.contains(held));
            names.fold(0, |set, (name, _)| set | bit(name as Name))
        };
        let in_slots = situation.setting.slots.is_some() && situation.word.state() == State::HalfOpen;
        let holders = if in_slots { named(&[Held::Current]) } else { 0 };
        Self {
            current: named(&[Held::Current, Held::WrittenOff]),
            holders,
            strangers: situation.word.probes_in_flight() - holders.count_ones(),
            stamped: situation.stamped,
            publishers: 0,
            published: false,
            informed: 0,
        }
    }

    /// Books a deed of `actor` that found the word `before` and left the word `after`.
    pub(crate) fn book(
        &mut self,
        situation: &Situation,
        actor: usize,
        before: Word,
        event: &Event,
        after: Word,
    ) -> Result<(), Broken> {
        self.message(actor, before, event, after)?;
        self.rejection(situation, before, event)?;
        self.staleness(before, event)?;
        let lease = self.admission(situation, before, event, after)?;
        let turned = self.turn(before, event, after)?;
        self.stamp(before, event, after, turned || lease)?;
        self.slots(situation, event, after, turned, lease)
    }

    /// Whoever meets a word that was changed after the data was published finds the data.
    fn message(&mut self, actor: usize, before: Word, event: &Event, after: Word) -> Result<(), Broken> {
        let actor = 1 << actor;
        match event.deed {
            Deed::Publish => self.publishers |= actor,
            Deed::Look if self.informed & actor != 0 && event.told != Told::Data(PUBLISHED) => {
                return Err("what happened before the word was changed is not visible to one that met it");
            }
            Deed::Look | Deed::Tick(_) => {}
            // Refused for what was expected; the word was not even read.
            Deed::Retire(expected) if !expected.is_untouched() => {}
            _ => {
                if self.published {
                    self.informed |= actor;
                }
                self.published |= before != after && self.publishers & actor != 0;
            }
        }
        Ok(())
    }

    /// A rejection tells a time after which a call on the same word is admitted, and never more than the whole span.
    fn rejection(&self, situation: &Situation, before: Word, event: &Event) -> Result<(), Broken> {
        let Some(rejected) = event.told.rejection() else { return Ok(()) };
        let longest = match rejected.reason() {
            Reason::Open => Some(situation.setting.waits.1),
            Reason::HalfOpen => situation.setting.leases.map(|leases| leases.1),
            Reason::ForcedOpen => None,
        };
        let (Some(longest), Some(retry_after)) = (longest, rejected.retry_after()) else {
            return if longest.is_none() && rejected.retry_after().is_none() {
                Ok(())
            } else {
                Err("a rejection tells when to retry exactly where somebody can tell")
            };
        };
        if retry_after > longest + Duration::from_millis(1) {
            return Err("a rejection asks to wait for longer than the span");
        }
        let Some(reading) = event.readings.last().copied().filter(|reading| *reading >= self.stamped) else {
            return Ok(());
        };
        let then = Timestamp::from_nanos(reading.as_nanos() + retry_after.as_nanos() as u64);
        if transition::peek(before, &situation.limits, &|| then).is_err() {
            return Err("a call after the time that a rejection told would be rejected again");
        }
        Ok(())
    }

    /// An outcome is stale exactly if its ticket's period is over, or the circuit is retired.
    fn staleness(&self, before: Word, event: &Event) -> Result<(), Broken> {
        let (Deed::Settle { name, .. }, Told::Settled(Settlement { settled, .. })) = (event.deed, event.told)
        else {
            return Ok(());
        };
        let in_time = self.current & bit(name) != 0 && !before.is_retired();
        match (in_time, settled) {
            (true, Settled::Stale) => Err("an outcome of the present period was called stale"),
            (false, Settled::Applied | Settled::Opened | Settled::Closed) => {
                Err("an outcome of another period counted")
            }
            _ => Ok(()),
        }
    }

    /// No probe flies before the wait or the lease is over. Whether this admission starts a lease in a running period.
    fn admission(
        &self,
        situation: &Situation,
        before: Word,
        event: &Event,
        after: Word,
    ) -> Result<bool, Broken> {
        let (Deed::Acquire(_), Told::Acquired(Ok(_))) = (event.deed, event.told) else { return Ok(false) };
        let setting = &situation.setting;
        let over = |span: Duration| {
            let last = event.readings.last();
            last.is_some_and(|reading| reading.saturating_duration_since(self.stamped) >= span)
        };
        match (before.state(), setting.slots) {
            (State::Open, _) if !over(setting.waits.0) => Err("a probe flew before the wait was over"),
            (State::HalfOpen, Some(slots)) if self.held() >= slots => match setting.leases {
                Some((shortest, _)) if over(shortest) => Ok(true),
                _ => Err("probes were written off before their lease was over"),
            },
            (State::HalfOpen, Some(_)) if self.held() == 0 => Ok(true),
            (State::HalfOpen, Some(_)) if before.entered_ms() != after.entered_ms() => {
                Err("a probe beside others started a lease")
            }
            (State::ForcedOpen, _) => Err("a circuit that is forced open admitted a call"),
            _ => Ok(false),
        }
    }

    /// The turn advances by one with each transition, and only then. Whether this is one.
    fn turn(&mut self, before: Word, event: &Event, after: Word) -> Result<bool, Broken> {
        let wrote = before != after;
        let turned = match (event.deed, event.told) {
            (Deed::Acquire(_), _) => wrote && before.state() == State::Open,
            (Deed::Settle { .. }, Told::Settled(Settlement { settled, .. })) => {
                matches!(settled, Settled::Opened | Settled::Closed)
            }
            (Deed::Trip | Deed::Reset | Deed::ForceOpen | Deed::ForceClosed | Deed::Retire(_), _) => wrote,
            _ => false,
        };
        if after.turn() != before.turn().wrapping_add(u8::from(turned)) {
            return Err("the turn counts the transitions");
        }
        if turned {
            self.current = 0;
            self.holders = 0;
            self.strangers = 0;
        }
        Ok(turned)
    }

    /// A time of entry is written only where a period or a lease begins, and never dated back.
    fn stamp(&mut self, before: Word, event: &Event, after: Word, begins: bool) -> Result<(), Broken> {
        const WRAP: u64 = 1 << 36;
        if !begins && before.entered_ms() != after.entered_ms() {
            return Err("the time of entry changed, and nothing began");
        }
        if after.entered_ms().wrapping_sub(before.entered_ms()) % WRAP > WRAP / 2 {
            return Err("a word is dated before the one that it replaced");
        }
        if !begins || matches!(event.deed, Deed::Retire(_)) {
            return Ok(());
        }
        let Some(&reading) = event.readings.last() else { return Err("what begins needs a reading") };
        if reading < self.stamped {
            return Err("a reading of the clock is older than the word that it stamped away");
        }
        self.stamped = reading;
        Ok(())
    }

    /// The word counts the slots that are held.
    fn slots(
        &mut self,
        situation: &Situation,
        event: &Event,
        after: Word,
        turned: bool,
        lease: bool,
    ) -> Result<(), Broken> {
        match (event.deed, event.told) {
            (Deed::Acquire(name), Told::Acquired(Ok(_))) => {
                if lease {
                    self.holders = 0;
                    self.strangers = 0;
                }
                self.current |= bit(name);
                if after.state() == State::HalfOpen && situation.setting.slots.is_some() {
                    self.holders |= bit(name);
                }
            }
            (Deed::Settle { name, .. }, _) if !turned => self.holders &= !bit(name),
            _ => {}
        }
        if after.state() == State::HalfOpen && after.probes_in_flight() != self.held() {
            return Err("the word does not count the slots that are held");
        }
        Ok(())
    }

    fn held(&self) -> u32 {
        self.holders.count_ones() + self.strangers
    }
}

fn bit(name: Name) -> u64 {
    1 << name
}
