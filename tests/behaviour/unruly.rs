//! Observers that use the breaker, panic, or both: harmless whatever they do.

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use atomic_breaker::{CircuitBreaker, Config, ManualClock, Observer, Rejected, Settled, State, Transition};

use crate::{WAIT, breaker, strict};

type Act = fn(&CircuitBreaker<ManualClock>);

/// Does something with the breaker, once.
struct Once {
    breaker: OnceLock<Arc<CircuitBreaker<ManualClock>>>,
    act: Act,
    acted: AtomicU32,
}

impl Once {
    fn watching(act: Act) -> (Arc<CircuitBreaker<ManualClock>>, Arc<Self>) {
        let once = Arc::new(Self { breaker: OnceLock::new(), act, acted: AtomicU32::new(0) });
        let (breaker, _) = breaker(strict().observer(Arc::clone(&once)));
        let breaker = Arc::new(breaker);
        assert!(once.breaker.set(Arc::clone(&breaker)).is_ok());
        (breaker, once)
    }

    fn act(&self) {
        if self.acted.fetch_add(1, Ordering::Relaxed) == 0 {
            (self.act)(self.breaker.get().unwrap());
        }
    }
}

impl Observer for Once {
    fn on_transition(&self, _: &Transition) {
        self.act();
    }

    fn on_rejected(&self, _: &Rejected) {
        self.act();
    }
}

#[test]
fn an_observer_may_use_the_breaker() {
    let table: [(Act, State, u32); 6] = [
        (|breaker| breaker.reset(), State::Closed, 2),
        (|breaker| breaker.force_closed(), State::ForcedClosed, 2),
        (|breaker| breaker.trip(), State::Open, 1),
        (|breaker| assert!(breaker.try_acquire().is_err()), State::Open, 2),
        (|breaker| assert_eq!(breaker.state(), State::Open), State::Open, 1),
        (|breaker| assert!(breaker.call(|| Ok::<_, ()>(())).is_err()), State::Open, 2),
    ];
    for (act, state, told) in table {
        let (breaker, once) = Once::watching(act);
        assert_eq!(breaker.try_acquire().unwrap().failure(), Settled::Opened, "what the caller did");
        assert_eq!(breaker.state(), state, "what the observer did");
        assert_eq!(once.acted.load(Ordering::Relaxed), told);
        unlink(&breaker);
    }
}

#[test]
fn an_observer_may_reconfigure_the_breaker() {
    let (breaker, once) = Once::watching(|breaker| {
        breaker.reconfigure(strict().recovery_timeout(3 * WAIT).build().unwrap()).unwrap();
    });
    breaker.trip();
    assert_eq!(breaker.try_acquire().unwrap_err().retry_after(), Some(3 * WAIT));
    assert_eq!(once.acted.load(Ordering::Relaxed), 1, "replaced by its own hand");
}

#[test]
fn an_observer_of_a_rejection_may_reset_the_breaker() {
    let (breaker, once) = Once::watching(CircuitBreaker::reset);
    let watched = breaker.config();
    unlink(&breaker);
    breaker.trip();
    breaker.reconfigure(watched.to_builder().build().unwrap()).unwrap();
    assert!(breaker.try_acquire().is_err(), "decided before the observer came");
    assert_eq!(breaker.state(), State::Closed);
    assert_eq!(once.acted.load(Ordering::Relaxed), 2, "the rejection, and the reset inside");
    unlink(&breaker);
}

/// Breaks the circle of breaker and observer.
fn unlink(breaker: &CircuitBreaker<ManualClock>) {
    breaker.reconfigure(Config::default()).unwrap();
}

/// Answers each event with another.
struct Restless {
    breaker: OnceLock<Arc<CircuitBreaker<ManualClock>>>,
    heard: AtomicU32,
}

impl Observer for Restless {
    fn on_transition(&self, transition: &Transition) {
        self.heard.fetch_add(1, Ordering::Relaxed);
        let breaker = self.breaker.get().unwrap();
        match transition.to() {
            State::ForcedOpen => breaker.force_closed(),
            _ => breaker.force_open(),
        }
    }

    fn on_rejected(&self, _: &Rejected) {
        self.heard.fetch_add(1, Ordering::Relaxed);
        assert!(self.breaker.get().unwrap().try_acquire().is_err());
    }
}

