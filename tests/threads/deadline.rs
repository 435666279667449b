//! Many threads at the very moment at which a wait or a lease is over.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use atomic_breaker::{CircuitBreaker, Config, ManualClock, Outcome, OwnedPermit, Reason, State};

use crate::ledger::Ledger;
use crate::rounds;

const THREADS: usize = 6;
const WAIT: Duration = Duration::from_millis(10);

#[test]
fn at_the_end_of_the_wait_exactly_the_slots_are_admitted() {
    for slots in [1, 2, 3, 5] {
        let race = Race::new(slots);
        let events = Arc::clone(&race.events);
        race.run(|race, round| {
            race.breaker.reset();
            race.breaker.trip();
            assert!(race.breaker.peek().is_err());
            let before = events.count();
            race.clock.advance(WAIT);
            let permits = race.start();
            assert_eq!(permits.len(), slots as usize);
            assert_eq!(race.breaker.snapshot().probes_in_flight(), slots);
            assert_eq!(events.count(), before + 1, "one thread half-opened the circuit");
            for permit in permits {
                permit.record(if round % 2 == 0 { Outcome::Success } else { Outcome::Failure });
            }
        });
    }
}

#[test]
fn at_the_end_of_the_lease_exactly_the_slots_are_admitted() {
    for slots in [1, 2, 3, 5] {
        let race = Race::new(slots);
        race.run(|race, _| {
            race.breaker.reset();
            race.breaker.trip();
            race.clock.advance(WAIT);
            let overdue: Vec<_> = (0..slots).map(|_| race.breaker.try_acquire_owned().unwrap()).collect();
            assert_eq!(race.breaker.try_acquire().unwrap_err().reason(), Reason::HalfOpen);
            race.clock.advance(WAIT);
            let permits = race.start();
            assert_eq!(permits.len(), slots as usize);
            drop(overdue);
            let in_flight = race.breaker.snapshot().probes_in_flight();
            assert_eq!(in_flight, slots, "those written off have nothing to give back");
            drop(permits);
            assert_eq!(race.breaker.snapshot().probes_in_flight(), 0);
            assert_eq!(race.breaker.snapshot().state(), State::HalfOpen);
        });
    }
}

#[test]
fn while_probes_come_and_go_no_more_than_the_slots_are_in_flight() {
    const SLOTS: u32 = 3;
    let clock = ManualClock::new();
    let config = Config::builder()
        .recovery_timeout(WAIT)
        .half_open_max_calls(SLOTS)
        .success_threshold(63)
        .probe_timeout_never()
        .build()
        .unwrap();
    let breaker = CircuitBreaker::with_clock(config, clock.clone());
    breaker.trip();
    clock.advance(WAIT);
    let (flying, most) = (AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..rounds(20_000) {
                    let Ok(permit) = breaker.try_acquire() else {
                        continue;
                    };
                    let now = flying.fetch_add(1, Ordering::SeqCst) + 1;
                    most.fetch_max(now, Ordering::SeqCst);
                    flying.fetch_sub(1, Ordering::SeqCst);
                    permit.ignore();
                }
            });
        }
    });
    assert!((1..=SLOTS).contains(&most.into_inner()));
    assert_eq!(breaker.snapshot().probes_in_flight(), 0);
}

struct Race {
    breaker: Arc<CircuitBreaker<ManualClock>>,
    clock: ManualClock,
    events: Arc<Ledger>,
    gate: Barrier,
    done: AtomicBool,
    admitted: std::sync::Mutex<Vec<OwnedPermit<ManualClock>>>,
}

impl Race {
    fn new(slots: u32) -> Self {
        let (clock, events) = (ManualClock::new(), Arc::new(Ledger::default()));
        let config = Config::builder()
            .recovery_timeout(WAIT)
            .half_open_max_calls(slots)
            .success_threshold(slots)
            .observer(Arc::clone(&events))
            .build()
            .unwrap();
        Self {
            breaker: Arc::new(CircuitBreaker::with_clock(config, clock.clone())),
            clock,
            events,
            gate: Barrier::new(THREADS + 1),
            done: AtomicBool::new(false),
            admitted: std::sync::Mutex::default(),
        }
    }

    fn run(&self, round: impl Fn(&Self, u32)) {
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| self.compete());
            }
            for index in 0..rounds(1_000) {
                round(self, index);
            }
            self.done.store(true, Ordering::Release);
            self.gate.wait();
        });
    }

    /// Lets all threads ask at once; the permits of those that were admitted.
    fn start(&self) -> Vec<OwnedPermit<ManualClock>> {
        self.gate.wait();
        self.gate.wait();
        std::mem::take(&mut self.admitted.lock().unwrap())
    }

    fn compete(&self) {
        loop {
            self.gate.wait();
            if self.done.load(Ordering::Acquire) {
                return;
            }
            let answer = self.breaker.try_acquire_owned();
            if let Ok(permit) = answer {
                self.admitted.lock().unwrap().push(permit);
            }
            self.gate.wait();
        }
    }
}
