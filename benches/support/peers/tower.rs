//! tower-resilience-circuitbreaker: a tower layer around an asynchronous mutex; with its model of consecutive
//! failures where nothing else is said. Each call clones the inner service and boxes a future, as that service does.
//!
//! On one thread only: where its mutex is taken, a task waits for its runtime, and readiness sleeps a millisecond on
//! tokio's timer. Without a runtime that would measure the kernel's thread switches.

use std::future::{Ready, poll_fn, ready};
use std::task::{Context, Poll};
use std::time::Duration;

use ::tower::{Layer, Service};
use tower_resilience_circuitbreaker::{
    CircuitBreaker, CircuitBreakerError, CircuitBreakerLayer, DefaultClassifier,
};

use crate::support::upstream::{Refused, answer, block_on, refuse};
use crate::support::{Work, repeat};

pub(crate) fn call_success() -> Work {
    calls(breaker(5, HOUR, 1), Request::Answer)
}

pub(crate) fn call_failure() -> Work {
    calls(breaker(usize::MAX, HOUR, 1), Request::Refuse)
}

/// Its count of calls, which it compares with a rate of failures.
pub(crate) fn window_success() -> Work {
    calls(windowed(), Request::Answer)
}

pub(crate) fn window_failure() -> Work {
    let mut breaker = windowed();
    // With one success among them, the failures never are all of the calls.
    assert!(call(&mut breaker, Request::Answer).is_ok());
    calls(breaker, Request::Refuse)
}

pub(crate) fn reject() -> Work {
    let mut breaker = breaker(1, HOUR, 1);
    assert!(call(&mut breaker, Request::Refuse).is_err());
    assert!(call(&mut breaker, Request::Answer).is_err());
    calls(breaker, Request::Answer)
}

pub(crate) fn probe_success() -> Work {
    // More successes than a bench will ever make, and as many as its semaphore can count.
    let mut breaker = breaker(1, Duration::ZERO, usize::MAX >> 3);
    assert!(call(&mut breaker, Request::Refuse).is_err());
    calls(breaker, Request::Answer)
}

pub(crate) fn cycle() -> Work {
    let breaker = breaker(1, Duration::ZERO, 1);
    Work::whole(move |times| {
        let mut breaker = breaker.clone();
        repeat(times, || (call(&mut breaker, Request::Refuse), call(&mut breaker, Request::Answer)));
    })
}

const HOUR: Duration = Duration::from_secs(3600);

type Breaker = CircuitBreaker<Upstream, DefaultClassifier>;

fn breaker(failures: usize, wait: Duration, successes: usize) -> Breaker {
    CircuitBreakerLayer::builder()
        .consecutive_failures(failures)
        .wait_duration_in_open(wait)
        .permitted_calls_in_half_open(successes)
        .build()
        .expect("the configuration is legal")
        .layer(Upstream)
}

fn windowed() -> Breaker {
    CircuitBreakerLayer::builder()
        .failure_rate_threshold(1.0)
        .sliding_window_size(100)
        .build()
        .expect("the configuration is legal")
        .layer(Upstream)
}

/// Clones share the circuit: one for each batch, since a service is called through `&mut`.
fn calls(breaker: Breaker, request: Request) -> Work {
    Work::whole(move |times| {
        let mut breaker = breaker.clone();
        repeat(times, || call(&mut breaker, request));
    })
}

#[inline]
fn call(breaker: &mut Breaker, request: Request) -> Result<u64, CircuitBreakerError<Refused>> {
    block_on(async {
        poll_fn(|context| breaker.poll_ready(context)).await?;
        breaker.call(request).await
    })
}

#[derive(Clone, Copy)]
enum Request {
    Answer,
    Refuse,
}

#[derive(Clone)]
struct Upstream;

impl Service<Request> for Upstream {
    type Response = u64;
    type Error = Refused;
    type Future = Ready<Result<u64, Refused>>;

    #[inline]
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Refused>> {
        Poll::Ready(Ok(()))
    }

    #[inline]
    fn call(&mut self, request: Request) -> Self::Future {
        ready(match request {
            Request::Answer => answer(7),
            Request::Refuse => refuse(503),
        })
    }
}
