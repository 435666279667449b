//! Windows: no outcome lost, none counted twice, none carried over from an older period (rule 14).

#![cfg(loom)]

use std::sync::atomic::Ordering;

use atomic_breaker::engine::window::{Circuit, Event, Events, Rates, Recorded, Totals};
use atomic_breaker::engine::{AtomicU64, Limits, StateCell, Ticket};
use atomic_breaker::{Clock, Outcome, Settled, State, Timestamp};
use loom::sync::Arc;
use loom::thread;

const SUCCESS: Event = Event::SUCCESS;
const FAILURE: Event = Event::FAILURE;

/// Nanoseconds.
const WIDTH: u64 = 1_000_000;

/// A circuit with a window, and the time for those who share it.
struct Model {
    cell: StateCell,
    events: Events,
    limits: Limits,
    rates: Rates,
    now: AtomicU64,
}

impl Model {
    fn new(events: Events, rates: Rates) -> Self {
        let limits = Limits::builder().failure_threshold(1).success_threshold(1).build_clamped();
        Self { cell: StateCell::new(), events, limits, rates, now: AtomicU64::new(0) }
    }

    /// One that never opens by itself.
    fn quiet(events: Events) -> Self {
        Self::new(events, rates(u32::MAX, 1.0))
    }

    fn ticket(&self) -> Ticket {
        self.cell.try_acquire(&self.limits, &at(0)).unwrap().ticket
    }

    /// Records on the first stripe, at the time that all share.
    fn record(&self, ticket: &Ticket, event: Event) -> Recorded {
        self.record_on(0, ticket, event)
    }

    fn record_on(&self, stripe: usize, ticket: &Ticket, event: Event) -> Recorded {
        let now = || Timestamp::from_nanos(self.now.load(Ordering::Relaxed));
        self.record_at(&now, stripe, ticket, event)
    }

    fn record_at(&self, clock: &impl Clock, stripe: usize, ticket: &Ticket, event: Event) -> Recorded {
        let circuit = Circuit { cell: &self.cell, rules: &self.limits, clock };
        self.events.settle(&circuit, ticket, event, stripe, || clock.now(), || Some(self.rates))
    }

    /// Lets time pass, if it has not come so far by itself.
    fn go_to(&self, bucket: u64) {
        self.now.fetch_max(bucket * WIDTH, Ordering::Relaxed);
    }

    fn totals_at(&self, bucket: u64) -> Totals {
        self.events.totals(self.cell.word(), &at(bucket))
    }

    /// Opens the circuit and closes it again with a probe.
    fn next_period(&self) {
        self.cell.trip(&self.limits, &at(0));
        let later = || Timestamp::from_nanos(60_000_000_000);
        let probe = self.cell.try_acquire(&self.limits, &later).unwrap().ticket;
        let settled = self.cell.settle(probe, Outcome::Success, &self.limits, &later);
        assert_eq!(settled.settled, Settled::Closed);
    }
}

fn at(bucket: u64) -> impl Clock {
    move || Timestamp::from_nanos(bucket * WIDTH)
}

fn rates(min_calls: u32, failures: f64) -> Rates {
    Rates { min_calls, failures, slow: None }
}

fn totals(successes: u64, failures: u64) -> Totals {
    Totals { total: successes + failures, failures, slow: 0 }
}

/// Runs `model` through all interleavings, or all with so many preemptions at most.
fn explore(preemptions: Option<usize>, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    builder.max_branches = 50_000;
    let executions = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counter = std::sync::Arc::clone(&executions);
    builder.check(move || {
        counter.fetch_add(1, Ordering::Relaxed);
        model();
    });
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    println!("{name}: {} executions", executions.load(Ordering::Relaxed));
}

/// One thread runs `one`, one the `other`.
fn race(
    preemptions: Option<usize>,
    make: fn() -> Model,
    one: fn(&Model),
    other: fn(&Model),
    at_rest: fn(&Model),
) {
    // loom goes back from a load to a swap that it might have come before, but not always from a swap to a load. So
    // whoever only loads has to come second, too.
    for (first, second) in [(one, other), (other, one)] {
        explore(preemptions, move || {
            let model = Arc::new(make());
            let handle = thread::spawn({
                let model = Arc::clone(&model);
                move || second(&model)
            });
            first(&model);
            handle.join().unwrap();
            at_rest(&model);
        });
    }
}

