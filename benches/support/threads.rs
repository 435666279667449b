//! The same work at the same time.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use super::Work;

/// Runs each work on a thread of its own, all from the same moment, each `times` times: how long the slowest took.
pub(crate) fn time_together(works: &[&Work], times: u64) -> Duration {
    if let [alone] = works {
        return alone.time(times);
    }
    let start = Barrier::new(works.len());
    let run = |work: &Work| {
        start.wait();
        work.time(times)
    };
    thread::scope(|scope| {
        let threads: Vec<_> = works.iter().map(|work| scope.spawn(|| run(work))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no work panics")).max().unwrap_or_default()
    })
}
