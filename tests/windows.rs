//! Windows against a naive model, their limits and their size.

#![cfg(feature = "std")]

#[path = "model/window.rs"]
mod naive;

use std::time::Duration;

use atomic_breaker::{
    Cause, CircuitBreaker, Config, ConfigBuilder, ConfigError, ConfigErrorKind, ManualClock, Observer,
    Outcome, Settled, State, Transition, Window,
};
use proptest::prelude::*;

use crate::naive::{Naive, width_of};

const MS: Duration = Duration::from_millis(1);

#[derive(Clone, Debug)]
enum Step {
    Record { failed: bool, slow: bool },
    Advance(u64),
    Reset,
    Reopen,
}

fn window() -> impl Strategy<Value = Window> {
    let calls = prop_oneof![1..=40_u32, Just(100), Just(1_000), Just(65_536)].prop_map(Window::Calls);
    let time = (
        prop_oneof![1..=12_u32, Just(100), Just(if cfg!(miri) { 16 } else { 4_096 })],
        prop_oneof![
            Just(MS),
            Just(MS * 7),
            Just(Duration::from_nanos(1_000_001)),
            Just(Duration::from_secs(3)),
            Just(Duration::from_secs(7_000)),
        ],
    );
    prop_oneof![calls, time.prop_map(|(buckets, width)| Window::Time { length: width * buckets, buckets })]
}

/// How far time goes, in nanoseconds, given the width of a bucket: within one, over some, over the window, over whole
/// turns of the ring and of the counters that tell one turn from another.
fn gap(width: u64) -> impl Strategy<Value = u64> {
    // 250 of them are less than the clock's range.
    let buckets = move |buckets: u64| buckets.min((1 << 55) / width) * width;
    prop_oneof![
        4 => 0..width,
        4 => (0..20_u64).prop_map(buckets),
        2 => (0..20_000_u64).prop_map(move |number| buckets(number) + 1),
        1 => (0..34_u32, 0..3_u64).prop_map(move |(power, more)| buckets((1 << power) + more)),
        1 => (0..4_u64, 0..3_u64).prop_map(move |(laps, more)| buckets(laps * 256 * 16 + more)),
    ]
}

fn steps(width: u64) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        40 => (any::<bool>(), prop::bool::weighted(0.3)).prop_map(|(failed, slow)| Step::Record { failed, slow }),
        20 => gap(width).prop_map(Step::Advance),
        1 => Just(Step::Reset),
        1 => Just(Step::Reopen),
    ];
    prop::collection::vec(step, 1..if cfg!(miri) { 30 } else { 250 })
}

fn settle(breaker: &CircuitBreaker<ManualClock>, failed: bool, slow: bool) -> Settled {
    let outcome = if failed { Outcome::Failure } else { Outcome::Success };
    let took = if slow { Duration::from_secs(1) } else { Duration::ZERO };
    breaker.try_acquire().unwrap().record_after(outcome, took)
}

fn totals(breaker: &CircuitBreaker<ManualClock>) -> (u64, u64, u64) {
    let window = breaker.snapshot().window().unwrap();
    (window.total(), window.failures(), window.slow_calls())
}

/// On a clock that stands still.
fn still(config: ConfigBuilder) -> CircuitBreaker<ManualClock> {
    CircuitBreaker::with_clock(config.build().unwrap(), ManualClock::new())
}

