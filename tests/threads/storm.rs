//! Everything at once.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, OnceLock, Weak};
use std::thread;
use std::time::Duration;

use atomic_breaker::{
    CircuitBreaker, Clock, Config, ConfigBuilder, ManualClock, Observer, Outcome, OwnedPermit, QuantaClock,
    Rejected, Transition,
};

use crate::ledger::{Ledger, Tally};
use crate::{Dice, rounds};

const THREADS: u32 = 4;

#[test]
fn books_balance_and_events_form_a_chain_after_many_short_storms() {
    for round in 0..rounds(1_000) {
        let ledger = Arc::new(Ledger::default());
        let clock = ManualClock::new();
        let config = config(round, &ledger);
        let breaker = Arc::new(CircuitBreaker::with_clock(config.build_clamped(), clock.clone()));
        // Each step makes two transitions at most, and turns are told apart up to 255.
        let told = storm(&breaker, round, 31, |dice, breaker| match dice.roll(24) {
            0..=7 => clock.advance(Duration::from_micros(dice.roll(1_500))),
            other => control(other, round, &ledger, breaker),
        });
        ledger.balance(&breaker, told);
        ledger.assert_chain(breaker.snapshot().state());
    }
}

#[test]
#[cfg_attr(miri, ignore = "quanta reads the time stamp counter")]
fn books_balance_after_a_long_storm_on_the_real_clock() {
    let ledger = Arc::new(Ledger::default());
    let breaker: CircuitBreaker<QuantaClock> = CircuitBreaker::new(config(3, &ledger).build_clamped());
    let breaker = Arc::new(breaker);
    let told = storm(&breaker, 7, 50_000, |dice, breaker| control(dice.roll(200), 3, &ledger, breaker));
    ledger.balance(&breaker, told);
    assert!(told.opened > 0 && told.rejected > 0);
}

#[test]
fn an_observer_that_panics_and_comes_back_in_harms_nobody() {
    for round in 0..rounds(200) {
        let ledger = Arc::new(Ledger::default());
        let meddler = Arc::new(Meddler { ledger: Arc::clone(&ledger), breaker: OnceLock::new() });
        let clock = ManualClock::new();
        let config = config(round, &ledger).observer(Arc::clone(&meddler)).build_clamped();
        let breaker = Arc::new(CircuitBreaker::with_clock(config, clock.clone()));
        assert!(meddler.breaker.set(Arc::downgrade(&breaker)).is_ok());
        let told =
            storm(&breaker, round, if cfg!(miri) { 40 } else { 200 }, |dice, breaker| match dice.roll(3) {
                0 => breaker.trip(),
                _ => clock.advance(Duration::from_micros(dice.roll(1_500))),
            });
        ledger.balance(&breaker, told);
        assert!(ledger.count() > 0);
    }
}

thread_local! {
    static MEDDLING: Cell<bool> = const { Cell::new(false) };
}

/// Tells the ledger, looks at the breaker from inside, meddles with it, and panics.
struct Meddler {
    ledger: Arc<Ledger>,
    breaker: OnceLock<Weak<CircuitBreaker<ManualClock>>>,
}

impl Observer for Meddler {
    fn on_transition(&self, transition: &Transition) {
        self.ledger.on_transition(transition);
        let breaker = self.breaker.get().and_then(Weak::upgrade).unwrap();
        let _ = (breaker.state(), breaker.snapshot(), breaker.peek(), breaker.config());
        // Its own events come in here as well, and are let alone: only so many levels of them are told.
        if !MEDDLING.replace(true) {
            match transition.turn() % 8 {
                1 => breaker.reset(),
                2 => breaker.force_closed(),
                3 => breaker.trip(),
                _ => {}
            }
            MEDDLING.set(false);
        }
        resume_unwind(Box::new("an observer's panic"));
    }

    fn on_rejected(&self, rejected: &Rejected) {
        self.ledger.on_rejected(rejected);
        resume_unwind(Box::new("an observer's panic"));
    }
}

fn config(round: u32, ledger: &Arc<Ledger>) -> ConfigBuilder {
    let config = Config::builder()
        .failure_threshold(1 + round % 3)
        .recovery_timeout(Duration::from_millis(1))
        .success_threshold(1 + round / 2 % 3)
        .observer(Arc::clone(ledger));
    match round % 7 {
        0 => config.half_open_unlimited(),
        1 => config.half_open_max_calls(1).probe_timeout_never(),
        2 => config.half_open_max_calls(2).probe_timeout(Duration::from_millis(2)),
        3 => config.half_open_max_calls(3).backoff(1.5, Duration::from_millis(3)),
        slots => config.half_open_max_calls(slots).jitter(0.5),
    }
}

fn control<C: Clock>(which: u64, round: u32, ledger: &Arc<Ledger>, breaker: &CircuitBreaker<C>) {
    match which {
        8 => breaker.trip(),
        9 => breaker.reset(),
        10 => breaker.force_open(),
        11 => breaker.force_closed(),
        12 => breaker.reconfigure(config(round + 1, ledger).build_clamped()).unwrap(),
        13 => breaker.reconfigure(config(round, ledger).build_clamped()).unwrap(),
        _ => {}
    }
}

/// Lets each thread do so many steps, and `aside` before each.
fn storm<C: Clock + Send + Sync>(
    breaker: &Arc<CircuitBreaker<C>>,
    seed: u32,
    steps: u32,
    aside: impl Fn(&mut Dice, &CircuitBreaker<C>) + Sync,
) -> Tally {
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let aside = &aside;
                scope.spawn(move || {
                    let mut dice = Dice::new(seed * THREADS + thread);
                    let mut tally = Tally::default();
                    let mut held = Vec::new();
                    for _ in 0..steps {
                        if dice.roll(4) == 0 {
                            aside(&mut dice, breaker);
                        } else {
                            step(&mut dice, breaker, &mut tally, &mut held);
                        }
                    }
                    for permit in held {
                        tally.settled(permit.failure());
                    }
                    tally
                })
            })
            .collect();
        Tally::sum(threads.into_iter().map(|thread| thread.join().unwrap()))
    })
}

fn step<C: Clock>(
    dice: &mut Dice,
    breaker: &Arc<CircuitBreaker<C>>,
    tally: &mut Tally,
    held: &mut Vec<OwnedPermit<C>>,
) {
    match dice.roll(10) {
        // An own permit, kept for a while.
        0..=3 => match breaker.try_acquire_owned() {
            Ok(permit) => {
                tally.admitted += 1;
                held.push(permit);
            }
            Err(_) => tally.rejected += 1,
        },
        4 => {
            tally.dropped += u64::from(held.pop().is_some());
        }
        // A caller that panics.
        5 => {
            let call = || breaker.call(|| -> Result<(), ()> { resume_unwind(Box::new("a caller's panic")) });
            if let Ok(rejected) = catch_unwind(AssertUnwindSafe(call)) {
                tally.rejected += u64::from(rejected.unwrap_err().is_rejected());
            } else {
                tally.admitted += 1;
                tally.dropped += 1;
            }
        }
        6 => match breaker.try_acquire() {
            Ok(permit) => {
                tally.admitted += 1;
                tally.settled(permit.record(outcome(dice)));
            }
            Err(_) => tally.rejected += 1,
        },
        _ => {
            if !held.is_empty() {
                let permit = held.swap_remove(dice.roll(held.len() as u64) as usize);
                tally.settled(permit.record(outcome(dice)));
            }
        }
    }
}

fn outcome(dice: &mut Dice) -> Outcome {
    [Outcome::Success, Outcome::Failure, Outcome::Ignored][dice.roll(3) as usize]
}