#[test]
fn observers_that_answer_each_event_with_another_come_to_an_end() {
    let restless = Arc::new(Restless { breaker: OnceLock::new(), heard: AtomicU32::new(0) });
    let (breaker, _) = breaker(strict().observer(Arc::clone(&restless)));
    let breaker = Arc::new(breaker);
    assert!(restless.breaker.set(Arc::clone(&breaker)).is_ok());
    // As deep as the documentation says, each time anew.
    for round in 1..=3 {
        breaker.trip();
        assert_eq!(restless.heard.load(Ordering::Relaxed), 4 * round);
    }
    breaker.force_open();
    restless.heard.store(0, Ordering::Relaxed);
    assert!(breaker.try_acquire().is_err());
    assert_eq!(restless.heard.load(Ordering::Relaxed), 4);
    unlink(&breaker);
}

struct Deaf;

impl Observer for Deaf {}

/// Panics whenever it hears something.
struct Panicking(fn());

impl Observer for Panicking {
    fn on_transition(&self, _: &Transition) {
        (self.0)();
    }

    fn on_rejected(&self, _: &Rejected) {
        (self.0)();
    }
}

/// Panics once more when it is dropped.
struct Bomb(u32);

impl Drop for Bomb {
    fn drop(&mut self) {
        if self.0 > 0 {
            panic_any(Self(self.0 - 1));
        }
    }
}

fn panics() -> [fn(); 4] {
    [
        || panic!("the observer's"),
        || resume_unwind(Box::new("quietly")),
        || panic_any(Bomb(1)),
        || panic_any(Bomb(5)),
    ]
}

#[test]
fn an_observer_that_panics_harms_neither_breaker_nor_caller() {
    // What a payload's destructor panics with is forgotten, which Miri reports as leaked.
    let quiet = if cfg!(miri) { 2 } else { 4 };
    for panic in panics().into_iter().take(quiet) {
        let (breaker, clock) = breaker(strict().observer(Panicking(panic)));
        assert_eq!(breaker.try_acquire().unwrap().failure(), Settled::Opened);
        assert_eq!(breaker.try_acquire().unwrap_err().retry_after(), Some(WAIT));
        clock.advance(WAIT);
        let probe = breaker.try_acquire().unwrap();
        assert_eq!(breaker.snapshot().probes_in_flight(), 1, "the slot is the caller's");
        assert_eq!(probe.success(), Settled::Closed);
        assert_eq!(breaker.call(|| Ok::<_, ()>(1)), Ok(1));
        breaker.trip();
        breaker.force_open();
        breaker.force_closed();
        breaker.reset();
        assert_eq!(breaker.state(), State::Closed);
    }
}

#[test]
#[cfg_attr(miri, ignore = "a panic during another prints a backtrace, which takes Miri a minute")]
fn an_observer_that_panics_while_its_caller_unwinds_does_not_abort() {
    struct Guard<'a>(&'a CircuitBreaker<ManualClock>);
    impl Drop for Guard<'_> {
        fn drop(&mut self) {
            assert_eq!(self.0.try_acquire().unwrap().failure(), Settled::Opened);
        }
    }
    let (breaker, _) = breaker(strict().observer(Panicking(|| panic!("the observer's"))));
    let unwinding = || {
        let _guard = Guard(&breaker);
        panic!("the caller's");
    };
    assert!(catch_unwind(AssertUnwindSafe(unwinding)).is_err());
    assert_eq!(breaker.state(), State::Open);
}

/// Regression: the last handle to a replaced observer may be the one under which it was told something.
#[test]
fn an_observer_whose_destructor_panics_after_it_was_replaced_harms_nobody() {
    struct LastWords(OnceLock<Arc<CircuitBreaker<ManualClock>>>);
    impl LastWords {
        fn replace(&self) {
            let breaker = self.0.get().unwrap();
            breaker.reconfigure(breaker.config().to_builder().observer(Deaf).build().unwrap()).unwrap();
        }
    }
    impl Observer for LastWords {
        fn on_transition(&self, _: &Transition) {
            self.replace();
        }
        fn on_rejected(&self, _: &Rejected) {
            self.replace();
        }
    }
    impl Drop for LastWords {
        fn drop(&mut self) {
            panic!("the observer's destructor");
        }
    }
    fn watched(open: bool) -> Arc<CircuitBreaker<ManualClock>> {
        let (breaker, _) = breaker(strict());
        let breaker = Arc::new(breaker);
        if open {
            breaker.trip();
        }
        let observer = Arc::new(LastWords(OnceLock::new()));
        breaker.reconfigure(strict().observer(Arc::clone(&observer)).build().unwrap()).unwrap();
        assert!(observer.0.set(Arc::clone(&breaker)).is_ok());
        breaker
    }

    assert_eq!(watched(false).try_acquire().unwrap().failure(), Settled::Opened);
    assert_eq!(watched(true).try_acquire().unwrap_err().retry_after(), Some(WAIT));
}
