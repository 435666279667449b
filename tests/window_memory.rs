//! What a window takes, as its documentation says, and that nothing is allocated after that.

#![cfg(feature = "std")]

use std::alloc::System;
use std::thread;
use std::time::Duration;

use atomic_breaker::{CircuitBreaker, Config, ConfigBuilder, ManualClock, Outcome, Window};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn time(buckets: u32) -> Window {
    Window::Time { length: Duration::from_secs(1) * buckets, buckets }
}

fn config(window: Window) -> ConfigBuilder {
    Config::builder().failure_rate(0.5, 1, window).slow_calls(Duration::from_secs(1), 0.5)
}

/// The bytes that a breaker allocates beyond those of one without a window.
fn bytes(window: Window) -> usize {
    let allocated = |config: ConfigBuilder| {
        let (config, clock) = (config.build().unwrap(), ManualClock::new());
        let region = Region::new(ALLOCATOR);
        let breaker = CircuitBreaker::with_clock(config, clock);
        let bytes = region.change().bytes_allocated;
        drop(breaker);
        bytes
    };
    // What is made once per process is made here.
    allocated(config(time(1)));
    least(|| allocated(config(window))) - least(|| allocated(Config::builder()))
}

/// One test: the allocator is that of all threads of this process.
#[test]
fn a_window_takes_what_its_documentation_says_and_nothing_later() {
    for (calls, expected) in [(1, 192), (16, 192), (48, 192), (100, 256), (10_000, 8_320), (65_536, 65_664)] {
        assert_eq!(bytes(Window::Calls(calls)), expected, "{calls} calls");
        let blocks = (calls.div_ceil(16) as usize + 5).next_power_of_two();
        assert_eq!(expected, 128 + 8 * blocks, "{calls} calls, as documented");
    }
    let stripes = thread::available_parallelism().unwrap().get().min(8).next_power_of_two();
    for (buckets, per_stripe) in [(1, 128), (3, 256), (10, 1_024), (60, 4_096), (4_096, 524_288)] {
        assert_eq!(bytes(time(buckets)), 128 + stripes * per_stripe, "{buckets} buckets");
        let slots = (buckets as usize + 1).next_power_of_two();
        assert_eq!(per_stripe, 64 * slots, "{buckets} buckets, as documented");
    }

    for window in [Window::Calls(20), time(3)] {
        let clock = ManualClock::new();
        let breaker = CircuitBreaker::with_clock(config(window).build().unwrap(), clock.clone());
        // The first use of a thread may allocate what belongs to the thread.
        let _ = breaker.call(|| Err::<(), _>(()));
        let use_it = || {
            let region = Region::new(ALLOCATOR);
            for number in 0..5_000_u32 {
                let outcome = if number.is_multiple_of(7) { Outcome::Failure } else { Outcome::Success };
                if let Ok(permit) = breaker.try_acquire() {
                    permit.record_after(outcome, Duration::from_millis(u64::from(number)));
                }
                clock.advance(Duration::from_millis(100));
                let _ = breaker.call(|| Ok::<_, ()>(()));
            }
            assert!(breaker.snapshot().window().is_some());
            breaker.reset();
            region.change().allocations
        };
        assert_eq!(least(use_it), 0);
    }
}

/// The least of some measurements: the test harness has a thread of its own, which allocates when it likes.
fn least(measure: impl Fn() -> usize) -> usize {
    (0..5).map(|_| measure()).min().unwrap_or_default()
}
