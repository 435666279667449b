//! Observers: what they are told, and when they are not.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use atomic_breaker::{Cause, Clock, Observer, Outcome, Rejected, Settled, State, Timestamp, Transition};

use crate::{WAIT, breaker, strict};

/// Keeps what it hears.
#[derive(Default)]
struct Log {
    transitions: Mutex<Vec<Transition>>,
    rejections: Mutex<Vec<Rejected>>,
}

impl Log {
    fn moves(&self) -> Vec<(State, State)> {
        self.transitions.lock().unwrap().iter().map(|told| (told.from(), told.to())).collect()
    }

    fn last(&self) -> Transition {
        *self.transitions.lock().unwrap().last().unwrap()
    }

    fn rejections(&self) -> usize {
        self.rejections.lock().unwrap().len()
    }
}

impl Observer for Log {
    fn on_transition(&self, transition: &Transition) {
        self.transitions.lock().unwrap().push(*transition);
    }

    fn on_rejected(&self, rejected: &Rejected) {
        self.rejections.lock().unwrap().push(*rejected);
    }
}

#[test]
fn a_round_trip_is_told_step_by_step_with_its_numbers() {
    let log = Arc::new(Log::default());
    let config = strict().name("orders").failure_threshold(2).success_threshold(2).half_open_max_calls(2);
    let config = config.backoff(2.0, Duration::from_secs(10)).observer(Arc::clone(&log));
    let (breaker, clock) = breaker(config);
    let fail = || breaker.try_acquire().unwrap().failure();

    clock.set(Duration::from_nanos(5_000_001));
    fail();
    assert_eq!(fail(), Settled::Opened);
    let told = log.last();
    assert_eq!((told.from(), told.to(), told.cause()), (State::Closed, State::Open, Cause::Failures));
    assert_eq!((told.failures(), told.probe_successes(), told.reopens(), told.turn()), (2, 0, 0, 1));
    assert_eq!((told.circuit(), told.wait()), ("orders", Some(WAIT)));
    assert_eq!(told.at(), Timestamp::from_nanos(5_000_001));

    clock.advance(2 * WAIT);
    let at = clock.now();
    let probe = breaker.try_acquire().unwrap();
    let told = log.last();
    assert_eq!((told.from(), told.to(), told.cause()), (State::Open, State::HalfOpen, Cause::WaitOver));
    assert_eq!((told.failures(), told.probe_successes(), told.turn()), (0, 0, 2));
    assert_eq!((told.at(), told.wait()), (at, None));

    assert_eq!(probe.failure(), Settled::Opened);
    let told = log.last();
    assert_eq!((told.from(), told.to(), told.cause()), (State::HalfOpen, State::Open, Cause::ProbeFailed));
    assert_eq!((told.reopens(), told.wait()), (1, Some(2 * WAIT)));

    clock.advance(3 * WAIT);
    breaker.try_acquire().unwrap().success();
    assert_eq!(breaker.try_acquire().unwrap().success(), Settled::Closed);
    let told = log.last();
    assert_eq!(
        (told.from(), told.to(), told.cause()),
        (State::HalfOpen, State::Closed, Cause::ProbesSucceeded)
    );
    assert_eq!((told.failures(), told.probe_successes(), told.wait()), (0, 2, None));
    assert_eq!(log.moves().len(), 5);
}

#[test]
fn the_operators_switches_are_told_with_their_cause() {
    let log = Arc::new(Log::default());
    let (breaker, _) = breaker(strict().failure_threshold(5).observer(Arc::clone(&log)));
    breaker.try_acquire().unwrap().failure();
    breaker.trip();
    assert_eq!((log.last().cause(), log.last().failures(), log.last().wait()), (Cause::Trip, 1, Some(WAIT)));
    breaker.reset();
    assert_eq!(log.last().cause(), Cause::Reset);
    breaker.force_open();
    assert_eq!((log.last().cause(), log.last().to()), (Cause::Force, State::ForcedOpen));
    breaker.force_closed();
    assert_eq!((log.last().cause(), log.last().from()), (Cause::Force, State::ForcedOpen));
    breaker.trip();
    assert_eq!((log.last().from(), log.last().to()), (State::ForcedClosed, State::Open));
    assert_eq!(log.moves().len(), 5);
}

#[test]
fn what_changes_no_state_is_not_told() {
    let log = Arc::new(Log::default());
    let (breaker, clock) = breaker(strict().failure_threshold(5).observer(Arc::clone(&log)));
    breaker.reset();
    breaker.try_acquire().unwrap().failure();
    breaker.reset();
    assert_eq!(breaker.snapshot().failures(), 0);
    assert!(log.moves().is_empty(), "a closed circuit that is reset");
    breaker.trip();
    breaker.trip();
    clock.advance(WAIT);
    breaker.trip();
    assert_eq!(log.moves().len(), 1, "the wait restarts");
    breaker.force_open();
    breaker.force_open();
    assert_eq!(log.moves().len(), 2);
    let _ = (breaker.state(), breaker.snapshot(), breaker.peek());
    assert_eq!((log.moves().len(), log.rejections()), (2, 0), "reading");
}

