//! Every operation on one thread, beside what cannot be undercut and what other crates need for the same work.
//!
//! `cargo bench --bench single`, `cargo bench --bench single -- 'open, reject'`

#[allow(dead_code, reason = "each bench uses its part")]
mod support;

use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};

use crate::support::groups;

criterion_group! {
    name = single;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(400));
    targets = operations
}
criterion_main!(single);

fn operations(criterion: &mut Criterion) {
    for group in groups(true) {
        let mut benches = criterion.benchmark_group(group.name);
        for row in group.rows {
            benches.bench_function(row.name, |bencher| {
                let work = (row.make)();
                bencher.iter_custom(|times| work.time(times));
            });
        }
    }
}