/// Lets the circuit open and close: a new period.
fn reopen(breaker: &CircuitBreaker<ManualClock>, clock: &ManualClock) {
    breaker.trip();
    clock.advance(MS * 2);
    assert_eq!(breaker.try_acquire().unwrap().success(), Settled::Closed);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 3 } else { 200 }, failure_persistence: None, ..Default::default() })]

    #[test]
    fn every_verdict_is_that_of_the_naive_window(
        (window, steps) in window().prop_flat_map(|window| (Just(window), steps(width_of(window)))),
        start in prop_oneof![Just(0_u64), Just(1 << 40), Just((1 << 36) * 1_000_000 - 5_000_000_000)],
        min_calls in 1..=10_u32,
        rate in prop_oneof![Just(0.25), Just(0.5), Just(1.0 / 3.0), Just(1.0)],
        slow_rate in prop_oneof![Just(0.3), Just(1.0)],
    ) {
        let min_calls = if let Window::Calls(calls) = window { min_calls.min(calls) } else { min_calls };
        let clock = ManualClock::at(Duration::from_nanos(start));
        let config = Config::builder()
            .failure_rate(rate, min_calls, window)
            .slow_calls(Duration::from_secs(1), slow_rate)
            .recovery_timeout(MS)
            .build()
            .unwrap();
        let breaker = CircuitBreaker::with_clock(config, clock.clone());
        let mut naive = Naive::new(window);
        let mut now = start;
        for step in steps {
            match step {
                Step::Advance(by) => {
                    now += by;
                    clock.set(Duration::from_nanos(now));
                }
                Step::Reset => {
                    breaker.reset();
                    naive.clear();
                }
                Step::Reopen => {
                    reopen(&breaker, &clock);
                    now += 2_000_000;
                    naive.clear();
                }
                Step::Record { failed, slow } => {
                    naive.record(now, failed, slow);
                    let (total, failures, slows) = naive.totals(now);
                    let opens = (failed || slow)
                        && total >= u64::from(min_calls)
                        && (failures as f64 / total as f64 >= rate || slows as f64 / total as f64 >= slow_rate);
                    let settled = settle(&breaker, failed, slow);
                    prop_assert_eq!(settled, if opens { Settled::Opened } else { Settled::Applied });
                    if opens {
                        clock.advance(MS * 2);
                        now += 2_000_000;
                        prop_assert_eq!(breaker.try_acquire().unwrap().success(), Settled::Closed);
                        naive.clear();
                    }
                }
            }
            prop_assert_eq!(totals(&breaker), naive.totals(now));
        }
    }

    /// After a step back, nothing is promised but this: no panic, and no event that was not recorded.
    #[test]
    fn a_clock_that_steps_back_invents_nothing(
        (window, steps) in window().prop_flat_map(|window| {
            let width = width_of(window);
            let step = prop_oneof![
                3 => any::<bool>().prop_map(|failed| Step::Record { failed, slow: false }),
                2 => gap(width).prop_map(Step::Advance),
                1 => Just(Step::Reset),
            ];
            (Just(window), prop::collection::vec((step, any::<bool>()), 1..if cfg!(miri) { 30 } else { 250 }))
        }),
    ) {
        let start = 1_u64 << 50;
        let clock = ManualClock::at(Duration::from_nanos(start));
        let config = Config::builder().failure_rate(1.0, 1, window).recovery_timeout(MS).build().unwrap();
        let breaker = CircuitBreaker::with_clock(config, clock.clone());
        let mut naive = Naive::new(window);
        let mut now = start;
        for (step, back) in steps {
            match step {
                Step::Advance(by) => {
                    now = if back { now.saturating_sub(by) } else { now + by };
                    clock.set(Duration::from_nanos(now));
                }
                Step::Record { failed, .. } => {
                    naive.record(now, failed, false);
                    if settle(&breaker, failed, false) == Settled::Opened {
                        prop_assert!(naive.totals(now).1 > 0, "no opening without a failure");
                        breaker.reset();
                        naive.clear();
                    }
                }
                Step::Reset | Step::Reopen => {
                    breaker.reset();
                    naive.clear();
                }
            }
            let (total, failures, _) = totals(&breaker);
            let (all, failed, _) = naive.totals(now);
            prop_assert!(total <= all && failures <= failed, "{total} of {all}, {failures} of {failed}");
        }
    }
}