fn of_calls(calls: u32) -> Model {
    Model::quiet(Events::of_calls(calls))
}

fn of_time(buckets: u32) -> Model {
    Model::quiet(Events::of_time(WIDTH, buckets, 1))
}

#[test]
fn two_recorders_begin_a_period() {
    fn record(model: &Model) {
        assert_eq!(model.record(&model.ticket(), SUCCESS).settled, Settled::Applied);
    }
    let at_rest = |model: &Model| assert_eq!(model.totals_at(0), totals(2, 0));
    race(Some(3), || of_calls(4), record, record, at_rest);
    race(Some(3), || of_time(1), record, record, at_rest);
}

#[test]
fn two_failures_at_rest_are_both_counted() {
    fn fail(model: &Model) {
        assert_eq!(model.record(&model.ticket(), FAILURE).settled, Settled::Applied);
    }
    let at_rest = |model: &Model| assert_eq!(model.totals_at(0), totals(0, 2));
    race(Some(3), || of_calls(4), fail, fail, at_rest);
    race(Some(3), || of_time(1), fail, fail, at_rest);
}

fn with_successes(calls: u32, written: u32) -> Model {
    let model = of_calls(calls);
    for _ in 0..written {
        model.record(&model.ticket(), SUCCESS);
    }
    model
}

#[test]
fn calls_two_recorders_and_the_next_block() {
    fn fail(model: &Model) {
        model.record(&model.ticket(), FAILURE);
    }
    // The last place of a block, and the first of the next, which is one that was used before: eight blocks of sixteen.
    race(Some(3), || with_successes(20, 15), fail, fail, |m| assert_eq!(m.totals_at(0), totals(15, 2)));
    race(Some(3), || with_successes(20, 16), fail, fail, |m| assert_eq!(m.totals_at(0), totals(16, 2)));
    race(
        Some(3),
        || with_successes(20, 8 * 16 - 1),
        fail,
        fail,
        |m| assert_eq!(m.totals_at(0), totals(18, 2)),
    );
    race(Some(3), || with_successes(20, 8 * 16), fail, fail, |m| assert_eq!(m.totals_at(0), totals(18, 2)));
}

#[test]
fn calls_a_count_sees_the_last_calls_and_no_others() {
    // Two failures are about to leave a window of two.
    fn make() -> Model {
        let model = of_calls(2);
        for _ in 0..13 {
            model.record(&model.ticket(), SUCCESS);
        }
        model.record(&model.ticket(), FAILURE);
        model.record(&model.ticket(), FAILURE);
        model
    }
    fn succeed(model: &Model) {
        for _ in 0..3 {
            model.record(&model.ticket(), SUCCESS);
        }
    }
    fn count(model: &Model) {
        let counted = model.totals_at(0);
        assert_eq!(counted.total, 2);
        assert!(counted.failures <= 2);
    }
    race(Some(3), make, succeed, count, |model| assert_eq!(model.totals_at(0), totals(2, 0)));
}

/// Two failures lie in bucket 0, whose slot is that of bucket 4 as well.
fn two_failures_of_old() -> Model {
    let model = of_time(2);
    for _ in 0..2 {
        model.record(&model.ticket(), FAILURE);
    }
    model
}

#[test]
fn time_two_recorders_and_a_rotation() {
    fn succeed(model: &Model) {
        model.go_to(4);
        model.record(&model.ticket(), SUCCESS);
    }
    fn fail(model: &Model) {
        model.record_at(&at(4), 0, &model.ticket(), FAILURE);
    }
    race(Some(3), two_failures_of_old, succeed, succeed, |m| assert_eq!(m.totals_at(4), totals(2, 0)));
    race(Some(3), two_failures_of_old, succeed, fail, |m| assert_eq!(m.totals_at(4), totals(1, 1)));
    race(Some(3), two_failures_of_old, fail, fail, |m| assert_eq!(m.totals_at(4), totals(0, 2)));
}

