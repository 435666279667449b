//! A walk that knows what no word can: when each probe really began, and in which period.
//!
//! Its clock steps back now and then, so that the circuit's time runs behind the true one. Whatever the circuit does,
//! it is held to the true time: no slot is lost or returned twice, no wait and no lease is cut short, nothing wedges.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;

use atomic_breaker::engine::{Change, Limits, StateCell, Ticket, Word};
use atomic_breaker::{Reason, Settled, State, Timestamp};

use crate::model::engine::{limits, real_outcome};
use crate::model::{Numbers, Outcome, Probe};
use crate::numbers::{numbers, outcomes};
use crate::{cases, steps};

proptest! {
    #![proptest_config(cases(800))]

    #[test]
    fn no_slot_is_lost_no_lease_cut_short_and_nothing_wedges(
        sets in vec(numbers().prop_map(within_a_lap), 1..3),
        ops in vec(ops(), steps(250)),
    ) {
        let mut ghost = Ghost::new(sets);
        for op in ops {
            ghost.step(&op);
        }
    }
}

#[derive(Clone, Debug)]
enum Op {
    Acquire,
    Settle(prop::sample::Index, Outcome),
    Leak(prop::sample::Index),
    /// True time passes.
    Pass(u64),
    /// True time passes until about the end of the wait or lease.
    PassDeadline(u64),
    /// The circuit's clock steps back.
    StepBack(u64),
    Limits(prop::sample::Index),
    Force(bool),
    Release(bool),
    /// Nobody reports for as long as a wedge could last.
    Patience,
}

struct Call {
    ticket: Ticket,
    probe: Option<u32>,
    period: u64,
}

/// A probe, whether or not it will ever report.
#[derive(Debug)]
struct Flight {
    began: u64,
    /// The millisecond at which its lease began, as the word tells it.
    lease: u64,
    holds_slot: bool,
    written_off: bool,
}

struct Ghost {
    sets: Vec<Numbers>,
    numbers: Numbers,
    limits: Limits,
    cell: StateCell,
    true_now: u64,
    /// How far the circuit's clock is behind.
    behind: u64,
    /// Since when it has been as far behind at most, in true time: what a step back adds to a wait.
    latest: u64,
    period: u64,
    opened: u64,
    lease_began: u64,
    slots_changed: bool,
    held: Vec<Call>,
    flights: BTreeMap<u32, Flight>,
    serial: u32,
}

const MILLI: u64 = 1_000_000;

impl Ghost {
    fn new(sets: Vec<Numbers>) -> Self {
        Self {
            numbers: sets[0],
            limits: limits(&sets[0]),
            sets,
            cell: StateCell::new(),
            true_now: 20 * 365 * 24 * 3_600 * 1_000_000_000,
            behind: 0,
            latest: 0,
            period: 0,
            opened: 0,
            lease_began: 0,
            slots_changed: false,
            held: Vec::new(),
            flights: BTreeMap::new(),
            serial: 0,
        }
    }

    fn step(&mut self, op: &Op) {
        match op {
            Op::Acquire => drop(self.acquire()),
            Op::Settle(which, outcome) => self.settle(*which, *outcome),
            Op::Leak(which) => drop(self.pick(*which)),
            Op::Pass(time) => self.true_now += time,
            Op::PassDeadline(beyond) => self.pass_deadline(*beyond),
            Op::StepBack(by) => {
                self.latest = self.latest.max(self.now());
                self.behind += by;
            }
            Op::Limits(which) => {
                self.numbers = *which.get(&self.sets);
                self.limits = limits(&self.numbers);
                self.slots_changed = true;
            }
            Op::Force(open) => {
                let at = self.clock();
                let change = if *open { self.cell.force_open(&at) } else { self.cell.force_closed(&at) };
                self.turned(change);
            }
            Op::Release(trip) => self.release(*trip),
            Op::Patience => self.patience(),
        }
        self.check();
    }