#[test]
fn idle_gaps_of_any_length_leave_an_empty_window() {
    for buckets in [1, 2, 3, 4, 7, 8] {
        let clock = ManualClock::at(Duration::from_secs(1));
        let window = Window::Time { length: MS * buckets, buckets };
        let config = Config::builder().failure_rate(1.0, 4_000_000, window).build().unwrap();
        let breaker = CircuitBreaker::with_clock(config, clock.clone());
        for power in 0..if cfg!(miri) { 4 } else { 34 } {
            for more in [0, 1, u64::from(buckets)] {
                let gap = (1_u64 << power) + more;
                for _ in 0..3 {
                    settle(&breaker, true, false);
                }
                clock.advance(Duration::from_millis(gap));
                let (total, ..) = totals(&breaker);
                assert_eq!(total == 0, gap >= u64::from(buckets), "{gap} buckets of {buckets}");
                settle(&breaker, false, false);
                assert_eq!(totals(&breaker), (total + 1, total, 0), "{gap} buckets of {buckets}");
                clock.advance(MS * buckets);
            }
        }
    }
}

#[test]
fn more_periods_than_there_are_ordinals_keep_nothing_of_each_other() {
    let periods = if cfg!(miri) { 100 } else { (1 << 20) + 100 };
    for window in [Window::Calls(3), Window::Time { length: MS * 3, buckets: 3 }] {
        let config = Config::builder().failure_rate(1.0, 3, window).build().unwrap();
        let breaker = CircuitBreaker::with_clock(config, ManualClock::new());
        for _ in 0..periods {
            assert_eq!(settle(&breaker, true, false), Settled::Applied);
            breaker.reset();
        }
        assert_eq!(totals(&breaker), (0, 0, 0));
    }
}

#[test]
fn a_reset_of_a_window_without_failures_starts_anew() {
    let breaker = still(Config::builder().failure_rate(0.5, 2, Window::Calls(4)));
    let late = breaker.try_acquire().unwrap();
    breaker.reset();
    assert_eq!(late.success(), Settled::Applied, "there was nothing to reset");
    let late = breaker.try_acquire().unwrap();
    breaker.reset();
    assert_eq!(late.failure(), Settled::Stale);
    assert_eq!(breaker.snapshot().window().unwrap().total(), 0);
}

#[test]
fn an_ignored_outcome_is_in_no_window() {
    let breaker = still(Config::builder().failure_rate(0.5, 1, Window::Calls(4)));
    assert_eq!(breaker.try_acquire().unwrap().ignore(), Settled::Applied);
    drop(breaker.try_acquire().unwrap());
    assert_eq!(breaker.snapshot().window().unwrap().total(), 0);
    let late = breaker.try_acquire().unwrap();
    breaker.trip();
    assert_eq!(late.ignore(), Settled::Stale);
}

#[test]
fn a_call_is_measured_only_where_slow_calls_count() {
    let reads = std::cell::Cell::new(0_u64);
    let clock = || {
        reads.set(reads.get() + 1);
        atomic_breaker::Timestamp::from_nanos(reads.get() * 1_000_000_000)
    };
    let config = Config::builder().failure_rate(0.9, 2, Window::Calls(10));
    let breaker = CircuitBreaker::with_clock(config.clone().build().unwrap(), &clock);
    breaker.call(|| Ok::<_, ()>(())).unwrap();
    assert_eq!(reads.get(), 0);
    breaker.reconfigure(config.slow_calls(Duration::from_secs(1), 0.5).build().unwrap()).unwrap();
    breaker.call(|| Ok::<_, ()>(())).unwrap();
    assert_eq!(breaker.state(), State::Open, "one of two was slow");
}

#[test]
fn a_snapshot_has_rates_from_the_minimum_on() {
    let config =
        Config::builder().failure_rate(1.0, 4, Window::Calls(8)).slow_calls(MS, 1.0).build().unwrap();
    let breaker = CircuitBreaker::with_clock(config, ManualClock::new());
    let window = breaker.snapshot().window().unwrap();
    assert_eq!((window.total(), window.failure_rate(), window.slow_call_rate()), (0, None, None));
    for (failed, slow) in [(false, false), (true, false), (false, true)] {
        settle(&breaker, failed, slow);
        assert_eq!(breaker.snapshot().window().unwrap().failure_rate(), None);
    }
    settle(&breaker, true, true);
    let snapshot = breaker.snapshot();
    let window = snapshot.window().unwrap();
    assert_eq!((window.total(), window.failures(), window.slow_calls(), snapshot.failures()), (4, 2, 2, 2));
    assert_eq!((window.failure_rate(), window.slow_call_rate()), (Some(0.5), Some(0.5)));
    breaker.trip();
    assert_eq!(breaker.snapshot().window().unwrap().total(), 0, "a window is that of a closed period");
    assert_eq!(still(Config::builder()).snapshot().window(), None);
}

