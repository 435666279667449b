//! Properties that hold for every sequence of operations, every word and every moment.
//!
//! `PROPTEST_CASES` asks for more cases than the few that a quick run affords.

#[cfg(feature = "std")]
mod contract;
mod engine;
mod ghost;
#[path = "../model/mod.rs"]
#[allow(dead_code, reason = "each test crate uses its part of the model")]
mod model;
mod numbers;
mod words;

#[cfg(feature = "std")]
mod breaker;

use std::env;
use std::ops::Range;

use proptest::test_runner::Config;

/// As many cases as asked for in the environment, else `few`; next to none under Miri, which is some hundred times
/// slower.
fn cases(few: u32) -> Config {
    let asked = env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let cases = asked.unwrap_or(if cfg!(miri) { 2 } else { few });
    Config { cases, failure_persistence: None, max_shrink_iters: 20_000, ..Config::default() }
}

/// How many operations a walk has: up to so many, and a handful under Miri.
fn steps(many: usize) -> Range<usize> {
    1..if cfg!(miri) { 15 } else { many }
}