    fn acquire(&mut self) -> bool {
        let before = self.cell.word();
        let real = self.cell.try_acquire(&self.limits, &self.clock());
        let admitted = match real {
            Ok(admitted) => admitted,
            Err(rejected) => {
                if rejected.reason() == Reason::HalfOpen {
                    let slots = self.numbers.slots.expect("unlimited rejects nobody");
                    assert!(self.holding() >= slots, "rejected with a slot free");
                }
                return false;
            }
        };
        let word = self.cell.word();
        if before.state() == State::Open {
            self.assert_passed(self.opened, self.wait_ms(before), "a wait was cut short");
        }
        self.turned(admitted.change);
        let probe =
            (word.state() == State::HalfOpen).then(|| self.takes_off(before.state(), word.entered_ms()));
        self.held.push(Call { ticket: admitted.ticket, probe, period: self.period });
        true
    }

    /// Notes a probe, and what it did to the others.
    fn takes_off(&mut self, before: State, lease: u64) -> u32 {
        let holding = self.holding();
        let limited = self.numbers.slots.is_some();
        if limited && before == State::HalfOpen && self.numbers.slots.is_some_and(|slots| holding >= slots) {
            let timeout = self.probe_timeout_ms().expect("never means never");
            self.assert_passed(self.lease_began, timeout, "a lease was cut short");
            for flight in self.flights.values_mut().filter(|flight| flight.holds_slot) {
                (flight.holds_slot, flight.written_off) = (false, true);
            }
        }
        if limited && self.holding() == 0 {
            self.lease_began = self.true_now;
            // A limit of the word: a step back onto the very millisecond at which an older lease began makes its
            // probes, written off long ago, look like those of the new one.
            let stranded = self.flights.iter().filter(|(_, flight)| flight.lease == lease).map(|(id, _)| *id);
            for id in stranded.collect::<Vec<_>>() {
                self.flights.remove(&id);
                self.held.retain(|call| call.probe != Some(id));
            }
        }
        self.serial += 1;
        let flight = Flight { began: self.true_now, lease, holds_slot: limited, written_off: false };
        self.flights.insert(self.serial, flight);
        self.serial
    }

    fn settle(&mut self, which: prop::sample::Index, outcome: Outcome) {
        let Some(Call { ticket, probe, period }) = self.pick(which) else {
            return;
        };
        let settlement = self.cell.settle(ticket, real_outcome(outcome), &self.limits, &self.clock());
        let is_late = period != self.period;
        assert_eq!(settlement.settled == Settled::Stale, is_late, "a verdict counts in its own period");
        if let Some(id) = probe.filter(|_| !is_late) {
            self.flights.remove(&id);
        }
        self.turned(settlement.change);
    }

    fn release(&mut self, trip: bool) {
        let at = self.clock();
        let before = self.cell.word();
        let change = if trip { self.cell.trip(&self.limits, &at) } else { self.cell.reset(&at) };
        let after = self.cell.word();
        if after != before {
            self.turned(change);
            if change.is_none() {
                // Open again, or closed again: a new period that is no change of state.
                self.begin_period();
            }
        }
    }

    /// After a wait and a lease without any report somebody is admitted, whatever the probes before have done.
    fn patience(&mut self) {
        let word = self.cell.word();
        let Some(timeout) = self.probe_timeout_ms() else {
            return;
        };
        if word.state() == State::ForcedOpen {
            return;
        }
        let debt = self.latest.saturating_sub(self.now());
        self.true_now += debt + (self.full_wait_ms(word.reopens()) + timeout + 1) * MILLI;
        assert!(self.acquire(), "wedged: {:?}", self.cell);
    }

