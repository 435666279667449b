//! What the public interface promises, sentence by sentence.

#![cfg(feature = "std")]

mod calls;
mod clocks;
mod config;
mod control;
mod errors;
mod futures;
mod names;
mod observers;
mod permits;
mod shapes;
mod unruly;

use std::time::Duration;

use atomic_breaker::{CircuitBreaker, Config, ConfigBuilder, ManualClock};

/// The recovery timeout of [`strict`].
const WAIT: Duration = Duration::from_millis(100);

/// One failure opens the circuit.
fn strict() -> ConfigBuilder {
    Config::builder().failure_threshold(1).recovery_timeout(WAIT)
}

fn breaker(config: ConfigBuilder) -> (CircuitBreaker<ManualClock>, ManualClock) {
    let clock = ManualClock::new();
    (CircuitBreaker::with_clock(config.build().unwrap(), clock.clone()), clock)
}

/// The last moment before `time`.
fn just_before(time: Duration) -> Duration {
    time.checked_sub(Duration::from_nanos(1)).unwrap()
}

/// A breaker whose next call is its first probe.
fn probing(config: ConfigBuilder) -> (CircuitBreaker<ManualClock>, ManualClock) {
    let (breaker, clock) = breaker(config);
    breaker.trip();
    clock.advance(breaker.config().recovery_timeout());
    (breaker, clock)
}
