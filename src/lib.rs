//! A lock-free circuit breaker. The whole circuit (state, failure count, open timestamp, half-open slots) is one
//! `AtomicU64`; every change is one compare-and-swap; a call of a healthy circuit costs two loads.
//!
//! ```
//! use std::io;
//! use std::time::Duration;
//! use atomic_breaker::{CircuitBreaker, Config, Error};
//!
//! let breaker = CircuitBreaker::new(
//!     Config::builder()
//!         .name("orders")
//!         .failure_threshold(5)
//!         .recovery_timeout(Duration::from_secs(10))
//!         .build()?,
//! );
//!
//! # fn fetch() -> io::Result<String> { Ok("order 1".to_owned()) }
//! match breaker.call(fetch) {
//!     Ok(order) => println!("{order}"),
//!     Err(Error::Rejected(rejected)) => println!("not now: {rejected}"), // circuit "orders" is open, next probe in 9.8s
//!     Err(Error::Inner(error)) => println!("failed: {error}"),
//! }
//! # Ok::<(), atomic_breaker::ConfigError>(())
//! ```
//!
//! # States
//!
//! | state | calls | leaves it |
//! |---|---|---|
//! | [`Closed`](State::Closed) | pass; failures in a row are counted, or the calls of a window | at `failure_threshold`, or at a rate: opens |
//! | [`Open`](State::Open) | are rejected | after the wait: the next call half-opens it and is its first probe |
//! | [`HalfOpen`](State::HalfOpen) | at most `half_open_max_calls` pass at once | `success_threshold` successes: closes; the first failure: opens |
//! | [`ForcedOpen`](State::ForcedOpen) | are rejected | [`reset`](CircuitBreaker::reset), [`trip`](CircuitBreaker::trip) |
//! | [`ForcedClosed`](State::ForcedClosed) | pass; nothing is counted | [`reset`](CircuitBreaker::reset), [`trip`](CircuitBreaker::trip) |
//!
//! # What cannot happen
//!
//! - **A late result decides.** A permit knows the period in which it was granted. Once that is over, its outcome is
//!   [`Stale`](Settled::Stale) and changes nothing, not even a slot count.
//! - **A stampede of probes.** The call that half-opens the circuit takes the first slot in the same compare-and-swap.
//! - **A circuit stuck half-open.** A dropped permit (cancelled future, panic, early return) gives its slot back. One
//!   that hangs is written off after [`probe_timeout`](ConfigBuilder::probe_timeout), by default the last wait; if it
//!   reports after all, its outcome still counts.
//! - **An early probe.** Waits are rounded up. On an exact clock, `sleep(retry_after)`, then
//!   [`try_acquire`](CircuitBreaker::try_acquire), finds the wait over.
//! - **A verdict on old news.** A window forgets call by call or bucket by bucket, and altogether when the circuit
//!   closes. Nothing is cleared: what an older period recorded, however late, is never counted in a newer one.
//! - **A lost or doubled event.** Each transition is reported once, by the thread whose compare-and-swap made it.
//!
//! # When it opens
//!
//! | you know | use |
//! |---|---|
//! | that so many failures in a row mean it is down | [`failure_threshold`](ConfigBuilder::failure_threshold), the default and the cheapest: a success writes nothing |
//! | which share of failures is too much | [`failure_rate`](ConfigBuilder::failure_rate) over a [`Window`] of time; its recorders do not slow each other down |
//! | that, of a fixed number of calls | [`failure_rate`](ConfigBuilder::failure_rate) over a [`Window`] of calls |
//! | that slow is as bad as failed | [`slow_calls`](ConfigBuilder::slow_calls) in addition |
//!
//! # Which call form
//!
//! | your code | use |
//! |---|---|
//! | a closure, a function | [`call`](CircuitBreaker::call), [`wrap`](CircuitBreaker::wrap) |
//! | some errors are not the upstream's fault | [`call_with`](CircuitBreaker::call_with) and [`failure_if`], [`success_unless`] |
//! | a future | [`call_async`](CircuitBreaker::call_async), [`call_async_with`](CircuitBreaker::call_async_with) |
//! | an error type of your own with a place for [`Rejected`] | [`call_into`](CircuitBreaker::call_into), [`call_async_into`](CircuitBreaker::call_async_into), [`Error::absorb`] |
//! | the call ends where it began | [`try_acquire`](CircuitBreaker::try_acquire) and [`Permit`] |
//! | the call ends elsewhere (a body, a stream, a task) | [`try_acquire_owned`](CircuitBreaker::try_acquire_owned) and [`OwnedPermit`] |
//! | a breaker, a word or a runtime of your own | [`engine`] |
//!
//! Retries go inside the protected call: a logical call is one outcome, however often it was tried.
//!
//! # Time
//!
//! A breaker reads its own [`Clock`], and only where time matters: to reject, to probe, to open, to find the bucket of a
//! window, to measure a call if slow calls count. [`QuantaClock`] is
//! the default, [`CoarseClock`] makes a rejection cheaper, [`ManualClock`] is for tests, and any closure that returns
//! a [`Timestamp`] will do. A clock that steps back makes a wait longer by the step, never shorter; a window of time may
//! ignore calls until it has caught up.
//!
//! # Features
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `std` | yes | [`CircuitBreaker`], its clocks, configuration and observers (quanta, arc-swap, crossbeam-utils, pin-project-lite) |
//! | `portable-atomic` | | the engine on targets without 64-bit atomics |
//!
//! Without features, the [`engine`] is left: `no_std`, no dependency.
//!
//! # Limits
//!
//! Counts are bounded by their fields: 4095 failures, 63 slots, 63 successes. Times are whole milliseconds. Those who
//! keep a circuit for years, or permits for days, read [the limits of the word](engine#limits-of-the-word).

#![cfg_attr(not(any(feature = "std", test)), no_std)]
// Without `std`, the docs name items that are not there.
#![cfg_attr(not(feature = "std"), allow(rustdoc::broken_intra_doc_links))]

// For loom's models of the windows.
#[cfg(all(loom, feature = "loom", not(feature = "std")))]
extern crate alloc;

#[cfg(feature = "std")]
mod breaker;
mod cell;
mod clock;
#[cfg(feature = "std")]
mod config;
pub mod engine;
mod error;
#[cfg(feature = "std")]
mod future;
mod limits;
#[cfg(feature = "std")]
mod observe;
mod outcome;
#[cfg(feature = "std")]
mod permit;
#[cfg(feature = "std")]
mod snapshot;
mod state;
mod sync;
mod transition;
#[cfg(any(feature = "std", all(loom, feature = "loom")))]
mod window;
mod word;
#[cfg(feature = "std")]
mod wrap;

#[cfg(feature = "std")]
pub use crate::{
    breaker::CircuitBreaker,
    clock::{CoarseClock, CoarseClockError, ManualClock, QuantaClock},
    config::{Config, ConfigBuilder, FailureRate, SlowCalls, Window},
    observe::{Cause, Observer, Transition},
    permit::{OwnedPermit, Permit},
    snapshot::{Snapshot, WindowTotals},
    wrap::Callable,
};
pub use crate::{
    clock::{Clock, Timestamp},
    error::{ConfigError, ConfigErrorKind, Error, Reason, Rejected, Value},
    limits::{Backoff, ProbeTimeout},
    outcome::{Outcome, Settled, any_error, failure_if, success_unless},
    state::State,
};

#[cfg(all(doctest, feature = "std"))]
#[doc = include_str!("../README.md")]
struct Readme;
