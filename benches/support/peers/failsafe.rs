//! failsafe: a mutex around a state machine; with its policy of consecutive failures where nothing else is said.

use std::hint::black_box;
use std::iter::Repeat;
use std::time::Duration;

use ::failsafe::failure_policy::{
    ConsecutiveFailures, SuccessRateOverTimeWindow, consecutive_failures, success_rate_over_time_window,
};
use ::failsafe::{CircuitBreaker, Config, StateMachine, backoff, futures};

use crate::support::Work;
use crate::support::upstream::{answer, block_on, refuse};

pub(crate) fn permit_success() -> Work {
    let breaker = breaker(5, HOUR);
    Work::new(move || {
        let admitted = breaker.is_call_permitted();
        black_box(());
        if admitted {
            breaker.on_success();
        }
        admitted
    })
}

pub(crate) fn call_success() -> Work {
    let breaker = breaker(5, HOUR);
    Work::new(move || breaker.call(|| answer(7)))
}

pub(crate) fn call_async_success() -> Work {
    let breaker = breaker(5, HOUR);
    Work::new(move || block_on(futures::CircuitBreaker::call(&breaker, async { answer(7) })))
}

pub(crate) fn call_failure() -> Work {
    let breaker = breaker(u32::MAX, HOUR);
    Work::new(move || breaker.call(|| refuse(503)))
}

pub(crate) fn reject() -> Work {
    let breaker = breaker(1, HOUR);
    breaker.on_error();
    assert!(!breaker.is_call_permitted());
    Work::new(move || breaker.is_call_permitted())
}

pub(crate) fn cycle() -> Work {
    let breaker = breaker(1, Duration::ZERO);
    Work::new(move || (breaker.call(|| refuse(503)), breaker.call(|| answer(7))))
}

/// Its window of time, with a success rate that cannot be missed.
pub(crate) fn window_success() -> Work {
    let breaker = windowed();
    Work::new(move || breaker.call(|| answer(7)))
}

pub(crate) fn window_failure() -> Work {
    let breaker = windowed();
    Work::new(move || breaker.call(|| refuse(503)))
}

const HOUR: Duration = Duration::from_secs(3600);

fn breaker(failures: u32, wait: Duration) -> StateMachine<ConsecutiveFailures<Repeat<Duration>>, ()> {
    Config::new().failure_policy(consecutive_failures(failures, backoff::constant(wait))).build()
}

fn windowed() -> StateMachine<SuccessRateOverTimeWindow<Repeat<Duration>>, ()> {
    let backoff = backoff::constant(HOUR);
    let policy = success_rate_over_time_window(0.0, 1, Duration::from_secs(10), backoff);
    Config::new().failure_policy(policy).build()
}
