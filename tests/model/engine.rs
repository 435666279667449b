//! A walk of the engine beside the model: after every step, both have answered alike and look alike.

use std::cell::Cell;
use std::time::Duration;

use atomic_breaker::engine::{
    Admitted, Change, Limits, ProbeTimeout, Settlement, StateCell, Ticket, Word, transition,
};
use atomic_breaker::{self as real, Clock, Settled, State, Timestamp};

use crate::model::time::{Tick, WalkClock};
use crate::model::{Answer, Event, Mode, Model, Moment, Numbers, Outcome, Permit, Probe, Reason, Rejection};

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Acquire,
    /// Settles one of the tickets that are held, oldest first.
    Settle(usize, Outcome),
    /// Forgets one: it never reports.
    Leak(usize),
    Tick(Tick),
    Lag(u64),
    Trip,
    Reset,
    ForceOpen,
    ForceClosed,
    /// Retires the circuit, with the present word as the expected one, or another.
    Retire(bool),
    /// Goes on with another set of limits.
    Limits(usize),
    /// So many calls that fail.
    Failures(u32),
    /// So many half-open periods that fail.
    FailedPeriods(u32),
    /// So many transitions at once.
    Turns(u32),
}

pub(crate) struct EngineWalk {
    sets: Vec<(Numbers, Limits)>,
    limits: Limits,
    cell: StateCell,
    model: Model,
    clock: WalkClock,
    held: Vec<(Ticket, Permit)>,
}

impl EngineWalk {
    pub(crate) fn new(sets: &[Numbers], start: u64) -> Self {
        let sets: Vec<_> = sets.iter().map(|numbers| (*numbers, limits(numbers))).collect();
        Self {
            limits: sets[0].1.clone(),
            model: Model::new(sets[0].0),
            sets,
            cell: StateCell::new(),
            clock: WalkClock { nanos: start, lag: 0 },
            held: Vec::new(),
        }
    }

    pub(crate) fn step(&mut self, op: &Op) {
        match *op {
            Op::Acquire => self.acquire(),
            Op::Settle(which, outcome) => self.settle(which, outcome),
            Op::Leak(which) => drop(self.pick(which)),
            Op::Tick(tick) => self.clock.tick(tick, &self.model),
            Op::Lag(lag) => self.clock.lag = lag,
            Op::Trip => self.control(StateCell::trip, Model::trip),
            Op::Reset => self.control(|cell, _, at| cell.reset(at), Model::reset),
            Op::ForceOpen => {
                self.control(
                    |cell, _, at| cell.force_open(at),
                    |model, at| model.force(Mode::ForcedOpen, at),
                );
            }
            Op::ForceClosed => {
                self.control(
                    |cell, _, at| cell.force_closed(at),
                    |model, at| model.force(Mode::ForcedClosed, at),
                );
            }
            Op::Retire(expected) => self.retire(expected),
            Op::Limits(which) => {
                let (numbers, limits) = &self.sets[which % self.sets.len()];
                self.model.numbers = *numbers;
                self.limits = limits.clone();
            }
            Op::Failures(count) => {
                self.repeat(count, &[Op::Acquire, Op::Settle(usize::MAX, Outcome::Failure)]);
            }
            Op::FailedPeriods(count) => self.repeat(
                count,
                &[Op::Tick(Tick::Deadline(0)), Op::Acquire, Op::Settle(usize::MAX, Outcome::Failure)],
            ),
            Op::Turns(count) => self.repeat(count, &[Op::ForceOpen, Op::Reset]),
        }
        self.compare();
    }

    fn repeat(&mut self, count: u32, ops: &[Op]) {
        for _ in 0..count {
            for op in ops {
                self.step(op);
            }
        }
    }

    fn acquire(&mut self) {
        let clock = Watched::new(&self.clock);
        let before = self.cell.word();
        let real = self.cell.try_acquire(&self.limits, &clock);
        let expected = self.model.acquire(self.clock.moment());
        if matches!(before.state(), State::Closed | State::ForcedOpen | State::ForcedClosed) {
            assert_eq!(clock.readings.get(), 0, "no time is needed");
        }
        match (real, expected) {
            (Ok(Admitted { ticket, change }), Ok(permit)) => {
                self.expect_change(before, change);
                // Half of the tickets go through their bits.
                let ticket = if self.held.len().is_multiple_of(2) {
                    ticket
                } else {
                    Ticket::from_bits(ticket.to_bits())
                };
                self.held.push((ticket, permit));
            }
            (Err(rejected), Err(rejection)) => assert_eq!(rejection_of(&rejected), rejection),
            (real, expected) => panic!("got {real:?}, expected {expected:?} from {:?}", self.model),
        }
    }

    fn settle(&mut self, which: usize, outcome: Outcome) {
        let Some((ticket, permit)) = self.pick(which) else {
            return;
        };
        let before = self.cell.word();
        let bits = ticket.to_bits();
        let clock = Watched::new(&self.clock);
        let rule = transition::settle(
            before,
            &Ticket::from_bits(bits),
            real_outcome(outcome),
            &self.limits,
            &Watched::new(&self.clock),
        );
        let Settlement { settled, change } =
            self.cell.settle(Ticket::from_bits(bits), real_outcome(outcome), &self.limits, &clock);
        assert_eq!(rule.answer, settled, "the cell does as the rule says");
        assert_eq!(answer_of(settled), self.model.settle(permit, outcome, self.clock.moment()));
        if change.is_none() {
            assert_eq!(clock.readings.get(), 0, "no time is needed");
        }
        self.expect_change(before, change);
    }

