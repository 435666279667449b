//! Permits: one outcome each, given back when dropped.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use std::{mem, thread};

use atomic_breaker::{
    CircuitBreaker, Clock, ManualClock, Outcome, OwnedPermit, Permit, Reason, Rejected, Settled, State,
    Timestamp,
};

use crate::{WAIT, breaker, probing, strict};

#[test]
fn each_outcome_has_its_method_and_both_permits_have_them_all() {
    let (breaker, _) = breaker(strict().failure_threshold(100));
    let breaker = Arc::new(breaker);
    let took = Duration::from_secs(1);
    for _ in 0..2 {
        assert_eq!(breaker.try_acquire().unwrap().failure(), Settled::Applied);
        assert_eq!(breaker.try_acquire().unwrap().record(Outcome::Failure), Settled::Applied);
        assert_eq!(breaker.try_acquire_owned().unwrap().failure(), Settled::Applied);
        assert_eq!(breaker.try_acquire_owned().unwrap().record(Outcome::Failure), Settled::Applied);
        assert_eq!(breaker.try_acquire().unwrap().record_after(Outcome::Failure, took), Settled::Applied);
        let owned = breaker.try_acquire_owned().unwrap();
        assert_eq!(owned.record_after(Outcome::Failure, took), Settled::Applied);
        assert_eq!(breaker.snapshot().failures(), 6);
        assert_eq!(breaker.try_acquire().unwrap().ignore(), Settled::Applied);
        assert_eq!(breaker.try_acquire_owned().unwrap().ignore(), Settled::Applied);
        assert_eq!(breaker.snapshot().failures(), 6);
        assert_eq!(breaker.try_acquire_owned().unwrap().success(), Settled::Applied);
        assert_eq!(breaker.snapshot().failures(), 0);
    }
    breaker.try_acquire().unwrap().failure();
    assert_eq!(breaker.try_acquire().unwrap().success(), Settled::Applied);
    assert_eq!(breaker.snapshot().failures(), 0);
}

#[test]
fn a_dropped_permit_of_a_closed_circuit_changes_nothing() {
    let (breaker, _) = breaker(strict().failure_threshold(2));
    breaker.try_acquire().unwrap().failure();
    drop(breaker.try_acquire().unwrap());
    assert_eq!(breaker.snapshot().failures(), 1);
}

#[test]
fn a_dropped_probe_gives_its_slot_back_at_once() {
    let (breaker, _) = probing(strict());
    let breaker = Arc::new(breaker);
    drop(breaker.try_acquire().unwrap());
    drop(breaker.try_acquire_owned().unwrap());
    assert_eq!(breaker.snapshot().probes_in_flight(), 0);
    assert_eq!(breaker.try_acquire().unwrap().success(), Settled::Closed);
}

#[test]
fn a_settled_probe_gives_its_slot_back_once() {
    let (breaker, _) = probing(strict().half_open_max_calls(2).success_threshold(3));
    let breaker = Arc::new(breaker);
    let other = breaker.try_acquire().unwrap();
    breaker.try_acquire().unwrap().success();
    assert_eq!(breaker.snapshot().probes_in_flight(), 1);
    breaker.try_acquire_owned().unwrap().success();
    assert_eq!(breaker.snapshot().probes_in_flight(), 1);
    breaker.try_acquire_owned().unwrap().ignore();
    assert_eq!(breaker.snapshot().probes_in_flight(), 1);
    assert_eq!(other.success(), Settled::Closed);
}

#[test]
fn an_early_return_is_ignored() {
    fn hand_over(breaker: &CircuitBreaker<ManualClock>) -> Result<(), Rejected> {
        let _permit = breaker.try_acquire()?;
        Ok(())
    }
    let (breaker, _) = probing(strict());
    hand_over(&breaker).unwrap();
    assert_eq!((breaker.state(), breaker.snapshot().probes_in_flight()), (State::HalfOpen, 0));
}

#[test]
fn a_leaked_probe_is_written_off_after_the_wait() {
    let (breaker, clock) = probing(strict());
    mem::forget(breaker.try_acquire().unwrap());
    let rejected = breaker.try_acquire().unwrap_err();
    assert_eq!((rejected.reason(), rejected.retry_after()), (Reason::HalfOpen, Some(WAIT)));
    clock.advance(WAIT);
    assert_eq!(breaker.try_acquire().unwrap().success(), Settled::Closed);
}

#[test]
fn a_probe_that_reports_after_it_was_written_off_still_counts() {
    let (breaker, clock) = probing(strict().probe_timeout(Duration::from_millis(5)));
    let slow = breaker.try_acquire().unwrap();
    clock.advance(Duration::from_millis(5));
    let next = breaker.try_acquire().unwrap();
    assert_eq!(slow.success(), Settled::Closed);
    assert_eq!(next.failure(), Settled::Stale);
}

#[test]
fn a_probe_that_is_dropped_after_it_was_written_off_has_no_slot_to_give_back() {
    let (breaker, clock) = probing(strict());
    let slow = breaker.try_acquire().unwrap();
    clock.advance(WAIT);
    let next = breaker.try_acquire().unwrap();
    drop(slow);
    assert_eq!(breaker.snapshot().probes_in_flight(), 1);
    drop(next);
    assert_eq!(breaker.snapshot().probes_in_flight(), 0);
}

#[test]
fn with_never_a_hung_probe_blocks_until_it_reports() {
    let (breaker, clock) = probing(strict().probe_timeout_never());
    let hung = breaker.try_acquire().unwrap();
    clock.advance(Duration::from_secs(365 * 24 * 60 * 60));
    let rejected = breaker.try_acquire().unwrap_err();
    assert_eq!((rejected.reason(), rejected.retry_after()), (Reason::HalfOpen, None));
    drop(hung);
    assert!(breaker.try_acquire().is_ok());
}