    fn check(&self) {
        let word = self.cell.word();
        if word.state() != State::HalfOpen {
            return;
        }
        assert_eq!(word.probes_in_flight(), self.holding(), "{word:?} {:?}", self.flights);
        let (Some(slots), Some(timeout), false) =
            (self.numbers.slots, self.probe_timeout_ms(), self.slots_changed)
        else {
            return;
        };
        let is_young = |flight: &&Flight| {
            (flight.holds_slot || flight.written_off) && self.true_now - flight.began < timeout * MILLI
        };
        let young = self.flights.values().filter(is_young).count();
        assert!(young <= 2 * slots as usize, "{young} young probes with {slots} slots");
    }

    fn turned(&mut self, change: Option<Change>) {
        if change.is_some() {
            self.begin_period();
        }
    }

    fn begin_period(&mut self) {
        self.period += 1;
        self.opened = self.true_now;
        self.flights.clear();
        self.slots_changed = false;
    }

    fn pass_deadline(&mut self, beyond: u64) {
        let word = self.cell.word();
        let span = match word.state() {
            State::Open => Some(self.full_wait_ms(word.reopens())),
            _ => self.probe_timeout_ms(),
        };
        let end = (word.entered_ms() + span.unwrap_or(0)) * MILLI + beyond;
        self.true_now += end.saturating_sub(self.now()).saturating_sub(MILLI);
    }

    fn holding(&self) -> u32 {
        u32::try_from(self.flights.values().filter(|flight| flight.holds_slot).count()).unwrap()
    }

    fn assert_passed(&self, since: u64, span_ms: u64, message: &str) {
        assert!(self.true_now - since >= span_ms * MILLI, "{message}: {:?}", self.cell);
    }

    fn wait_ms(&self, open: Word) -> u64 {
        let mut model = crate::model::Model::new(self.numbers);
        (model.reopens, model.draw) = (open.reopens(), open.to_bits() >> 52);
        model.wait_ms()
    }

    fn full_wait_ms(&self, reopens: u32) -> u64 {
        let mut model = crate::model::Model::new(Numbers { jitter: 0.0, ..self.numbers });
        model.reopens = reopens;
        model.wait_ms()
    }

    fn probe_timeout_ms(&self) -> Option<u64> {
        let mut model = crate::model::Model::new(self.numbers);
        model.reopens = self.cell.word().reopens();
        model.probe_timeout_ms()
    }

    fn now(&self) -> u64 {
        self.true_now - self.behind
    }

    fn clock(&self) -> impl Fn() -> Timestamp + use<> {
        let now = self.now();
        move || Timestamp::from_nanos(now)
    }

    fn pick(&mut self, which: prop::sample::Index) -> Option<Call> {
        (!self.held.is_empty()).then(|| self.held.swap_remove(which.index(self.held.len())))
    }
}

/// Milliseconds count modulo 2.18 years: a lease of one year that nobody renews for three seems young again.
fn within_a_lap(numbers: Numbers) -> Numbers {
    let short = |time: Duration| time.min(Duration::from_secs(1_000));
    Numbers {
        recovery: short(numbers.recovery),
        probe: match numbers.probe {
            Probe::After(timeout) => Probe::After(short(timeout)),
            other => other,
        },
        backoff: numbers.backoff.map(|(multiplier, max)| (multiplier, short(max))),
        ..numbers
    }
}

fn ops() -> impl Strategy<Value = Op> {
    let which = any::<prop::sample::Index>;
    prop_oneof![
        14 => Just(Op::Acquire),
        10 => (which(), outcomes()).prop_map(|(which, outcome)| Op::Settle(which, outcome)),
        2 => which().prop_map(Op::Leak),
        4 => (0..3 * MILLI).prop_map(Op::Pass),
        2 => (0..100 * MILLI).prop_map(Op::Pass),
        6 => (0..2 * MILLI).prop_map(Op::PassDeadline),
        1 => prop_oneof![0..2 * MILLI, 0..50 * MILLI].prop_map(Op::StepBack),
        1 => which().prop_map(Op::Limits),
        1 => any::<bool>().prop_map(Op::Force),
        2 => any::<bool>().prop_map(Op::Release),
        2 => Just(Op::Patience),
    ]
}
