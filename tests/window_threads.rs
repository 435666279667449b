//! Windows under real threads: at rest, every event of the period is there, once, and none of an older one.

#![cfg(feature = "std")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use atomic_breaker::{
    CircuitBreaker, Clock, Config, Outcome, Settled, State, Timestamp, Window, WindowTotals,
};

const THREADS: u64 = 4;
const EVENTS: u64 = if cfg!(miri) {
    20
} else if cfg!(debug_assertions) {
    100_000
} else {
    2_000_000
};

/// A clock that the threads advance themselves: some nanoseconds per event.
#[derive(Clone, Default)]
struct Shared(Arc<AtomicU64>);

impl Clock for Shared {
    fn now(&self) -> Timestamp {
        Timestamp::from_nanos(self.0.load(Ordering::Relaxed))
    }
}

fn breaker(window: Window) -> (CircuitBreaker<Shared>, Shared) {
    let clock = Shared::default();
    let config = Config::builder()
        .failure_rate(1.0, if let Window::Calls(calls) = window { calls } else { u32::MAX }, window)
        .slow_calls(Duration::from_secs(1), 1.0)
        .recovery_timeout(Duration::from_millis(1))
        .build()
        .unwrap();
    (CircuitBreaker::with_clock(config, clock.clone()), clock)
}

/// These calls fail, the others succeed.
fn fails(number: u64) -> bool {
    number.is_multiple_of(301)
}

/// These calls are slow.
fn is_slow(number: u64) -> bool {
    number.is_multiple_of(503)
}

fn record(breaker: &CircuitBreaker<Shared>, number: u64) -> Settled {
    let outcome = if fails(number) { Outcome::Failure } else { Outcome::Success };
    let took = Duration::from_secs(u64::from(is_slow(number)));
    breaker.try_acquire().unwrap().record_after(outcome, took)
}

fn on_all_threads(run: impl Fn(u64) + Sync) {
    let start = Barrier::new(THREADS as usize);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (start, run) = (&start, &run);
            scope.spawn(move || {
                start.wait();
                run(thread);
            });
        }
    });
}

fn totals<C: Clock>(breaker: &CircuitBreaker<C>) -> WindowTotals {
    breaker.snapshot().window().unwrap()
}

#[test]
fn no_event_is_lost_or_counted_twice_in_a_window_of_time() {
    // Time goes on all the while, but not beyond the window.
    let window = Window::Time { length: Duration::from_secs(2), buckets: 2_000 };
    let (breaker, clock) = breaker(window);
    let step = 1_900_000_000 / (THREADS * EVENTS);
    on_all_threads(|thread| {
        for number in 0..EVENTS {
            clock.0.fetch_add(step, Ordering::Relaxed);
            assert_eq!(record(&breaker, thread + number * THREADS), Settled::Applied);
        }
    });
    let all = 0..THREADS * EVENTS;
    let totals = totals(&breaker);
    assert_eq!(totals.total(), all.end);
    assert_eq!(totals.failures(), all.clone().filter(|number| fails(*number)).count() as u64);
    assert_eq!(totals.slow_calls(), all.filter(|number| is_slow(*number)).count() as u64);
}

#[test]
fn what_is_left_of_many_turns_is_what_the_last_buckets_got() {
    // Two buckets of one millisecond, which pass some hundred times. Each thread counts what it recorded in which.
    let window = Window::Time { length: Duration::from_millis(2), buckets: 2 };
    let (breaker, clock) = breaker(window);
    let turns = if cfg!(miri) { 3 } else { 300 };
    for turn in 0..turns {
        on_all_threads(|thread| {
            for number in 0..=(EVENTS / 1_000) {
                record(&breaker, thread + number * THREADS);
            }
        });
        let each = EVENTS / 1_000 + 1;
        let last = if turn % 3 == 1 { 2 } else { 1 };
        assert_eq!(totals(&breaker).total(), each * THREADS * last);
        // To the next bucket, then beyond the window, then far beyond.
        let ms = [1, 2, 4_096][turn % 3];
        clock.0.fetch_add(ms * 1_000_000, Ordering::Relaxed);
    }
}

#[test]
fn no_event_is_lost_or_counted_twice_in_a_window_of_calls() {
    let calls = if cfg!(miri) { 80 } else { 60_000 };
    let (breaker, _) = breaker(Window::Calls(calls));
    let each = u64::from(calls) / THREADS;
    on_all_threads(|thread| {
        for number in 0..each {
            record(&breaker, thread + number * THREADS);
        }
    });
    let totals_full = totals(&breaker);
    let all = 0..each * THREADS;
    assert_eq!(totals_full.total(), all.end);
    assert_eq!(totals_full.failures(), all.clone().filter(|number| fails(*number)).count() as u64);
    assert_eq!(totals_full.slow_calls(), all.filter(|number| is_slow(*number)).count() as u64);

    // Then successes only, more than the window holds and the ring has blocks for.
    on_all_threads(|_| {
        for _ in 0..EVENTS.max(each) {
            breaker.try_acquire().unwrap().success();
        }
    });
    let totals = totals(&breaker);
    assert_eq!((totals.total(), totals.failures(), totals.slow_calls()), (u64::from(calls), 0, 0));
}

#[test]
fn after_the_storm_of_resets_a_window_holds_what_came_last() {
    for window in [Window::Calls(1_000), Window::Time { length: Duration::from_secs(1), buckets: 10 }] {
        let (breaker, _) = breaker(window);
        let rounds = if cfg!(miri) { 2 } else { 200 };
        for _ in 0..rounds {
            on_all_threads(|thread| {
                for number in 0..20 {
                    if thread == 0 && number % 5 == 0 {
                        breaker.reset();
                    }
                    record(&breaker, 1 + 3 * number);
                }
            });
            breaker.reset();
            assert_eq!(totals(&breaker).total(), 0, "clearing leaves nothing");
            let mine = 7;
            for _ in 0..mine {
                record(&breaker, 1);
            }
            assert_eq!(totals(&breaker).total(), mine, "and erases nothing newer");
        }
    }
}

#[test]
fn failures_that_reach_the_rate_together_open_once() {
    for window in [Window::Calls(64), Window::Time { length: Duration::from_secs(1), buckets: 10 }] {
        let config = Config::builder()
            .failure_rate(1.0, THREADS as u32, window)
            .recovery_timeout(Duration::from_millis(1))
            .build()
            .unwrap();
        let clock = Shared::default();
        let breaker = CircuitBreaker::with_clock(config, clock);
        let rounds = if cfg!(miri) { 3 } else { 2_000 };
        for _ in 0..rounds {
            let opened = AtomicU64::new(0);
            on_all_threads(|_| {
                let permit = breaker.try_acquire();
                if permit.is_ok_and(|permit| permit.failure() == Settled::Opened) {
                    opened.fetch_add(1, Ordering::Relaxed);
                }
            });
            assert_eq!((opened.into_inner(), breaker.state()), (1, State::Open));
            breaker.reset();
        }
    }
}