#[test]
fn an_outcome_of_an_older_period_is_stale() {
    let (breaker, clock) = breaker(strict());
    let before = (0..3).map(|_| breaker.try_acquire().unwrap()).collect::<Vec<_>>();
    breaker.trip();
    clock.advance(WAIT);
    let probe = breaker.try_acquire().unwrap();
    let mut before = before.into_iter();
    assert_eq!(before.next().unwrap().success(), Settled::Stale, "half-open");
    assert_eq!(probe.success(), Settled::Closed);
    assert_eq!(before.next().unwrap().failure(), Settled::Stale, "closed again");
    breaker.force_closed();
    assert_eq!(before.next().unwrap().failure(), Settled::Stale);
}

#[test]
fn an_owned_permit_outlives_the_callers_handle_and_ends_on_another_thread() {
    fn assert_static<T: Send + Sync + 'static>(_: &T) {}
    let (breaker, _) = probing(strict());
    let breaker = Arc::new(breaker);
    let permit = breaker.try_acquire_owned().unwrap();
    assert_static(&permit);
    let weak = Arc::downgrade(&breaker);
    drop(breaker);
    assert_eq!(weak.upgrade().unwrap().snapshot().probes_in_flight(), 1);
    assert_eq!(thread::spawn(move || permit.success()).join().unwrap(), Settled::Closed);
    assert!(weak.upgrade().is_none(), "the permit's share was the last");
}

#[test]
fn settling_an_owned_permit_gives_its_share_back() {
    let (breaker, _) = breaker(strict());
    let breaker = Arc::new(breaker);
    for outcome in [Outcome::Success, Outcome::Ignored, Outcome::Failure] {
        breaker.try_acquire_owned().unwrap().record(outcome);
        assert_eq!(Arc::strong_count(&breaker), 1);
    }
    breaker.reset();
    drop(breaker.try_acquire_owned().unwrap());
    assert_eq!(Arc::strong_count(&breaker), 1);
    breaker.force_open();
    assert!(breaker.try_acquire_owned().is_err());
    assert_eq!(Arc::strong_count(&breaker), 1);
}

#[test]
fn a_clock_that_panics_costs_no_slot() {
    let broken = AtomicBool::new(false);
    let nanos = AtomicU64::new(0);
    let clock = || {
        assert!(!broken.load(Ordering::Relaxed), "the clock's");
        Timestamp::from_nanos(nanos.load(Ordering::Relaxed))
    };
    let breaker = Arc::new(CircuitBreaker::with_clock(strict().build().unwrap(), clock));
    breaker.trip();
    nanos.store(u64::try_from(WAIT.as_nanos()).unwrap(), Ordering::Relaxed);

    let asked = {
        broken.store(true, Ordering::Relaxed);
        catch_unwind(AssertUnwindSafe(|| breaker.try_acquire().is_ok()))
    };
    assert!(asked.is_err());
    broken.store(false, Ordering::Relaxed);
    assert_eq!(breaker.snapshot().state(), State::Open, "nothing happened");

    for owned in [false, true] {
        let settle: Box<dyn FnOnce() -> Settled> = if owned {
            let permit = breaker.try_acquire_owned().unwrap();
            Box::new(move || permit.failure())
        } else {
            let permit = breaker.try_acquire().unwrap();
            Box::new(move || permit.success())
        };
        assert_eq!(breaker.snapshot().probes_in_flight(), 1);
        broken.store(true, Ordering::Relaxed);
        assert!(catch_unwind(AssertUnwindSafe(settle)).is_err());
        broken.store(false, Ordering::Relaxed);
        assert_eq!(breaker.snapshot().probes_in_flight(), 0, "as if it was dropped");
    }
    assert_eq!(breaker.try_acquire().unwrap().success(), Settled::Closed);
}

#[test]
fn permits_show_what_they_were_granted_under() {
    fn shown<C: Clock>(permit: &Permit<'_, C>) -> String {
        format!("{permit:?}")
    }
    fn shown_owned<C: Clock>(permit: &OwnedPermit<C>) -> String {
        format!("{permit:?}")
    }
    let (breaker, clock) = probing(strict());
    let breaker = Arc::new(breaker);
    let probe = breaker.try_acquire().unwrap();
    assert_eq!(
        shown(&probe),
        r#"Permit(Ticket { granted: "half_open, slot taken", entered_ms: 100, turn: 2, reopens: 0 })"#
    );
    probe.success();
    let owned = breaker.try_acquire_owned().unwrap();
    assert!(shown_owned(&owned).starts_with(r#"OwnedPermit(Ticket { granted: "closed""#));

    let unlimited = breaker.config().to_builder().half_open_unlimited().build().unwrap();
    breaker.reconfigure(unlimited).unwrap();
    breaker.trip();
    clock.advance(WAIT);
    let shown_now = || shown(&breaker.try_acquire().unwrap());
    assert!(shown_now().starts_with(r#"Permit(Ticket { granted: "half_open", "#));
    breaker.force_closed();
    assert!(shown_now().starts_with(r#"Permit(Ticket { granted: "forced_closed", "#));
    breaker.force_open();
    let shadow = breaker.config().to_builder().shadow(true).build().unwrap();
    breaker.reconfigure(shadow).unwrap();
    assert_eq!(shown_now(), "Permit(Ticket(stale from birth))");
}
