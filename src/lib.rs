#![doc = "placeholder"]
#![cfg_attr(not(feature = "std"), no_std)]

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
mod word;
#[cfg(feature = "std")]
mod wrap;

#[cfg(feature = "std")]
pub use crate::{
    breaker::CircuitBreaker,
    clock::{CoarseClock, CoarseClockError, ManualClock, QuantaClock},
    config::{Config, ConfigBuilder},
    observe::{Cause, Observer, Transition},
    permit::{OwnedPermit, Permit},
    snapshot::Snapshot,
    wrap::Callable,
};
pub use crate::{
    clock::{Clock, Timestamp},
    error::{ConfigError, Error, Reason, Rejected, Value},
    limits::{Backoff, ProbeTimeout},
    outcome::{Outcome, Settled, any_error, failure_if, success_unless},
    state::State,
};
