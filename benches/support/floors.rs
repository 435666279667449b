//! What cannot be undercut: the bare machine operations.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use atomic_breaker::Clock as _;

use super::{Work, ours};

/// Compared, as a healthy success does, so that one flag is left for the loop to keep.
pub(crate) fn two_loads() -> Work {
    let word = word();
    Work::new(move || word.load(Ordering::Relaxed) == word.load(Ordering::Relaxed))
}

pub(crate) fn one_cas() -> Work {
    let word = word();
    Work::new(move || step(word))
}

pub(crate) fn clock_read() -> Work {
    let clock = quanta::Clock::new();
    Work::new(move || clock.now())
}

pub(crate) fn coarse_read() -> Work {
    let clock = ours::coarse_clock();
    Work::new(move || clock.now())
}

pub(crate) fn instant_read() -> Work {
    Work::new(Instant::now)
}

pub(crate) fn two_writes() -> Work {
    let (one, other) = (word(), word());
    Work::new(move || (write(one), write(other)))
}

pub(crate) fn clock_read_and_write() -> Work {
    let word = word();
    let clock = quanta::Clock::new();
    Work::new(move || (clock.now(), write(word)))
}

pub(crate) fn two_cas_and_clock_read() -> Work {
    let word = word();
    let clock = quanta::Clock::new();
    Work::new(move || (step(word), clock.now(), step(word)))
}

pub(crate) fn three_cas_and_clock_reads() -> Work {
    let word = word();
    let clock = quanta::Clock::new();
    Work::new(move || {
        let read_and_step = || (clock.now(), step(word));
        (read_and_step(), read_and_step(), read_and_step())
    })
}

#[inline]
fn step(word: &AtomicU64) -> bool {
    let old = word.load(Ordering::Acquire);
    word.compare_exchange_weak(old, old.wrapping_add(1), Ordering::AcqRel, Ordering::Relaxed).is_ok()
}

#[inline]
fn write(word: &AtomicU64) -> u64 {
    word.fetch_add(1, Ordering::AcqRel)
}

/// On a pair of cache lines of its own, as a breaker is.
fn word() -> &'static AtomicU64 {
    Box::leak(Box::new(crossbeam_utils::CachePadded::new(AtomicU64::new(1))))
}