struct Expect(std::sync::mpsc::Sender<Transition>);

impl Observer for Expect {
    fn on_transition(&self, transition: &Transition) {
        self.0.send(*transition).unwrap();
    }
}

#[test]
fn a_transition_carries_what_opened_the_circuit() {
    let (sender, transitions) = std::sync::mpsc::channel();
    let config = Config::builder()
        .failure_rate(0.5, 3, Window::Calls(8))
        .slow_calls(MS, 0.6)
        .observer(Expect(sender))
        .build()
        .unwrap();
    let breaker = CircuitBreaker::with_clock(config, ManualClock::new());
    for (failed, slow) in [(false, false), (true, false), (true, false)] {
        settle(&breaker, failed, slow);
    }
    let opened = transitions.try_recv().unwrap();
    let window = opened.window().unwrap();
    assert_eq!((opened.cause(), opened.failures()), (Cause::FailureRate, 2));
    assert_eq!((window.total(), window.failures(), window.slow_calls()), (3, 2, 0));
    assert_eq!(window.failure_rate(), Some(2.0 / 3.0));
    breaker.reset();
    assert_eq!(transitions.try_recv().unwrap().window(), None);

    for (failed, slow) in [(false, true), (false, false), (false, true)] {
        settle(&breaker, failed, slow);
    }
    let opened = transitions.try_recv().unwrap();
    assert_eq!((opened.cause(), opened.failures()), (Cause::SlowCalls, 0));
    assert_eq!(opened.window().unwrap().slow_call_rate(), Some(2.0 / 3.0));

    breaker.reset();
    settle(&breaker, true, false);
    breaker.force_open();
    let forced = transitions.try_iter().last().unwrap();
    assert_eq!((forced.window(), forced.failures()), (None, 0), "something else opened it");
}

#[test]
fn rates_and_minimum_are_live_and_the_shape_is_not() {
    let window = Window::Time { length: Duration::from_secs(10), buckets: 10 };
    let config = |rate, min_calls| Config::builder().failure_rate(rate, min_calls, window);
    let breaker = CircuitBreaker::with_clock(config(1.0, 10).build().unwrap(), ManualClock::new());
    for failed in [false, true, true] {
        assert_eq!(settle(&breaker, failed, false), Settled::Applied);
    }
    breaker.reconfigure(config(0.5, 2).build().unwrap()).unwrap();
    assert_eq!(breaker.state(), State::Closed, "the next failure decides");
    let other = Window::Time { length: Duration::from_secs(20), buckets: 10 };
    let refused =
        breaker.reconfigure(Config::builder().failure_rate(0.5, 2, other).build().unwrap()).unwrap_err();
    assert_eq!(refused.kind(), ConfigErrorKind::OtherWindow);
    assert_eq!(
        refused.to_string(),
        "failure_rate.window is 20s in 10 buckets, legal is 10s in 10 buckets, as the breaker was made"
    );
    let refused = breaker.reconfigure(Config::default()).unwrap_err();
    assert_eq!(refused.kind(), ConfigErrorKind::OtherWindow);
    assert_eq!(breaker.config().failure_rate().unwrap().min_calls, 2, "the old one stays in force");
    assert_eq!(settle(&breaker, true, false), Settled::Opened);

    let plain = still(Config::builder());
    assert_eq!(
        plain.reconfigure(config(0.5, 2).build().unwrap()).unwrap_err().to_string(),
        "failure_rate.window is 10s in 10 buckets, legal is none, as the breaker was made"
    );
}

fn refused(rate: f64, min_calls: u32, window: Window) -> ConfigError {
    Config::builder().failure_rate(rate, min_calls, window).build().unwrap_err()
}

fn time(length: Duration, buckets: u32) -> Window {
    Window::Time { length, buckets }
}