#[test]
fn time_a_late_recorder_and_a_rotation() {
    fn late(model: &Model) {
        model.record_at(&at(0), 0, &model.ticket(), FAILURE);
    }
    fn fail(model: &Model) {
        model.record_at(&at(4), 0, &model.ticket(), FAILURE);
    }
    fn twice(model: &Model) {
        fail(model);
        model.record_at(&at(8), 0, &model.ticket(), FAILURE);
    }
    race(Some(3), two_failures_of_old, late, fail, |m| assert_eq!(m.totals_at(4), totals(0, 1)));
    race(Some(3), two_failures_of_old, late, twice, |m| assert_eq!(m.totals_at(8), totals(0, 1)));
}

#[test]
fn time_three_recorders_and_two_rotations() {
    fn record(model: &Model, bucket: u64, event: Event) {
        model.record_at(&at(bucket), 0, &model.ticket(), event);
    }
    explore(Some(1), || {
        let model = Arc::new(two_failures_of_old());
        let others = [4, 8].map(|bucket| {
            let model = Arc::clone(&model);
            thread::spawn(move || record(&model, bucket, FAILURE))
        });
        record(&model, 8, FAILURE);
        for other in others {
            other.join().unwrap();
        }
        assert_eq!(model.totals_at(8), totals(0, 2));
    });
}

#[test]
fn time_a_verdict_and_a_rotation() {
    // One success lies in bucket 0, whose slot is that of bucket 2 as well. One failure beside it is half of the calls.
    fn make() -> Model {
        let model = Model::new(Events::of_time(WIDTH, 1, 1), rates(1, 1.0));
        model.record(&model.ticket(), SUCCESS);
        model
    }
    fn go_on(model: &Model) {
        model.go_to(2);
        model.record(&model.ticket(), SUCCESS);
    }
    fn fail(model: &Model) {
        let recorded = model.record(&model.ticket(), FAILURE);
        if let Some(opening) = recorded.opening {
            assert_eq!(opening.totals, totals(0, 1));
            assert_eq!(model.now.load(Ordering::Relaxed), 2 * WIDTH, "only the new bucket holds no success");
        }
    }
    race(Some(3), make, go_on, fail, |_| ());
}

fn next_period_and(model: &Model, event: Event) {
    model.next_period();
    model.record(&model.ticket(), event);
}

#[test]
fn a_late_recorder_and_the_next_period() {
    // The late one may be the first of its period, or not.
    fn fresh(model: Model) -> (Model, Ticket) {
        let ticket = model.ticket();
        (model, ticket)
    }
    fn used(model: Model) -> (Model, Ticket) {
        model.record(&model.ticket(), FAILURE);
        fresh(model)
    }
    for make in [
        || fresh(of_calls(4)),
        || used(of_calls(4)),
        || fresh(of_time(1)),
        || used(of_time(1)),
        // A period after another.
        || {
            let (model, _) = used(of_time(1));
            model.next_period();
            fresh(model)
        },
    ] as [fn() -> (Model, Ticket); 5]
    {
        for event in [SUCCESS, FAILURE] {
            explore(Some(3), move || {
                let (model, late) = make();
                let model = Arc::new(model);
                let recorder = thread::spawn({
                    let model = Arc::clone(&model);
                    move || {
                        let settled = model.record(&late, event).settled;
                        assert!(matches!(settled, Settled::Applied | Settled::Stale));
                    }
                });
                next_period_and(&model, SUCCESS);
                model.record(&model.ticket(), SUCCESS);
                recorder.join().unwrap();
                assert_eq!(model.totals_at(0), totals(2, 0));
            });
        }
    }
}

#[test]
fn a_recorder_and_a_reset() {
    fn reset(model: &Model) {
        model.events.reset(&model.cell, &at(0));
    }
    fn record(model: &Model, event: Event) {
        // The ticket may be of the time before the reset or after it.
        model.record(&model.ticket(), event);
    }
    fn at_rest(model: &Model) {
        let counted = model.totals_at(0).total;
        assert!(counted <= 1);
        model.record(&model.ticket(), SUCCESS);
        assert_eq!(model.totals_at(0).total, counted + 1);
    }
    for make in [|| of_calls(4), || of_time(1)] as [fn() -> Model; 2] {
        race(None, make, |model| record(model, SUCCESS), reset, at_rest);
        race(None, make, |model| record(model, FAILURE), reset, at_rest);
    }
}

