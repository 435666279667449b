//! Sizes and marker traits, which only the compiler would otherwise notice.

use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::LazyLock;

use atomic_breaker::{
    CircuitBreaker, CoarseClock, Config, ConfigBuilder, ConfigError, Error, ManualClock, OwnedPermit, Permit,
    QuantaClock, Rejected, Snapshot, Transition,
};

#[test]
#[cfg(target_pointer_width = "64")]
fn sizes_are_as_documented() {
    assert_eq!(size_of::<CircuitBreaker>(), 128);
    assert_eq!(size_of::<CircuitBreaker<ManualClock>>(), 128);
    assert_eq!(size_of::<Permit<'_>>(), 16);
    assert_eq!(size_of::<OwnedPermit>(), 16);
    assert_eq!(size_of::<Rejected>(), 24);
    assert_eq!(size_of::<Result<Permit<'_>, Rejected>>(), 24);
    assert_eq!(size_of::<Result<OwnedPermit, Rejected>>(), 24);
    assert_eq!(size_of::<Error<()>>(), 24);
}

#[test]
fn everything_can_be_shared_and_sent() {
    fn assert_shared<T: Send + Sync>() {}
    assert_shared::<CircuitBreaker>();
    assert_shared::<CircuitBreaker<ManualClock>>();
    assert_shared::<CircuitBreaker<CoarseClock>>();
    assert_shared::<Permit<'_>>();
    assert_shared::<OwnedPermit>();
    assert_shared::<Config>();
    assert_shared::<ConfigBuilder>();
    assert_shared::<ConfigError>();
    assert_shared::<Rejected>();
    assert_shared::<Error<String>>();
    assert_shared::<Snapshot>();
    assert_shared::<Transition>();
    assert_shared::<QuantaClock>();
}

#[test]
fn small_things_unwind_safely() {
    fn assert_unwind_safe<T: UnwindSafe + RefUnwindSafe>() {}
    assert_unwind_safe::<Rejected>();
    assert_unwind_safe::<Error<()>>();
    assert_unwind_safe::<Snapshot>();
}

#[test]
#[cfg_attr(miri, ignore = "quanta reads the time stamp counter")]
fn a_breaker_lives_in_a_static() {
    static BREAKER: LazyLock<CircuitBreaker> = LazyLock::new(|| CircuitBreaker::new(Config::default()));
    assert_eq!(BREAKER.call(|| Ok::<_, ()>(1)), Ok(1));
    let permit: Permit<'static> = BREAKER.try_acquire().unwrap();
    std::thread::spawn(move || permit.success()).join().unwrap();
}