    fn control(
        &mut self,
        real: impl Fn(&StateCell, &Limits, &Watched) -> Option<Change>,
        model: impl Fn(&mut Model, Moment),
    ) {
        let before = self.cell.word();
        let change = real(&self.cell, &self.limits, &Watched::new(&self.clock));
        model(&mut self.model, self.clock.moment());
        self.expect_change(before, change);
    }

    fn retire(&mut self, expected: bool) {
        let word = self.cell.word();
        if expected {
            assert_eq!(self.cell.retire(word).is_ok(), self.model.retire());
        } else {
            let other = Word::from_bits(word.to_bits() ^ 1 << 38);
            assert!(self.cell.retire(other).is_err(), "the turn is another");
        }
    }

    /// The change that the engine hands out is the event that the model has to report.
    fn expect_change(&mut self, before: Word, change: Option<Change>) {
        self.model.draw = self.cell.word().to_bits() >> 52;
        let event = self.model.event.take();
        assert_eq!(change.is_some(), event.is_some(), "{change:?}, expected {event:?}");
        let (Some(change), Some(Event { from, to, at, .. })) = (change, event) else {
            return;
        };
        assert_eq!((change.before, change.after), (before, self.cell.word()));
        assert_eq!((change.from(), change.to()), (state(from), state(to)));
        assert_eq!(change.at, Timestamp::from_nanos(at));
    }

    fn compare(&self) {
        let (word, model) = (self.cell.word(), &self.model);
        assert_eq!(word.state(), state(model.mode), "{word:?} {model:?}");
        assert_eq!(word.is_retired(), model.mode == Mode::Retired);
        assert_eq!(word.is_untouched(), model.is_untouched());
        assert_eq!(
            (word.entered_ms(), u64::from(word.turn()), word.reopens()),
            (model.entered_ms, model.turn, model.reopens),
            "{word:?} {model:?}"
        );
        assert_eq!(
            (word.failures(), word.probes_in_flight(), word.probe_successes()),
            (model.failures, model.in_flight, model.successes),
            "{word:?} {model:?}"
        );
        let peeked = self.cell.peek(&self.limits, &Watched::new(&self.clock));
        assert_eq!(
            peeked.map_err(|rejected| rejection_of(&rejected)),
            model.peek(self.clock.moment()),
            "{word:?}"
        );
    }

    fn pick(&mut self, which: usize) -> Option<(Ticket, Permit)> {
        if self.held.is_empty() {
            return None;
        }
        let index = if which == usize::MAX { self.held.len() - 1 } else { which % self.held.len() };
        Some(self.held.remove(index))
    }
}

/// A clock that counts how often it is read.
struct Watched {
    at: Moment,
    readings: Cell<u32>,
}

impl Watched {
    fn new(clock: &WalkClock) -> Self {
        Self { at: clock.moment(), readings: Cell::new(0) }
    }
}

impl Clock for Watched {
    fn now(&self) -> Timestamp {
        self.readings.set(self.readings.get() + 1);
        Timestamp::from_nanos(self.at.now)
    }

    fn precise(&self) -> Timestamp {
        self.readings.set(self.readings.get() + 1);
        Timestamp::from_nanos(self.at.precise)
    }
}

pub(crate) fn limits(numbers: &Numbers) -> Limits {
    let mut builder = Limits::builder()
        .failure_threshold(numbers.failures)
        .recovery_timeout(numbers.recovery)
        .success_threshold(numbers.successes)
        .jitter(numbers.jitter)
        .probe_timeout(match numbers.probe {
            Probe::Wait => ProbeTimeout::Wait,
            Probe::After(timeout) => ProbeTimeout::After(timeout),
            Probe::Never => ProbeTimeout::Never,
        });
    builder = match numbers.slots {
        Some(slots) => builder.half_open_max_calls(slots),
        None => builder.half_open_unlimited(),
    };
    if let Some((multiplier, max)) = numbers.backoff {
        builder = builder.backoff(multiplier, max);
    }
    builder.build().expect("the numbers are legal")
}

pub(crate) fn rejection_of(rejected: &real::Rejected) -> Rejection {
    let reason = match rejected.reason() {
        real::Reason::Open => Reason::Open,
        real::Reason::HalfOpen => Reason::HalfOpen,
        real::Reason::ForcedOpen => Reason::ForcedOpen,
    };
    let retry_after_ms = rejected.retry_after().map(|left| {
        let ms = u64::try_from(left.as_millis()).unwrap();
        assert_eq!(left, Duration::from_millis(ms), "whole milliseconds");
        assert_ne!(ms, 0, "never zero");
        ms
    });
    Rejection { reason, retry_after_ms }
}

pub(crate) fn real_outcome(outcome: Outcome) -> real::Outcome {
    match outcome {
        Outcome::Success => real::Outcome::Success,
        Outcome::Failure => real::Outcome::Failure,
        Outcome::Ignored => real::Outcome::Ignored,
    }
}

pub(crate) fn answer_of(settled: Settled) -> Answer {
    match settled {
        Settled::Applied => Answer::Applied,
        Settled::Opened => Answer::Opened,
        Settled::Closed => Answer::Closed,
        Settled::Stale => Answer::Stale,
    }
}

pub(crate) fn state(mode: Mode) -> State {
    match mode {
        Mode::Closed => State::Closed,
        Mode::HalfOpen => State::HalfOpen,
        Mode::Open => State::Open,
        Mode::ForcedOpen => State::ForcedOpen,
        Mode::ForcedClosed | Mode::Retired => State::ForcedClosed,
    }
}
