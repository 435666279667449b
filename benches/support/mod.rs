//! What the three benches share: the operations, and how to run them.
//!
//! | work | floor | atomic-breaker | mutex | failsafe | recloser | tower-resilience |
//! |---|---|---|---|---|---|---|
//! | closed, success | two loads | yes | yes | yes | fills a ring | async |
//! | closed, failure | one CAS | yes | yes | consecutive failures | fills a ring | async |
//! | open, reject | one clock read | yes | yes | yes | yes | async |
//! | half-open, probe | two CAS, one clock read | yes | no lease | no: one success closes | no slots | async |
//! | whole cycle | three CAS, three clock reads | yes | yes | yes | two calls a step, to fill its ring | async |
//! | windows | two atomic writes | calls, time | no | time | calls (always) | calls |
//! | back-off, jitter | one clock read | yes | no | at the opening, free later | at the opening | no |
//! | peek, owned permit, wrap | two loads | yes | no | no | no | no |
//! | several threads | yes | yes | yes | yes | yes | no, see there |

use std::hint::black_box;
use std::time::{Duration, Instant};

mod floors;
mod mutex;
pub(crate) mod ours;
mod peers;
pub(crate) mod threads;
mod upstream;

/// Rows that do the same work, the floor first.
pub(crate) struct Group {
    pub(crate) name: &'static str,
    pub(crate) rows: Vec<Row>,
}

/// One operation of one crate.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// The row to compare it with: a floor for this crate's rows, this crate's row for a peer's.
    pub(crate) beside: Option<&'static str>,
    pub(crate) make: fn() -> Work,
    /// Whether several threads can do it.
    contends: bool,
}

impl Row {
    const fn new(name: &'static str, beside: Option<&'static str>, make: fn() -> Work) -> Self {
        Self { name, beside, make, contends: true }
    }

    const fn alone(name: &'static str, beside: Option<&'static str>, make: fn() -> Work) -> Self {
        Self { contends: false, ..Self::new(name, beside, make) }
    }
}

/// An operation, ready to be run any number of times from any thread.
pub(crate) struct Work(Box<dyn Fn(u64) + Send + Sync>);

impl Work {
    fn new<R>(operation: impl Fn() -> R + Send + Sync + 'static) -> Self {
        Self::whole(move |times| repeat(times, &operation))
    }

    /// An operation that cannot go on for ever: after each `length` of them, and at the end, comes `restart`.
    fn in_runs<R>(
        length: u64,
        operation: impl Fn() -> R + Send + Sync + 'static,
        restart: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        Self::whole(move |times| {
            let mut left = times;
            while left > 0 {
                let run = left.min(length);
                repeat(run, &operation);
                restart();
                left -= run;
            }
        })
    }

    /// An operation with a loop of its own.
    fn whole(batch: impl Fn(u64) + Send + Sync + 'static) -> Self {
        Self(Box::new(batch))
    }

    pub(crate) fn time(&self, times: u64) -> Duration {
        let start = Instant::now();
        (self.0)(times);
        start.elapsed()
    }
}

/// The loop around each operation, compiled with it.
///
/// `black_box` takes the answer by reference: to move it would copy it, and a copy in pieces other than those in which
/// it was just written costs more than most of these operations. Since it may touch all memory, nothing that an
/// operation reads is carried over to the next round.
#[inline]
fn repeat<R>(times: u64, mut operation: impl FnMut() -> R) {
    for _ in 0..times {
        black_box(&operation());
    }
}

/// All work without a window, for one thread or for several.
pub(crate) fn groups(alone: bool) -> Vec<Group> {
    let mut groups = vec![closed_success(), closed_failure(), open_reject()];
    if alone {
        groups.extend([half_open::<61>(), cycle()]);
    } else {
        // Four threads of fifteen successes each stay below the 63 that would close the circuit.
        groups.push(half_open::<15>());
    }
    retain(groups, alone)
}

/// Work with a window, of which `windows.rs` measures more.
pub(crate) fn windows(alone: bool) -> Vec<Group> {
    retain(vec![window_success(), window_failure()], alone)
}

fn retain(mut groups: Vec<Group>, alone: bool) -> Vec<Group> {
    for group in &mut groups {
        group.rows.retain(|row| alone || row.contends);
    }
    groups
}

const TWO_LOADS: &str = "two relaxed loads";
const ONE_CAS: &str = "one CAS";
const CLOCK: &str = "one clock read (quanta)";
const RECENT: &str = "one clock read (coarse)";
const PROBE_FLOOR: &str = "two CAS, one clock read";
const PERMIT: &str = "try_acquire, success";
const CALL: &str = "call";
const CALL_ASYNC: &str = "call_async";

fn closed_success() -> Group {
    let rows = vec![
        Row::new(TWO_LOADS, None, floors::two_loads),
        Row::new(PERMIT, Some(TWO_LOADS), ours::permit_success),
        Row::new(CALL, Some(TWO_LOADS), ours::call_success),
        Row::new(CALL_ASYNC, Some(TWO_LOADS), ours::call_async_success),
        Row::new("wrap", Some(TWO_LOADS), ours::wrap_success),
        Row::new("wrap, kept in a struct", Some(TWO_LOADS), ours::wrap_kept),
        Row::new("peek", Some(TWO_LOADS), ours::peek),
        Row::new("owned permit", Some(TWO_LOADS), ours::owned_success),
        Row::new("mutex: permit", Some(PERMIT), mutex::permit_success),
        Row::new("mutex: call", Some(CALL), mutex::call_success),
        Row::new("failsafe: permit", Some(PERMIT), peers::failsafe::permit_success),
        Row::new("failsafe: call", Some(CALL), peers::failsafe::call_success),
        Row::new("recloser: call", Some(CALL), peers::recloser::call_success),
        Row::new("failsafe: async call", Some(CALL_ASYNC), peers::failsafe::call_async_success),
        Row::new("recloser: async call", Some(CALL_ASYNC), peers::recloser::call_async_success),
        Row::alone("tower-resilience: call", Some(CALL_ASYNC), peers::tower::call_success),
    ];
    Group { name: "closed, success", rows }
}

