//! The same operations on several threads: how long one takes while as many others go on at the same time, on one
//! breaker and on a breaker for each thread.
//!
//! `cargo bench --bench contended`, `cargo bench --bench contended -- 'closed, failure/call'`

#[allow(dead_code, reason = "each bench uses its part")]
mod support;

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, SamplingMode, criterion_group, criterion_main};

use crate::support::threads::time_together;
use crate::support::{Work, groups, ours};

criterion_group! {
    name = contended;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(30))
        .measurement_time(Duration::from_millis(150));
    targets = operations, neighbours
}
criterion_main!(contended);

fn operations(criterion: &mut Criterion) {
    for group in groups(false) {
        let mut benches = criterion.benchmark_group(group.name);
        benches.sampling_mode(SamplingMode::Flat);
        for row in group.rows {
            for (threads, breakers) in [(1, 1), (2, 1), (2, 2), (4, 1), (4, 4)] {
                let case = BenchmarkId::new(row.name, format!("{threads} threads, {breakers} breakers"));
                benches.bench_function(case, |bencher| {
                    let works: Vec<Work> = (0..breakers).map(|_| (row.make)()).collect();
                    let works: Vec<&Work> = works.iter().cycle().take(threads).collect();
                    bencher.iter_custom(|times| time_together(&works, times));
                });
            }
        }
    }
}

/// What the padding of a breaker is worth.
fn neighbours(criterion: &mut Criterion) {
    let mut benches = criterion.benchmark_group("closed, failure, in an array");
    benches.sampling_mode(SamplingMode::Flat);
    for threads in [1, 2, 4] {
        for (name, works) in ours::neighbours(threads) {
            benches.bench_function(BenchmarkId::new(name, format!("{threads} threads")), |bencher| {
                let works: Vec<&Work> = works.iter().collect();
                bencher.iter_custom(|times| time_together(&works, times));
            });
        }
    }
}
