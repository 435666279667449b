//! This crate's operations.

use std::hint::black_box;
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::Duration;

use atomic_breaker::engine::{Limits, StateCell};
use atomic_breaker::{
    CircuitBreaker, Clock, CoarseClock, Config, ConfigBuilder, ManualClock, Outcome, Permit, QuantaClock,
    Settled, State, Timestamp, Window,
};

use super::upstream::{answer, block_on, refuse};
use super::{Work, repeat};

pub(crate) fn permit_success() -> Work {
    let breaker = leaked(Config::builder());
    Work::new(move || {
        let permit = breaker.try_acquire().ok()?;
        // The call, during which anything may happen to the circuit.
        black_box(());
        Some(permit.success())
    })
}

pub(crate) fn call_success() -> Work {
    let breaker = leaked(Config::builder());
    Work::new(move || breaker.call(|| answer(7)))
}

pub(crate) fn call_async_success() -> Work {
    let breaker = leaked(Config::builder());
    Work::new(move || block_on(breaker.call_async(async { answer(7) })))
}

/// As in the documentation: the wrapped function is a local of the function that calls it.
pub(crate) fn wrap_success() -> Work {
    let breaker = leaked(Config::builder());
    Work::whole(move |times| {
        let wrapped = breaker.wrap(|| answer(7));
        repeat(times, &*wrapped);
    })
}

/// Where the compiler cannot know which function it is.
pub(crate) fn wrap_kept() -> Work {
    let wrapped = leaked(Config::builder()).wrap(|| answer(7));
    Work::whole(move |times| repeat(times, &*wrapped))
}

pub(crate) fn peek() -> Work {
    let breaker = leaked(Config::builder());
    Work::new(move || breaker.peek())
}

pub(crate) fn owned_success() -> Work {
    let breaker = Arc::new(CircuitBreaker::new(Config::default()));
    Work::new(move || {
        let permit = breaker.try_acquire_owned().ok()?;
        black_box(());
        Some(permit.success())
    })
}

pub(crate) fn permit_failure() -> Work {
    let breaker = leaked(Config::builder().failure_threshold(4095));
    let operation = move || {
        let permit = breaker.try_acquire().ok()?;
        black_box(());
        Some(permit.failure())
    };
    Work::in_runs(FAILURES_PER_RUN, operation, move || forgive(breaker))
}

pub(crate) fn call_failure() -> Work {
    let breaker = leaked(Config::builder().failure_threshold(4095));
    Work::in_runs(FAILURES_PER_RUN, move || breaker.call(|| refuse(503)), move || forgive(breaker))
}

pub(crate) fn reject_quanta() -> Work {
    rejects(opened(QuantaClock::new()))
}

pub(crate) fn reject_quanta_backoff() -> Work {
    rejects(reopened(QuantaClock::new()))
}

pub(crate) fn reject_call() -> Work {
    let breaker = opened(QuantaClock::new());
    Work::new(move || breaker.call(|| answer(7)))
}

pub(crate) fn reject_coarse() -> Work {
    rejects(opened(coarse_clock()))
}

pub(crate) fn reject_coarse_backoff() -> Work {
    rejects(reopened(coarse_clock()))
}

/// A half-open period ends with its 63rd success, so each thread makes a probe fail after `RUN` successes, and the
/// next one opens a new period.
pub(crate) fn probe_success<const RUN: u64>() -> Work {
    let breaker = probing();
    let operation = move || {
        let permit = breaker.try_acquire().ok()?;
        black_box(());
        Some(permit.success())
    };
    Work::in_runs(RUN, operation, move || reopen(breaker))
}

pub(crate) fn probe_call<const RUN: u64>() -> Work {
    let breaker = probing();
    Work::in_runs(RUN, move || breaker.call(|| answer(7)), move || reopen(breaker))
}

/// A window of so many calls.
pub(crate) fn calls_success<const CALLS: u32>() -> Work {
    let breaker = windowed(Window::Calls(CALLS));
    Work::new(move || breaker.call(|| answer(7)))
}

pub(crate) fn calls_failure<const CALLS: u32>() -> Work {
    let breaker = windowed(Window::Calls(CALLS));
    Work::in_runs(WINDOWED_FAILURES_PER_RUN, move || breaker.call(|| refuse(503)), move || forgive(breaker))
}

pub(crate) fn time_success() -> Work {
    let breaker = windowed(TEN_BUCKETS);
    Work::new(move || breaker.call(|| answer(7)))
}

pub(crate) fn time_failure() -> Work {
    let breaker = windowed(TEN_BUCKETS);
    Work::in_runs(WINDOWED_FAILURES_PER_RUN, move || breaker.call(|| refuse(503)), move || forgive(breaker))
}

pub(crate) fn cycle() -> Work {
    let breaker = hasty(Config::builder().failure_threshold(1));
    assert!(
        breaker.call(|| refuse(503)).is_err()
            && breaker.call(|| answer(7)).is_ok()
            && breaker.state() == State::Closed
    );
    Work::new(move || (breaker.call(|| refuse(503)), breaker.call(|| answer(7))))
}

pub(crate) fn cycle_manual() -> Work {
    const WAIT: Duration = Duration::from_secs(1);
    let clock = ManualClock::new();
    let config = Config::builder().failure_threshold(1).recovery_timeout(WAIT).build_clamped();
    let breaker: &CircuitBreaker<_> = leak(CircuitBreaker::with_clock(config, clock.clone()));
    Work::new(move || {
        let failed = breaker.call(|| refuse(503));
        clock.advance(WAIT + Duration::from_millis(1));
        (failed, breaker.call(|| answer(7)))
    })
}

