//! Clocks that come with the crate, and those of one's own.

use std::collections::HashSet;
use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use atomic_breaker::{
    CircuitBreaker, Clock, CoarseClock, CoarseClockError, Config, ManualClock, QuantaClock, Settled, State,
    Timestamp,
};

use crate::{WAIT, just_before, strict};

const MILLI: Duration = Duration::from_millis(1);

#[test]
fn a_manual_clock_moves_only_when_told_and_its_clones_with_it() {
    let clock = ManualClock::new();
    let handle = clock.clone();
    assert_eq!(clock.now(), Timestamp::from_nanos(0));
    clock.advance(MILLI);
    assert_eq!(handle.now(), Timestamp::from_nanos(1_000_000));
    handle.set(Duration::from_nanos(7));
    assert_eq!((clock.now(), clock.precise()), (Timestamp::from_nanos(7), Timestamp::from_nanos(7)));
    assert_eq!(ManualClock::at(MILLI).now(), Timestamp::from_nanos(1_000_000));
    assert_eq!(format!("{clock:?}"), "ManualClock(Timestamp(7))");
}

#[test]
fn a_manual_clock_stops_at_the_end_of_time() {
    let end = Timestamp::from_nanos(u64::MAX);
    let clock = ManualClock::at(Duration::MAX);
    assert_eq!(clock.now(), end);
    clock.advance(Duration::MAX);
    assert_eq!(clock.now(), end);
    clock.set(Duration::ZERO);
    clock.advance(Duration::MAX);
    assert_eq!(clock.now(), end);
    let breaker = CircuitBreaker::with_clock(strict().build().unwrap(), clock);
    breaker.trip();
    assert!(breaker.try_acquire().unwrap_err().retry_after() >= Some(WAIT));
}

#[test]
fn a_clock_that_steps_back_prolongs_the_wait_by_the_step() {
    let clock = ManualClock::at(Duration::from_secs(10));
    let breaker = CircuitBreaker::with_clock(strict().build().unwrap(), clock.clone());
    breaker.trip();
    clock.set(Duration::from_secs(9));
    assert_eq!(breaker.try_acquire().unwrap_err().retry_after(), Some(WAIT));
    clock.advance(WAIT);
    assert!(breaker.try_acquire().is_err());
    clock.set(Duration::from_secs(10) + WAIT);
    assert!(breaker.try_acquire().is_ok());
}

#[test]
fn a_state_is_entered_at_the_next_whole_millisecond() {
    let clock = ManualClock::at(Duration::from_nanos(1));
    let breaker = CircuitBreaker::with_clock(strict().build().unwrap(), clock.clone());
    breaker.trip();
    assert_eq!(breaker.try_acquire().unwrap_err().retry_after(), Some(WAIT + MILLI), "the very millisecond");
    clock.set(MILLI);
    assert_eq!(breaker.try_acquire().unwrap_err().retry_after(), Some(WAIT));
    clock.set(just_before(WAIT + MILLI));
    assert_eq!(breaker.try_acquire().unwrap_err().retry_after(), Some(MILLI));
    clock.set(WAIT + MILLI);
    assert!(breaker.try_acquire().is_ok());
}

#[test]
fn closures_and_shared_clocks_are_clocks() {
    let nanos = Arc::new(AtomicU64::new(0));
    let read = {
        let nanos = Arc::clone(&nanos);
        move || Timestamp::from_nanos(nanos.load(Ordering::Relaxed))
    };
    let shared: Arc<dyn Clock + Send + Sync> = Arc::new(read);
    let one = CircuitBreaker::with_clock(strict().build().unwrap(), Arc::clone(&shared));
    let two = CircuitBreaker::with_clock(strict().build().unwrap(), shared);
    one.trip();
    two.trip();
    nanos.store(100_000_000, Ordering::Relaxed);
    assert_eq!((one.state(), two.state()), (State::HalfOpen, State::HalfOpen));
}

#[test]
fn a_shared_clock_keeps_its_own_precise_reading() {
    struct Lagging;
    impl Clock for Lagging {
        fn now(&self) -> Timestamp {
            Timestamp::from_nanos(1_000_000)
        }
        fn precise(&self) -> Timestamp {
            Timestamp::from_nanos(9_000_000)
        }
    }
    let clock = Arc::new(Lagging);
    assert_eq!((clock.now(), clock.precise()), (Lagging.now(), Lagging.precise()));
}

#[test]
fn a_lagging_clock_makes_a_wait_longer_and_never_shorter() {
    struct Coarse(ManualClock);
    impl Clock for Coarse {
        /// In steps of 50 ms.
        fn now(&self) -> Timestamp {
            Timestamp::from_nanos(self.0.now().as_nanos() / 50_000_000 * 50_000_000)
        }
        fn precise(&self) -> Timestamp {
            self.0.now()
        }
    }
    let clock = ManualClock::at(Duration::from_millis(49));
    let breaker = CircuitBreaker::with_clock(strict().build().unwrap(), Coarse(clock.clone()));
    breaker.trip();
    let admitted = (49..=300).find(|ms| {
        clock.set(Duration::from_millis(*ms));
        breaker.peek().is_ok()
    });
    assert_eq!(admitted, Some(150), "the first step that is not before 149");
}