#[test]
fn what_is_not_a_window_is_refused_by_name() {
    let day = Duration::from_secs(86_400);
    let calls = Window::Calls(10);
    for (error, message) in [
        (refused(0.0, 1, calls), "failure_rate.rate is 0, legal is above 0, up to 1"),
        (refused(-1.0, 1, calls), "failure_rate.rate is -1, legal is above 0, up to 1"),
        (refused(1.5, 1, calls), "failure_rate.rate is 1.5, legal is above 0, up to 1"),
        (refused(f64::NAN, 1, calls), "failure_rate.rate is NaN, legal is above 0, up to 1"),
        (refused(0.5, 0, calls), "failure_rate.min_calls is 0, legal is 1..=10"),
        (refused(0.5, 11, calls), "failure_rate.min_calls is 11, legal is 1..=10"),
        (refused(0.5, 0, time(day, 1)), "failure_rate.min_calls is 0, legal is 1..=4294967295"),
        (refused(0.5, 1, Window::Calls(0)), "window.calls is 0, legal is 1..=65536"),
        (refused(0.5, 1, Window::Calls(65_537)), "window.calls is 65537, legal is 1..=65536"),
        (refused(0.5, 1, time(day, 0)), "window.buckets is 0, legal is 1..=4096"),
        (refused(0.5, 1, time(day, 4_097)), "window.buckets is 4097, legal is 1..=4096"),
        (refused(0.5, 1, time(Duration::ZERO, 1)), "window.length is 0ns, legal is 1ms..=365 days"),
        (refused(0.5, 1, time(MS * 9, 10)), "window.length is 9ms, legal is 10ms..=365 days"),
        (refused(0.5, 1, time(day * 366, 1)), "window.length is 366 days, legal is 1ms..=365 days"),
        (
            refused(0.5, 1, time(MS * 1_000, 3)),
            "window.length is 1s, legal next to it are 999.999999ms and 1.000000002s, which its buckets divide",
        ),
        (
            Config::builder().slow_calls(MS, 0.5).build().unwrap_err(),
            "slow_calls is 1ms, legal is none without failure_rate",
        ),
        (
            Config::builder()
                .failure_rate(0.5, 1, calls)
                .slow_calls(Duration::ZERO, 0.5)
                .build()
                .unwrap_err(),
            "slow_calls.slower_than is 0ns, legal is 1ns..=365 days",
        ),
        (
            Config::builder().failure_rate(0.5, 1, calls).slow_calls(MS, 0.0).build().unwrap_err(),
            "slow_calls.rate is 0, legal is above 0, up to 1",
        ),
    ] {
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn clamping_finds_the_nearest_legal_window() {
    let clamped = |rate, min_calls, window| {
        let config = Config::builder().failure_rate(rate, min_calls, window).build_clamped();
        let failures = config.failure_rate().unwrap();
        assert!(config.to_builder().build().is_ok());
        (failures.rate, failures.min_calls, failures.window)
    };
    let (rate, min_calls, window) = clamped(2.0, 100, Window::Calls(0));
    assert_eq!((rate, min_calls, window), (1.0, 1, Window::Calls(1)));
    assert!(clamped(f64::NAN, 0, Window::Calls(1)).0 > 0.0);
    assert_eq!(clamped(0.5, 0, time(Duration::ZERO, 0)).2, time(MS, 1));
    assert_eq!(clamped(0.5, 0, time(Duration::MAX, u32::MAX)).2, {
        let nanos = 365 * 86_400 * 1_000_000_000_u64;
        time(Duration::from_nanos(nanos - nanos % 4_096), 4_096)
    });
    assert_eq!(clamped(0.5, 1, time(MS * 1_000, 3)).2, time(Duration::from_nanos(999_999_999), 3));
    let slow = Config::builder().slow_calls(MS, 0.5).build_clamped();
    assert_eq!(slow.slow_calls(), None);
}

#[test]
fn a_breaker_without_a_window_is_as_large_as_before() {
    assert_eq!(size_of::<CircuitBreaker>(), 128);
}