#[test]
fn a_rejection_is_told_as_the_caller_gets_it() {
    let log = Arc::new(Log::default());
    let (breaker, _) = breaker(strict().observer(Arc::clone(&log)));
    breaker.trip();
    let rejected = breaker.try_acquire().unwrap_err();
    assert_eq!(*log.rejections.lock().unwrap(), [rejected]);
    breaker.call(|| Ok::<_, ()>(())).unwrap_err();
    let told = log.rejections.lock().unwrap()[1];
    assert!(told.circuit().ends_with("a_rejection_is_told_as_the_caller_gets_it"));
    breaker.force_open();
    breaker.try_acquire().unwrap_err();
    assert_eq!(log.rejections(), 3);
}

#[test]
fn in_shadow_mode_the_rejected_are_admitted_counted_nowhere_and_told() {
    let log = Arc::new(Log::default());
    let (breaker, clock) = breaker(strict().shadow(true).observer(Arc::clone(&log)));
    assert_eq!(breaker.try_acquire().unwrap().failure(), Settled::Opened, "it runs as it would");
    assert_eq!(breaker.state(), State::Open);
    for outcome in [Outcome::Success, Outcome::Failure, Outcome::Ignored] {
        assert_eq!(breaker.try_acquire().unwrap().record(outcome), Settled::Stale);
    }
    drop(breaker.try_acquire().unwrap());
    assert_eq!(log.rejections(), 4);
    assert_eq!(breaker.peek(), Ok(()));
    assert_eq!(breaker.snapshot().retry_after(), Some(WAIT), "what would have been said");

    clock.advance(WAIT);
    let probe = breaker.try_acquire().unwrap();
    let beside = breaker.try_acquire().unwrap();
    assert_eq!(breaker.snapshot().probes_in_flight(), 1);
    assert_eq!(beside.failure(), Settled::Stale);
    assert_eq!(probe.success(), Settled::Closed);
    breaker.force_open();
    assert!(breaker.call(|| Ok::<_, ()>(())).is_ok());
    assert_eq!(log.rejections(), 6);
}

#[test]
fn shadow_mode_is_left_by_reconfiguring() {
    let (breaker, _) = breaker(strict().shadow(true));
    breaker.trip();
    assert!(breaker.try_acquire().is_ok());
    breaker.reconfigure(breaker.config().to_builder().shadow(false).build().unwrap()).unwrap();
    assert!(breaker.try_acquire().is_err());
}

#[test]
fn a_replaced_observer_hears_no_more_and_is_let_go() {
    let (first, second) = (Arc::new(Log::default()), Arc::new(Log::default()));
    let (breaker, clock) = breaker(strict().observer(Arc::clone(&first)));
    breaker.trip();
    breaker.reconfigure(strict().observer(Arc::clone(&second)).build().unwrap()).unwrap();
    assert_eq!(Arc::strong_count(&first), 1);
    breaker.try_acquire().unwrap_err();
    clock.advance(WAIT);
    breaker.try_acquire().unwrap().success();
    assert_eq!((first.moves().len(), first.rejections()), (1, 0));
    assert_eq!((second.moves().len(), second.rejections()), (2, 1));
    breaker.reconfigure(strict().build().unwrap()).unwrap();
    breaker.trip();
    assert_eq!(second.moves().len(), 2);
    assert_eq!(Arc::strong_count(&second), 1);
}

#[test]
fn observers_need_hear_nothing_and_may_be_shared() {
    struct Deaf;
    impl Observer for Deaf {}
    let (deaf, clock) = breaker(strict().observer(Deaf));
    deaf.trip();
    deaf.try_acquire().unwrap_err();
    clock.advance(WAIT);
    assert!(deaf.try_acquire().is_ok());

    let log = Arc::new(Log::default());
    let boxed: Box<dyn Observer> = Box::new(Arc::clone(&log));
    let (watched, _) = breaker(strict().observer(boxed));
    watched.trip();
    watched.try_acquire().unwrap_err();
    assert_eq!((log.moves().len(), log.rejections()), (1, 1));

    let shared: Arc<dyn Observer> = Arc::new(Deaf);
    let (first, _) = breaker(strict().observer(Arc::clone(&shared)));
    let (second, _) = breaker(strict().observer(shared));
    first.trip();
    second.trip();
    assert!(first.config().observer().is_some());
}
