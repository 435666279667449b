//! The obvious breaker: a mutex around a state.

use std::hint::black_box;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Work;
use super::upstream::{Refused, answer, refuse};

pub(crate) fn permit_success() -> Work {
    let breaker = Breaker::leaked(Limits::default());
    Work::new(move || {
        let admitted = breaker.try_acquire();
        black_box(());
        if admitted {
            breaker.success();
        }
        admitted
    })
}

pub(crate) fn call_success() -> Work {
    let breaker = Breaker::leaked(Limits::default());
    Work::new(move || breaker.call(|| answer(7)))
}

pub(crate) fn call_failure() -> Work {
    let breaker = Breaker::leaked(Limits { failures: u32::MAX, ..Limits::default() });
    Work::new(move || breaker.call(|| refuse(503)))
}

pub(crate) fn reject() -> Work {
    let breaker = Breaker::leaked(Limits::default());
    breaker.failure();
    assert!(!breaker.try_acquire());
    Work::new(move || breaker.try_acquire())
}

pub(crate) fn probe_success() -> Work {
    let breaker = Breaker::leaked(Limits { wait: Duration::ZERO, successes: u32::MAX, ..Limits::default() });
    breaker.failure();
    Work::new(move || {
        let admitted = breaker.try_acquire();
        black_box(());
        if admitted {
            breaker.success();
        }
        admitted
    })
}

pub(crate) fn cycle() -> Work {
    let breaker = Breaker::leaked(Limits { wait: Duration::ZERO, ..Limits::default() });
    Work::new(move || (breaker.call(|| refuse(503)), breaker.call(|| answer(7))))
}

struct Breaker {
    limits: Limits,
    state: Mutex<State>,
}

struct Limits {
    failures: u32,
    successes: u32,
    wait: Duration,
}

enum State {
    Closed { failures: u32 },
    Open { since: Instant },
    HalfOpen { is_probing: bool, successes: u32 },
}

impl Default for Limits {
    fn default() -> Self {
        Self { failures: 1, successes: 1, wait: Duration::from_secs(3600) }
    }
}

impl Breaker {
    fn leaked(limits: Limits) -> &'static Self {
        Box::leak(Box::new(Self { limits, state: Mutex::new(State::Closed { failures: 0 }) }))
    }

    fn call(&self, f: impl FnOnce() -> Result<u64, Refused>) -> Option<Result<u64, Refused>> {
        if !self.try_acquire() {
            return None;
        }
        let result = f();
        match result {
            Ok(_) => self.success(),
            Err(Refused(_)) => self.failure(),
        }
        Some(result)
    }

    fn try_acquire(&self) -> bool {
        let mut state = self.lock();
        match &mut *state {
            State::Closed { .. } => true,
            State::Open { since } if since.elapsed() < self.limits.wait => false,
            State::Open { .. } => {
                *state = State::HalfOpen { is_probing: true, successes: 0 };
                true
            }
            State::HalfOpen { is_probing, .. } => !std::mem::replace(is_probing, true),
        }
    }

    fn success(&self) {
        let mut state = self.lock();
        match &mut *state {
            State::Closed { failures } => *failures = 0,
            State::Open { .. } => {}
            State::HalfOpen { is_probing, successes } => {
                *is_probing = false;
                *successes += 1;
                if *successes >= self.limits.successes {
                    *state = State::Closed { failures: 0 };
                }
            }
        }
    }

    fn failure(&self) {
        let mut state = self.lock();
        match &mut *state {
            State::Closed { failures } => {
                *failures += 1;
                if *failures >= self.limits.failures {
                    *state = State::Open { since: Instant::now() };
                }
            }
            State::Open { .. } => {}
            State::HalfOpen { .. } => *state = State::Open { since: Instant::now() },
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
