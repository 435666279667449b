//! A configuration that is replaced while others decide by it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use atomic_breaker::{CircuitBreaker, Config, ConfigBuilder, ManualClock, Observer, Reason, Rejected};

use crate::rounds;

/// A configuration, and what its rejections say after one failed half-open period: open, half-open.
type Row = (ConfigBuilder, u64, u64);

/// Every wait and every lease is another, and so are those that mixtures would have.
fn rows() -> [Row; 5] {
    let config = |wait| Config::builder().failure_threshold(1).recovery_timeout(seconds(wait));
    [
        (config(10), 10, 10),
        (config(20).backoff(2.0, seconds(100)), 40, 40),
        (config(30).probe_timeout(seconds(5)), 30, 5),
        (config(50).backoff(3.0, seconds(1_000)).probe_timeout(seconds(7)), 150, 7),
        (config(60).backoff(1.5, seconds(1_000)), 90, 90),
    ]
}

#[test]
fn an_open_circuit_rejects_by_one_configuration_or_the_other() {
    check(Reason::Open, |(_, open, _)| *open);
}

#[test]
fn a_half_open_circuit_rejects_by_one_configuration_or_the_other() {
    check(Reason::HalfOpen, |(_, _, half_open)| *half_open);
}

fn check(reason: Reason, answer: impl Fn(&Row) -> u64) {
    let (breaker, legal) = prepared(reason, answer);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut seen = BTreeSet::new();
                while !done.load(Ordering::Acquire) {
                    let rejected = breaker.try_acquire().expect_err("time stands still");
                    assert_eq!(rejected.reason(), reason);
                    seen.insert(rejected.retry_after().unwrap());
                }
                assert!(seen.is_subset(&legal), "{seen:?}, legal is {legal:?}");
            });
        }
        for round in 0..rounds(20_000) {
            let (config, ..) = &rows()[(round * round + round / 3) as usize % 5];
            breaker.reconfigure(config.clone().build_clamped()).unwrap();
        }
        done.store(true, Ordering::Release);
    });
}

/// The waits of the back-off steps are kept when a configuration without back-off comes in.
#[test]
fn the_back_off_before_last_is_never_gone_by() {
    let (breaker, _) = prepared(Reason::HalfOpen, |(_, _, half_open)| *half_open);
    let [without, long_ago, .., now] = rows().map(|(config, ..)| config.build_clamped());
    let legal = [Some(seconds(10)), Some(seconds(90))];
    let illegal = AtomicU64::new(0);
    let (gate, asking, done) = (Barrier::new(3), AtomicBool::new(true), AtomicBool::new(false));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    gate.wait();
                    if done.load(Ordering::Acquire) {
                        return;
                    }
                    while asking.load(Ordering::Acquire) {
                        let left = breaker.try_acquire().unwrap_err().retry_after();
                        illegal.fetch_add(u64::from(!legal.contains(&left)), Ordering::Relaxed);
                    }
                    gate.wait();
                }
            });
        }
        for _ in 0..rounds(5_000) {
            breaker.reconfigure(long_ago.clone()).unwrap();
            breaker.reconfigure(without.clone()).unwrap();
            asking.store(true, Ordering::Release);
            gate.wait();
            breaker.reconfigure(now.clone()).unwrap();
            asking.store(false, Ordering::Release);
            gate.wait();
        }
        done.store(true, Ordering::Release);
        gate.wait();
    });
    assert_eq!(illegal.into_inner(), 0);
}

#[test]
fn in_and_out_of_shadow_mode_each_call_is_told_off_once() {
    let told = Arc::new(Told::default());
    let (breaker, _) = prepared(Reason::Open, |(_, open, _)| *open);
    let shadow = |shadow| {
        let config = Config::builder().recovery_timeout(seconds(10)).shadow(shadow);
        config.observer(Arc::clone(&told)).build().unwrap()
    };
    breaker.reconfigure(shadow(false)).unwrap();
    let (done, asked) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Acquire) {
                    asked.fetch_add(1, Ordering::Relaxed);
                    match breaker.try_acquire() {
                        Ok(permit) => assert_eq!(permit.failure(), atomic_breaker::Settled::Stale),
                        Err(rejected) => assert_eq!(rejected.reason(), Reason::Open),
                    }
                }
            });
        }
        for round in 0..rounds(10_000) {
            breaker.reconfigure(shadow(round % 2 == 0)).unwrap();
        }
        done.store(true, Ordering::Release);
    });
    assert_eq!(told.0.load(Ordering::Relaxed), asked.into_inner());
}

#[test]
fn of_many_that_reconfigure_one_wins_in_every_place() {
    for _ in 0..rounds(500) {
        let (breaker, _) = prepared(Reason::Open, |(_, open, _)| *open);
        thread::scope(|scope| {
            for (config, ..) in rows() {
                let breaker = &breaker;
                scope.spawn(move || breaker.reconfigure(config.build_clamped()).unwrap());
            }
        });
        let wait = breaker.config().recovery_timeout();
        let winner = rows().into_iter().find(|row| row.0.clone().build_clamped().recovery_timeout() == wait);
        let expected = winner.map(|(_, open, _)| seconds(open));
        assert_eq!(breaker.try_acquire().unwrap_err().retry_after(), expected);
    }
}

#[derive(Default)]
struct Told(AtomicU64);

impl Observer for Told {
    fn on_rejected(&self, _: &Rejected) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A breaker after one failed half-open period, open or full, at the very moment at which that began.
fn prepared(
    reason: Reason,
    answer: impl Fn(&Row) -> u64,
) -> (CircuitBreaker<ManualClock>, BTreeSet<Duration>) {
    let clock = ManualClock::new();
    let [(first, ..), ..] = rows();
    let breaker = CircuitBreaker::with_clock(first.build().unwrap(), clock.clone());
    breaker.trip();
    clock.advance(seconds(10));
    breaker.try_acquire().unwrap().failure();
    assert_eq!(breaker.snapshot().reopens(), 1);
    if reason == Reason::HalfOpen {
        clock.advance(seconds(10));
        std::mem::forget(breaker.try_acquire().unwrap());
    }
    (breaker, rows().iter().map(|row| seconds(answer(row))).collect())
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
