//! Windows: what a success and a failure cost, on 1, 2 and 4 threads, beside other crates' and a mutex's.
//!
//! `cargo bench --bench windows`, `cargo bench --bench windows -- 'success'`

use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use atomic_breaker::{CircuitBreaker, Clock, Config, Permit, QuantaClock, Window};
use criterion::{BenchmarkId, Criterion, SamplingMode, criterion_group, criterion_main};
use failsafe::failure_policy::{consecutive_failures, success_rate_over_time_window};
use failsafe::{CircuitBreaker as _, FailurePolicy};
use recloser::Recloser;

criterion_group! {
    name = windows;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(500));
    targets = floors, success, failure
}
criterion_main!(windows);

/// One operation, any number of times.
type Work = Box<dyn Fn(u64) + Sync>;

fn work<R>(operation: impl Fn() -> R + Sync + 'static) -> Work {
    Box::new(move |times| {
        for _ in 0..times {
            black_box(operation());
        }
    })
}

fn floors(criterion: &mut Criterion) {
    let clock = QuantaClock::new();
    run(criterion, "floor", vec![("one clock read", work(move || clock.now()))]);
}

fn success(criterion: &mut Criterion) {
    let ours = |window| {
        let breaker = breaker(window);
        work(move || breaker.try_acquire().map(Permit::success))
    };
    let timed = |window| {
        let slow = breaker(window).config().to_builder().slow_calls(HOUR, 1.0);
        let breaker = CircuitBreaker::new(slow.build_clamped());
        work(move || breaker.call(|| Ok::<_, ()>(1)))
    };
    let failsafe = failsafe::Config::new().build();
    let recloser = Recloser::default();
    let mutex = Locked::new();
    let rows = vec![
        ("calls, 100", ours(Window::Calls(100))),
        ("calls, 10000", ours(Window::Calls(10_000))),
        ("time, 10 buckets", ours(time(10))),
        ("time, 1 bucket", ours(time(1))),
        ("time, 10 buckets, call, measured", timed(time(10))),
        ("failsafe, its default", work(move || failsafe.call(|| Ok::<_, ()>(1)))),
        ("recloser, its default", work(move || recloser.call(|| Ok::<_, ()>(1)))),
        ("mutex, 100 calls", work(move || mutex.record(false))),
    ];
    run(criterion, "success", rows);
}

fn failure(criterion: &mut Criterion) {
    let ours = |window| {
        let breaker = breaker(window);
        for _ in 0..20_000 {
            let _ = breaker.try_acquire().map(Permit::success);
        }
        // One success in fifty, so that no window is full of failures and nobody opens.
        Box::new(move |times: u64| {
            for number in 0..times {
                if let Ok(permit) = breaker.try_acquire() {
                    black_box(if number % 50 == 0 { permit.success() } else { permit.failure() });
                }
            }
        }) as Work
    };
    let constant = || failsafe::backoff::constant(HOUR);
    let policy = success_rate_over_time_window(0.0, 5, Duration::from_secs(30), constant())
        .or_else(consecutive_failures(u32::MAX, constant()));
    let failsafe = failsafe::Config::new().failure_policy(policy).build();
    // A rate that is never reached.
    let recloser = Recloser::custom().error_rate(2.0).build();
    let mutex = Locked::new();
    let rows = vec![
        ("calls, 100", ours(Window::Calls(100))),
        ("calls, 10000", ours(Window::Calls(10_000))),
        ("time, 10 buckets", ours(time(10))),
        ("time, 1 bucket", ours(time(1))),
        ("time, 100 buckets", ours(time(100))),
        ("failsafe, its default", work(move || failsafe.call(|| Err::<(), _>(1)))),
        ("recloser, its default", work(move || recloser.call(|| Err::<(), _>(1)))),
        ("mutex, 100 calls", work(move || mutex.record(true))),
    ];
    run(criterion, "failure", rows);
}

fn run(criterion: &mut Criterion, name: &str, rows: Vec<(&str, Work)>) {
    let mut group = criterion.benchmark_group(name);
    group.sampling_mode(SamplingMode::Flat);
    for (row, work) in rows {
        for threads in [1, 2, 4] {
            let case = BenchmarkId::new(row, format!("{threads} threads"));
            group
                .bench_function(case, |bencher| bencher.iter_custom(|times| together(threads, times, &work)));
        }
    }
}

/// Runs the work on so many threads from the same moment on: how long the slowest took.
fn together(threads: usize, times: u64, work: &Work) -> Duration {
    let start = Barrier::new(threads);
    let time = || {
        start.wait();
        let begin = Instant::now();
        work(times);
        begin.elapsed()
    };
    thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(time)).collect();
        all.into_iter().map(|one| one.join().expect("no work panics")).max().unwrap_or_default()
    })
}

const HOUR: Duration = Duration::from_secs(3600);

fn time(buckets: u32) -> Window {
    Window::Time { length: Duration::from_secs(1) * buckets, buckets }
}

/// One that opens only if all calls of a full window have failed.
fn breaker(window: Window) -> CircuitBreaker {
    let min_calls = if let Window::Calls(calls) = window { calls } else { u32::MAX };
    CircuitBreaker::new(Config::builder().failure_rate(1.0, min_calls, window).build_clamped())
}

/// The usual: the last hundred outcomes and their failures behind a lock.
struct Locked(Mutex<(VecDeque<bool>, usize)>);

impl Locked {
    fn new() -> Self {
        Self(Mutex::new((VecDeque::with_capacity(101), 0)))
    }

    fn record(&self, failed: bool) -> bool {
        let mut guard = self.0.lock().expect("no work panics");
        let (outcomes, failures) = &mut *guard;
        outcomes.push_back(failed);
        *failures += usize::from(failed);
        if outcomes.len() > 100 {
            *failures -= usize::from(outcomes.pop_front() == Some(true));
        }
        *failures as f64 / outcomes.len() as f64 >= 2.0
    }
}