/// Failures on neighbours in an array, one thread each: breakers, which are padded, and bare cells, which are not.
pub(crate) fn neighbours(count: usize) -> [(&'static str, Vec<Work>); 2] {
    let breakers: &[CircuitBreaker] = Vec::leak(
        (0..count)
            .map(|_| CircuitBreaker::new(Config::builder().failure_threshold(4095).build_clamped()))
            .collect(),
    );
    let breakers = breakers
        .iter()
        .map(|breaker| {
            let fail = move || breaker.try_acquire().ok().map(Permit::failure);
            Work::in_runs(FAILURES_PER_RUN, fail, move || forgive(breaker))
        })
        .collect();

    let cells: &[StateCell] = Vec::leak((0..count).map(|_| StateCell::new()).collect());
    let limits: &Limits = leak(Limits::builder().failure_threshold(4095).build_clamped());
    let clock = QuantaClock::new();
    let settle = move |cell: &StateCell, outcome| {
        cell.try_acquire(limits, &clock).map(|admitted| cell.settle(admitted.ticket, outcome, limits, &clock))
    };
    let cells = cells
        .iter()
        .map(|cell| {
            let forgive = move || assert!(settle(cell, Outcome::Success).is_ok());
            Work::in_runs(FAILURES_PER_RUN, move || settle(cell, Outcome::Failure), forgive)
        })
        .collect();
    [("breakers (padded)", breakers), ("cells (not padded)", cells)]
}

/// One for all breakers, as its documentation asks for.
pub(crate) fn coarse_clock() -> CoarseClock {
    static CLOCK: LazyLock<CoarseClock> =
        LazyLock::new(|| CoarseClock::start(Duration::from_millis(1)).expect("the tick is legal"));
    CLOCK.clone()
}

const HOUR: Duration = Duration::from_secs(3600);

/// Four threads that fail this often without a success in between stay below the threshold of 4,095.
const FAILURES_PER_RUN: u64 = 1_000;

/// Four threads that fail this often without a success in between leave one in a window of 100 calls.
const WINDOWED_FAILURES_PER_RUN: u64 = 20;

/// The largest window of calls that is measured.
const LARGEST_WINDOW: u32 = 10_000;

const TEN_BUCKETS: Window = Window::Time { length: Duration::from_secs(10), buckets: 10 };

/// A clock on which a nanosecond lasts a millisecond, and which costs what quanta's does: the shortest wait is over by
/// the next reading.
struct HastyClock(QuantaClock);

impl Clock for HastyClock {
    #[inline]
    fn now(&self) -> Timestamp {
        Timestamp::from_nanos(self.0.now().as_nanos() << 20)
    }
}

fn leaked(config: ConfigBuilder) -> &'static CircuitBreaker {
    leak(CircuitBreaker::new(config.build_clamped()))
}

/// Opens when every call in the window failed; full of successes at the beginning.
fn windowed(window: Window) -> &'static CircuitBreaker {
    let breaker = leaked(Config::builder().failure_rate(1.0, 1, window));
    for _ in 0..LARGEST_WINDOW {
        forgive(breaker);
    }
    breaker
}

fn hasty(config: ConfigBuilder) -> &'static CircuitBreaker<HastyClock> {
    let config = config.recovery_timeout(Duration::from_millis(1)).build_clamped();
    leak(CircuitBreaker::with_clock(config, HastyClock(QuantaClock::new())))
}

/// Half-open from the first call on, with a slot for every thread.
fn probing() -> &'static CircuitBreaker<HastyClock> {
    let breaker = hasty(Config::builder().failure_threshold(1).success_threshold(63).half_open_max_calls(63));
    breaker.trip();
    breaker
}

/// A success, which sets a count of failures back and lowers a rate.
fn forgive(breaker: &CircuitBreaker) {
    let settled = breaker.try_acquire().map(Permit::success);
    assert_eq!(settled, Ok(Settled::Applied), "the circuit never opens");
}

/// Ends the half-open period.
fn reopen(breaker: &CircuitBreaker<HastyClock>) {
    let _ = breaker.try_acquire().map(Permit::failure);
}

fn rejects<C: Clock + Send + Sync>(breaker: &'static CircuitBreaker<C>) -> Work {
    Work::new(move || breaker.try_acquire())
}

fn opened<C: Clock>(clock: C) -> &'static CircuitBreaker<C> {
    let config = Config::builder().recovery_timeout(HOUR).build_clamped();
    let breaker: &CircuitBreaker<C> = leak(CircuitBreaker::with_clock(config, clock));
    breaker.trip();
    assert!(breaker.try_acquire().is_err());
    breaker
}

/// Open for the second time in a row, with a wait that depends on that and on the draw.
fn reopened<C: Clock>(clock: C) -> &'static CircuitBreaker<C> {
    const SHORT: Duration = Duration::from_millis(1);
    let short = Config::builder().recovery_timeout(SHORT).build_clamped();
    let breaker: &CircuitBreaker<C> = leak(CircuitBreaker::with_clock(short, clock));
    breaker.trip();
    while breaker.try_acquire().map(Permit::failure) != Ok(Settled::Opened) {
        thread::sleep(SHORT);
    }
    let long = Config::builder().recovery_timeout(HOUR).backoff(2.0, 24 * HOUR).jitter(0.5).build_clamped();
    breaker.reconfigure(long).expect("the configuration is legal");
    assert_eq!(breaker.snapshot().reopens(), 1);
    assert!(breaker.try_acquire().is_err());
    breaker
}

/// For the rest of the process, which is short: threads and wrapped functions need no owner.
fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}
