//! Switches and readings, reconfiguration in use.

use std::collections::HashSet;
use std::time::Duration;

use atomic_breaker::engine::StateCell;
use atomic_breaker::{Reason, Settled, State, Timestamp};

use crate::{WAIT, breaker, probing, strict};

#[test]
fn forced_circuits_do_not_look_at_the_clock() {
    let (breaker, clock) = breaker(strict());
    breaker.force_open();
    clock.advance(Duration::from_secs(365 * 24 * 60 * 60));
    let rejected = breaker.try_acquire().unwrap_err();
    assert_eq!((rejected.reason(), rejected.retry_after()), (Reason::ForcedOpen, None));
    assert_eq!(breaker.state(), State::ForcedOpen);
    breaker.force_closed();
    for _ in 0..10 {
        assert_eq!(breaker.try_acquire().unwrap().failure(), Settled::Applied);
    }
    assert_eq!(breaker.state(), State::ForcedClosed);
}

#[test]
fn a_trip_hands_a_forced_circuit_back_to_the_timer() {
    let (breaker, clock) = breaker(strict());
    breaker.force_open();
    breaker.trip();
    assert_eq!(breaker.try_acquire().unwrap_err().retry_after(), Some(WAIT));
    clock.advance(WAIT);
    assert_eq!(breaker.try_acquire().unwrap().success(), Settled::Closed);
}

#[test]
fn a_trip_while_the_wait_runs_does_not_prolong_it() {
    let (breaker, clock) = breaker(strict());
    breaker.trip();
    clock.advance(WAIT / 2);
    breaker.trip();
    assert_eq!(breaker.try_acquire().unwrap_err().retry_after(), Some(WAIT / 2));
    clock.advance(WAIT / 2);
    breaker.trip();
    assert_eq!(breaker.try_acquire().unwrap_err().retry_after(), Some(WAIT), "it was over");
}

#[test]
fn reading_changes_nothing() {
    let (breaker, _) = probing(strict());
    let before = format!("{breaker:?}");
    assert_eq!(breaker.state(), State::HalfOpen);
    assert_eq!(breaker.snapshot().state(), State::Open);
    assert!(breaker.snapshot().is_probe_due());
    assert_eq!(breaker.snapshot().retry_after(), None);
    assert_eq!(breaker.peek(), Ok(()));
    assert_eq!(format!("{breaker:?}"), before);
    assert!(
        before.starts_with(r#"CircuitBreaker { name: "", word: Word { mode: Open, entered_ms: 0, turn: 1"#)
    );
}

#[test]
fn a_cell_shows_its_word() {
    let cell = StateCell::new();
    cell.force_open(&|| Timestamp::from_nanos(3_000_000));
    let shown = format!("{cell:?}");
    assert!(shown.starts_with("StateCell(Word { mode: ForcedOpen, entered_ms: 3, turn: 1"), "{shown}");
}

#[test]
fn circuits_that_open_together_do_not_probe_together() {
    let waits: HashSet<_> = (0..20)
        .map(|_| {
            let (breaker, _) = breaker(strict().recovery_timeout(Duration::from_secs(60)).jitter(1.0));
            breaker.trip();
            breaker.try_acquire().unwrap_err().retry_after()
        })
        .collect();
    assert!(waits.len() > 10, "{waits:?}");
}

#[test]
fn a_new_wait_counts_from_the_opening() {
    let (breaker, clock) = breaker(strict());
    breaker.trip();
    clock.advance(WAIT / 2);
    let wait = |wait| strict().recovery_timeout(wait).build().unwrap();
    breaker.reconfigure(wait(3 * WAIT)).unwrap();
    assert_eq!(breaker.try_acquire().unwrap_err().retry_after(), Some(WAIT * 5 / 2));
    breaker.reconfigure(wait(WAIT / 2)).unwrap();
    assert_eq!(breaker.state(), State::HalfOpen);
}

#[test]
fn a_lowered_threshold_trips_at_the_next_failure_not_before() {
    let (breaker, _) = breaker(strict().failure_threshold(10));
    for _ in 0..5 {
        breaker.try_acquire().unwrap().failure();
    }
    breaker.reconfigure(strict().failure_threshold(3).build().unwrap()).unwrap();
    assert_eq!(breaker.state(), State::Closed);
    assert_eq!(breaker.try_acquire().unwrap().ignore(), Settled::Applied);
    assert_eq!(breaker.try_acquire().unwrap().failure(), Settled::Opened);
}

#[test]
fn with_fewer_slots_nobody_is_admitted_until_below() {
    let slots = |slots| strict().half_open_max_calls(slots).success_threshold(10);
    let (breaker, _) = probing(slots(3));
    let mut probes: Vec<_> = (0..3).map(|_| breaker.try_acquire().unwrap()).collect();
    breaker.reconfigure(slots(1).build().unwrap()).unwrap();
    for left in [3, 2, 1] {
        assert_eq!(breaker.snapshot().probes_in_flight(), left);
        assert!(breaker.try_acquire().is_err());
        probes.pop().unwrap().success();
    }
    assert!(breaker.try_acquire().is_ok());
}

#[test]
fn unlimited_and_back_loses_no_slot() {
    let (breaker, _) = probing(strict().success_threshold(10));
    let counted = breaker.try_acquire().unwrap();
    breaker.reconfigure(strict().success_threshold(10).half_open_unlimited().build().unwrap()).unwrap();
    let uncounted: Vec<_> = (0..5).map(|_| breaker.try_acquire().unwrap()).collect();
    assert_eq!(breaker.snapshot().probes_in_flight(), 1);
    breaker.reconfigure(strict().success_threshold(10).build().unwrap()).unwrap();
    drop(uncounted);
    assert_eq!(breaker.snapshot().probes_in_flight(), 1);
    counted.success();
    assert_eq!(breaker.snapshot().probes_in_flight(), 0);
}

#[test]
fn back_off_that_comes_late_knows_the_failed_periods_before_it() {
    let (breaker, clock) = breaker(strict());
    breaker.trip();
    for _ in 0..3 {
        clock.advance(WAIT);
        breaker.try_acquire().unwrap().failure();
    }
    assert_eq!(breaker.try_acquire().unwrap_err().retry_after(), Some(WAIT));
    breaker.reconfigure(strict().backoff(2.0, 100 * WAIT).build().unwrap()).unwrap();
    assert_eq!(breaker.try_acquire().unwrap_err().retry_after(), Some(8 * WAIT));
    breaker.reconfigure(strict().backoff(2.0, 5 * WAIT).build().unwrap()).unwrap();
    assert_eq!(breaker.try_acquire().unwrap_err().retry_after(), Some(5 * WAIT));
    breaker.reconfigure(strict().build().unwrap()).unwrap();
    assert_eq!(breaker.try_acquire().unwrap_err().retry_after(), Some(WAIT));
}