fn closed_failure() -> Group {
    let rows = vec![
        Row::new(ONE_CAS, None, floors::one_cas),
        Row::new("try_acquire, failure", Some(ONE_CAS), ours::permit_failure),
        Row::new(CALL, Some(ONE_CAS), ours::call_failure),
        Row::new("mutex: call", Some(CALL), mutex::call_failure),
        Row::new("failsafe: call", Some(CALL), peers::failsafe::call_failure),
        Row::new("recloser: call", Some(CALL), peers::recloser::call_failure),
        Row::alone("tower-resilience: call", Some(CALL), peers::tower::call_failure),
    ];
    Group { name: "closed, failure", rows }
}

fn open_reject() -> Group {
    let rows = vec![
        Row::new(CLOCK, None, floors::clock_read),
        Row::new(RECENT, None, floors::coarse_read),
        Row::new("one clock read (std)", None, floors::instant_read),
        Row::new("QuantaClock", Some(CLOCK), ours::reject_quanta),
        Row::new("QuantaClock, back-off, jitter", Some(CLOCK), ours::reject_quanta_backoff),
        Row::new("QuantaClock: call", Some(CLOCK), ours::reject_call),
        Row::new("CoarseClock", Some(RECENT), ours::reject_coarse),
        Row::new("CoarseClock, back-off, jitter", Some(RECENT), ours::reject_coarse_backoff),
        Row::new("mutex: permit", Some("QuantaClock"), mutex::reject),
        Row::new("failsafe: permit", Some("QuantaClock"), peers::failsafe::reject),
        Row::new("recloser: call", Some("QuantaClock: call"), peers::recloser::reject),
        Row::alone("tower-resilience: call", Some("QuantaClock: call"), peers::tower::reject),
    ];
    Group { name: "open, reject", rows }
}

fn window_success() -> Group {
    const CALLS: &str = "100 calls";
    const TIME: &str = "10 buckets of time";
    let rows = vec![
        Row::new("two atomic writes", None, floors::two_writes),
        Row::new("one clock read, one atomic write", None, floors::clock_read_and_write),
        Row::new(CALLS, Some("two atomic writes"), ours::calls_success::<100>),
        Row::new(TIME, Some("one clock read, one atomic write"), ours::time_success),
        Row::new("recloser: 100 calls", Some(CALLS), peers::recloser::call_success),
        Row::new("failsafe: time", Some(TIME), peers::failsafe::window_success),
        Row::alone("tower-resilience: 100 calls", Some(CALLS), peers::tower::window_success),
    ];
    Group { name: "window, success", rows }
}

fn window_failure() -> Group {
    const CALLS: &str = "100 calls";
    const TIME: &str = "10 buckets of time";
    let rows = vec![
        Row::new("two atomic writes", None, floors::two_writes),
        Row::new(CALLS, Some("two atomic writes"), ours::calls_failure::<100>),
        Row::new("10,000 calls", Some("two atomic writes"), ours::calls_failure::<10_000>),
        Row::new(TIME, Some("two atomic writes"), ours::time_failure),
        Row::new("recloser: 100 calls", Some(CALLS), peers::recloser::call_failure),
        Row::new("failsafe: time", Some(TIME), peers::failsafe::window_failure),
        Row::alone("tower-resilience: 100 calls", Some(CALLS), peers::tower::window_failure),
    ];
    Group { name: "window, failure", rows }
}

fn half_open<const RUN: u64>() -> Group {
    let rows = vec![
        Row::new(PROBE_FLOOR, None, floors::two_cas_and_clock_read),
        Row::new(PERMIT, Some(PROBE_FLOOR), ours::probe_success::<RUN>),
        Row::new(CALL, Some(PROBE_FLOOR), ours::probe_call::<RUN>),
        Row::new("mutex: permit", Some(PERMIT), mutex::probe_success),
        Row::new("recloser: call", Some(CALL), peers::recloser::probe_success),
        Row::alone("tower-resilience: call", Some(CALL), peers::tower::probe_success),
    ];
    Group { name: "half-open, probe", rows }
}

fn cycle() -> Group {
    const OURS: &str = "fail, wait, probe, close";
    let rows = vec![
        Row::new("three CAS, three clock reads", None, floors::three_cas_and_clock_reads),
        Row::new(OURS, Some("three CAS, three clock reads"), ours::cycle),
        Row::new("the same on ManualClock", None, ours::cycle_manual),
        Row::new("mutex", Some(OURS), mutex::cycle),
        Row::new("failsafe", Some(OURS), peers::failsafe::cycle),
        Row::new("recloser", Some(OURS), peers::recloser::cycle),
        Row::alone("tower-resilience", Some(OURS), peers::tower::cycle),
    ];
    Group { name: "whole cycle", rows }
}
