//! Results of an older period, while a newer one begins.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use atomic_breaker::{CircuitBreaker, Config, ManualClock, Outcome, Permit, Settled, State};

use crate::rounds;

const WAIT: Duration = Duration::from_millis(10);

#[test]
fn whoever_reports_after_a_reset_is_stale_and_counts_nothing() {
    for round in 0..rounds(1_000) {
        let config = Config::builder().failure_threshold(1_000).build().unwrap();
        let breaker = CircuitBreaker::with_clock(config, ManualClock::new());
        breaker.try_acquire().unwrap().failure();
        let is_reset = AtomicBool::new(false);
        let late = AtomicU32::new(0);
        thread::scope(|scope| {
            for thread in 0..3 {
                let permits: Vec<_> = (0..20).map(|_| breaker.try_acquire().unwrap()).collect();
                let (is_reset, late) = (&is_reset, &late);
                scope.spawn(move || {
                    for permit in permits {
                        let after = is_reset.load(Ordering::Acquire);
                        // No success: it would leave nothing to reset.
                        let outcome =
                            if (round + thread) % 2 == 0 { Outcome::Failure } else { Outcome::Ignored };
                        let settled = permit.record(outcome);
                        assert!(!after || settled == Settled::Stale);
                        late.fetch_add(u32::from(settled == Settled::Stale), Ordering::Relaxed);
                    }
                });
            }
            scope.spawn(|| {
                breaker.reset();
                is_reset.store(true, Ordering::Release);
            });
        });
        assert_eq!(breaker.snapshot().failures(), 0, "all of them were of the older period");
        assert_eq!(breaker.snapshot().state(), State::Closed);
        assert!(late.into_inner() <= 60);
    }
}

#[test]
fn of_many_probes_that_fail_at_once_one_opens_the_circuit() {
    for _ in 0..rounds(1_000) {
        let clock = ManualClock::new();
        let config = Config::builder()
            .recovery_timeout(WAIT)
            .half_open_max_calls(4)
            .success_threshold(4)
            .build()
            .unwrap();
        let breaker = CircuitBreaker::with_clock(config, clock.clone());
        breaker.trip();
        clock.advance(WAIT);
        let permits: Vec<_> = (0..4).map(|_| breaker.try_acquire().unwrap()).collect();
        let answers: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> =
                permits.into_iter().map(|permit| scope.spawn(move || permit.failure())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let count = |settled| answers.iter().filter(|answer| **answer == settled).count();
        assert_eq!((count(Settled::Opened), count(Settled::Stale)), (1, 3));
        assert_eq!(breaker.snapshot().reopens(), 1);
    }
}

#[test]
fn of_many_failures_at_once_exactly_the_threshold_is_counted() {
    for _ in 0..rounds(1_000) {
        let config = Config::builder().failure_threshold(5).build().unwrap();
        let breaker = CircuitBreaker::with_clock(config, ManualClock::new());
        let mut permits: Vec<_> = (0..8).map(|_| breaker.try_acquire().unwrap()).collect();
        let answers: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    let two = permits.split_off(permits.len() - 2);
                    scope.spawn(move || two.into_iter().map(Permit::failure).collect::<Vec<_>>())
                })
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        let count = |settled| answers.iter().filter(|answer| **answer == settled).count();
        assert_eq!((count(Settled::Applied), count(Settled::Opened), count(Settled::Stale)), (4, 1, 3));
    }
}