#[test]
fn a_late_recorder_and_a_reset() {
    fn reset_and_record(model: &Model) {
        model.events.reset(&model.cell, &at(0));
        model.record(&model.ticket(), SUCCESS);
    }
    fn make(model: Model) -> Model {
        model.record(&model.ticket(), SUCCESS);
        model
    }
    let makes: [fn() -> Model; 2] = [|| make(of_calls(4)), || make(of_time(1))];
    for make in makes {
        for event in [SUCCESS, FAILURE] {
            for recorder_first in [false, true] {
                explore(Some(4), move || {
                    let model = Arc::new(make());
                    let late = model.ticket();
                    let recorder = {
                        let model = Arc::clone(&model);
                        move || {
                            model.record(&late, event);
                        }
                    };
                    let resetter = {
                        let model = Arc::clone(&model);
                        move || reset_and_record(&model)
                    };
                    if recorder_first {
                        let other = thread::spawn(resetter);
                        recorder();
                        other.join().unwrap();
                    } else {
                        let other = thread::spawn(recorder);
                        resetter();
                        other.join().unwrap();
                    }
                    assert_eq!(model.totals_at(0), totals(1, 0));
                });
            }
        }
    }
}

/// `threads` failures, each in a cell of its own, that reach the rate together and not before: one of them opens.
fn together(make: fn() -> Model, threads: usize, preemptions: Option<usize>) {
    explore(preemptions, move || {
        let model = Arc::new(make());
        let fail = |stripe: usize| {
            let model = Arc::clone(&model);
            let ticket = model.ticket();
            move || {
                model.go_to(stripe as u64);
                model.record_on(stripe, &ticket, FAILURE)
            }
        };
        let others: Vec<_> = (1..threads).map(|stripe| thread::spawn(fail(stripe))).collect();
        let own = fail(0)();
        let mut all: Vec<_> = others.into_iter().map(|other| other.join().unwrap()).collect();
        all.push(own);
        let openings: Vec<_> = all.iter().filter_map(|recorded| recorded.opening).collect();
        assert_eq!(openings.len(), 1, "{all:?}");
        assert_eq!(openings[0].totals, totals(0, threads as u64), "the last one saw all");
        // One that was counted but not noted before the opening is too late.
        let others = all.iter().filter(|recorded| recorded.opening.is_none());
        assert!(others.into_iter().all(|other| matches!(other.settled, Settled::Applied | Settled::Stale)));
        assert_eq!(model.cell.word().state(), State::Open);
    });
}

#[test]
fn two_failures_that_reach_the_rate_together_open_once() {
    together(|| Model::new(Events::of_calls(8), rates(2, 1.0)), 2, Some(3));
    together(|| Model::new(Events::of_time(WIDTH, 4, 2), rates(2, 1.0)), 2, Some(3));
}

#[test]
fn three_failures_that_reach_the_rate_together_open_once() {
    together(|| Model::new(Events::of_calls(8), rates(3, 1.0)), 3, Some(1));
    together(|| Model::new(Events::of_time(WIDTH, 4, 4), rates(3, 1.0)), 3, Some(1));
}

#[test]
fn failures_far_beyond_the_rate_open_once() {
    explore(Some(3), || {
        let model = Arc::new(Model::new(Events::of_time(WIDTH, 1, 2), rates(1, 0.5)));
        let ticket = model.ticket();
        let other = thread::spawn({
            let model = Arc::clone(&model);
            let ticket = model.ticket();
            move || model.record_on(1, &ticket, FAILURE)
        });
        let own = model.record(&ticket, FAILURE);
        let other = other.join().unwrap();
        let opened = [own, other].iter().filter(|recorded| recorded.settled == Settled::Opened).count();
        assert_eq!(opened, 1);
        assert_eq!(model.cell.word().turn(), 1);
    });
}