#[test]
fn an_open_circuit_is_asked_for_the_time_and_a_healthy_one_is_not() {
    let readings = AtomicU64::new(0);
    let read = || {
        readings.fetch_add(1, Ordering::Relaxed);
        Timestamp::from_nanos(0)
    };
    let breaker = CircuitBreaker::with_clock(Config::default(), read);
    breaker.try_acquire().unwrap().success();
    breaker.try_acquire().unwrap().failure();
    breaker.call(|| Ok::<_, ()>(())).unwrap();
    breaker.peek().unwrap();
    assert_eq!(breaker.state(), State::Closed);
    assert_eq!(readings.load(Ordering::Relaxed), 0);
    breaker.trip();
    // Once more for each compare-and-swap that fails, as it may for no reason.
    assert!(readings.swap(0, Ordering::Relaxed) >= 1);
    breaker.try_acquire().unwrap_err();
    assert_eq!(readings.load(Ordering::Relaxed), 1);
}

#[test]
fn timestamps_tell_spans_and_show_themselves() {
    let (earlier, later) = (Timestamp::from_nanos(1_000), Timestamp::from_nanos(2_501_000));
    assert!(earlier < later);
    assert_eq!(later.saturating_duration_since(earlier), Duration::from_micros(2_500));
    assert_eq!(earlier.saturating_duration_since(later), Duration::ZERO);
    assert_eq!((later.as_nanos(), later.to_string()), (2_501_000, "2.501ms".to_owned()));
}

#[test]
#[cfg_attr(miri, ignore = "quanta reads the time stamp counter")]
fn quanta_clocks_share_one_origin_and_go_on() {
    let one = QuantaClock::new();
    let reading = one.now();
    assert!(QuantaClock::default().now() >= reading);
    let (quanta, std) = (one.now(), Instant::now());
    while std.elapsed() < 2 * MILLI {
        thread::yield_now();
    }
    let passed = one.now().saturating_duration_since(quanta);
    assert!(passed >= Duration::from_micros(1_900), "{passed:?}");
}

#[test]
#[cfg_attr(miri, ignore = "quanta reads the time stamp counter")]
fn a_coarse_clock_refuses_ticks_out_of_range() {
    let second = Duration::from_secs(1);
    for tick in [Duration::ZERO, just_before(MILLI), second + Duration::from_nanos(1), Duration::MAX] {
        let error = CoarseClock::start(tick).unwrap_err();
        assert!(matches!(error, CoarseClockError::Tick(refused) if refused == tick));
        assert_eq!(error.to_string(), format!("tick is {tick:?}, legal is 1ms..=1s"));
        assert!(error.source().is_none());
    }
    let _guard = coarse_clocks();
    for tick in [MILLI, second] {
        CoarseClock::start(tick).unwrap();
    }
}

#[test]
#[cfg_attr(miri, ignore = "quanta reads the time stamp counter")]
fn a_coarse_clock_lags_by_about_a_tick_and_does_not_lead() {
    let _guard = coarse_clocks();
    let clock = CoarseClock::start(MILLI).unwrap();
    let mut shown = HashSet::new();
    let start = Instant::now();
    while start.elapsed() < 20 * MILLI || shown.len() < 3 {
        let now = clock.now();
        shown.insert(now);
        // The last digit may be rounded differently.
        assert!(now.as_nanos() <= clock.precise().as_nanos() + 1);
        thread::yield_now();
    }
    assert!(format!("{clock:?}").contains("tick: 1ms"));
}

#[test]
#[cfg_attr(miri, ignore = "quanta reads the time stamp counter")]
fn on_a_coarse_clock_no_probe_is_early() {
    let _guard = coarse_clocks();
    let wait = 5 * MILLI;
    let clock = CoarseClock::start(20 * MILLI).unwrap();
    let breaker = CircuitBreaker::with_clock(strict().recovery_timeout(wait).build().unwrap(), clock);
    let start = Instant::now();
    breaker.trip();
    let probe = loop {
        match breaker.try_acquire() {
            Ok(probe) => break probe,
            Err(_) => thread::yield_now(),
        }
    };
    assert!(start.elapsed() >= wait);
    assert_eq!(probe.success(), Settled::Closed);
}

#[test]
#[cfg(target_os = "linux")]
#[cfg_attr(miri, ignore = "quanta reads the time stamp counter")]
fn the_thread_of_a_coarse_clock_ends_with_its_last_handle() {
    let _guard = coarse_clocks();
    let threads = || {
        let names = std::fs::read_dir("/proc/self/task")
            .unwrap()
            .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
        // The kernel keeps 15 bytes of a name.
        names.filter(|name| name.trim_end() == "atomic-breaker-").count()
    };
    // A thread gives itself its name, and is listed for a moment after it has ended.
    let soon = |count| {
        let start = Instant::now();
        while threads() != count {
            assert!(start.elapsed() < Duration::from_secs(20), "{} threads, expected {count}", threads());
            thread::yield_now();
        }
    };
    soon(0);
    let clock = CoarseClock::start(Duration::from_secs(1)).unwrap();
    let handle = clock.clone();
    soon(1);
    drop(clock);
    assert_eq!(threads(), 1, "clones share it");
    let start = Instant::now();
    drop(handle);
    assert!(start.elapsed() < Duration::from_millis(900), "it is woken, not waited for");
    soon(0);
}

#[test]
#[cfg_attr(miri, ignore = "quanta reads the time stamp counter")]
fn a_coarse_clock_goes_on_when_another_one_ends() {
    let _guard = coarse_clocks();
    let (one, other) = (CoarseClock::start(MILLI).unwrap(), CoarseClock::start(MILLI).unwrap());
    drop(other);
    let before = one.now();
    let start = Instant::now();
    while one.now() == before {
        assert!(start.elapsed() < Duration::from_secs(20), "recent time stands still");
        thread::yield_now();
    }
}

/// Recent time is one for the whole process, and so is the list of threads.
fn coarse_clocks() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}
