//! `call` and its kin, `wrap`.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use atomic_breaker::{Error, Outcome, Rejected, State, failure_if, success_unless};

use crate::{WAIT, breaker, probing, strict};

#[test]
fn a_call_returns_what_the_function_returns() {
    let (breaker, _) = breaker(strict());
    assert_eq!(breaker.call(|| Ok::<_, ()>("value")), Ok("value"));
    assert_eq!(breaker.call(|| Err::<(), _>("error")), Err(Error::Inner("error")));
}

#[test]
fn a_rejected_call_is_not_made() {
    let (breaker, _) = breaker(strict());
    breaker.trip();
    let made = Cell::new(false);
    let result = breaker.call(|| {
        made.set(true);
        Ok::<_, ()>(())
    });
    assert!(result.unwrap_err().is_rejected());
    assert!(!made.get());
}

#[test]
fn any_error_is_a_failure_and_any_value_a_success() {
    let (breaker, _) = breaker(strict().failure_threshold(2));
    breaker.call(|| Err::<(), _>(())).unwrap_err();
    assert_eq!(breaker.snapshot().failures(), 1);
    breaker.call(|| Ok::<_, ()>(())).unwrap();
    assert_eq!(breaker.snapshot().failures(), 0);
}

#[test]
fn the_classifier_decides_and_sees_the_result() {
    let (breaker, _) = breaker(strict());
    let five_is_failure = |result: &Result<u8, ()>| match result {
        Ok(5) => Outcome::Failure,
        _ => Outcome::Ignored,
    };
    assert_eq!(breaker.call_with(five_is_failure, || Err(())), Err(Error::Inner(())));
    assert_eq!(breaker.state(), State::Closed);
    assert_eq!(breaker.call_with(five_is_failure, || Ok(5)), Ok(5));
    assert_eq!(breaker.state(), State::Open);
}

#[test]
fn errors_that_are_no_failures_are_ignored_or_count_as_successes() {
    let (breaker, _) = breaker(strict().failure_threshold(2));
    let status = |status: u16| move || Err::<(), u16>(status);
    breaker.call_with(failure_if(|status| *status >= 500), status(500)).unwrap_err();
    breaker.call_with(failure_if(|status| *status >= 500), status(404)).unwrap_err();
    assert_eq!(breaker.snapshot().failures(), 1, "ignored");
    breaker.call_with(success_unless(|status| *status >= 500), status(404)).unwrap_err();
    assert_eq!(breaker.snapshot().failures(), 0, "a success");
    breaker.call_with(success_unless(|status| *status >= 500), status(500)).unwrap_err();
    assert_eq!(breaker.snapshot().failures(), 1, "a failure");
}

#[test]
fn a_call_into_the_callers_own_error_carries_the_rejection() {
    #[derive(Debug, PartialEq)]
    enum Own {
        Io,
        Unavailable(Rejected),
    }
    impl From<Rejected> for Own {
        fn from(rejected: Rejected) -> Self {
            Self::Unavailable(rejected)
        }
    }

    let (breaker, _) = breaker(strict().name("orders"));
    assert_eq!(breaker.call_into(|| Ok::<_, Own>(7)), Ok(7));
    assert_eq!(breaker.call_into(|| Err::<(), _>(Own::Io)), Err(Own::Io));
    match breaker.call_into(|| Ok::<_, Own>(7)).unwrap_err() {
        Own::Unavailable(rejected) => assert_eq!(rejected.circuit(), "orders"),
        Own::Io => panic!("the circuit is open"),
    }
}

#[test]
fn a_panic_goes_on_and_is_ignored() {
    let (breaker, _) = breaker(strict());
    let call = || breaker.call(|| -> Result<(), ()> { panic!("the caller's") });
    let payload = catch_unwind(AssertUnwindSafe(call)).unwrap_err();
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"the caller's"));
    assert_eq!((breaker.state(), breaker.snapshot().failures()), (State::Closed, 0));
}

#[test]
fn a_probe_that_panics_gives_its_slot_back() {
    let (breaker, _) = probing(strict());
    let call = || breaker.call(|| -> Result<(), ()> { panic!("the caller's") });
    assert!(catch_unwind(AssertUnwindSafe(call)).is_err());
    assert_eq!((breaker.state(), breaker.snapshot().probes_in_flight()), (State::HalfOpen, 0));
    assert_eq!(breaker.call(|| Ok::<_, ()>(1)), Ok(1));
    assert_eq!(breaker.state(), State::Closed);
}

#[test]
fn a_classifier_that_panics_is_a_call_that_is_ignored() {
    let (breaker, _) = probing(strict());
    let call = || breaker.call_with(|_| panic!("the classifier's"), || Err::<(), _>(()));
    assert!(catch_unwind(AssertUnwindSafe(call)).is_err());
    assert_eq!((breaker.state(), breaker.snapshot().probes_in_flight()), (State::HalfOpen, 0));
}

#[test]
fn a_call_inside_a_call_is_a_call_of_its_own() {
    let (breaker, _) = breaker(strict().failure_threshold(2));
    let result = breaker.call(|| {
        breaker.call(|| Err::<(), _>("inner")).unwrap_err();
        Err::<(), _>("outer")
    });
    assert_eq!(result, Err(Error::Inner("outer")));
    assert_eq!(breaker.state(), State::Open);
}

#[test]
fn the_outcome_counts_when_the_call_ends_not_when_it_begins() {
    let (breaker, clock) = breaker(strict());
    breaker
        .call(|| {
            breaker.trip();
            clock.advance(WAIT);
            Ok::<_, ()>(())
        })
        .unwrap();
    assert_eq!(breaker.state(), State::HalfOpen, "the success came too late");
}

#[test]
fn a_wrapped_function_is_called_as_the_function_is() {
    let (breaker, _) = breaker(strict());
    let add = breaker.wrap(|left: u32, right: u32| left.checked_add(right).ok_or("too large"));
    assert_eq!(add(2, 3), Ok(5));
    assert_eq!(add(u32::MAX, 1), Err(Error::Inner("too large")));
    assert!(add(2, 3).unwrap_err().is_rejected());
}

#[test]
fn functions_of_no_to_six_arguments_can_be_wrapped() {
    let (breaker, _) = breaker(strict());
    let sum = |terms: &[u8]| Ok::<u8, ()>(terms.iter().sum());
    assert_eq!(breaker.wrap(|| sum(&[]))(), Ok(0));
    assert_eq!(breaker.wrap(|a| sum(&[a]))(1), Ok(1));
    assert_eq!(breaker.wrap(|a, b| sum(&[a, b]))(1, 2), Ok(3));
    assert_eq!(breaker.wrap(|a, b, c| sum(&[a, b, c]))(1, 2, 3), Ok(6));
    assert_eq!(breaker.wrap(|a, b, c, d| sum(&[a, b, c, d]))(1, 2, 3, 4), Ok(10));
    assert_eq!(breaker.wrap(|a, b, (c, d), e, f| sum(&[a, b, c, d, e, f]))(1, 2, (3, 4), 5, 6), Ok(21));
    assert_eq!(
        breaker.wrap(|a, b, (c, d), (), (), e| sum(&[a, b, c, d, e]))(1, 2, (3, 4), (), (), 5),
        Ok(15)
    );
}

#[test]
fn a_wrapped_function_may_borrow_take_and_return_references() {
    let names = ["a".to_owned(), "b".to_owned()];
    let (breaker, _) = breaker(strict());
    let get = breaker.wrap(|index: usize| names.get(index).map(String::as_str).ok_or(()));
    assert_eq!(get(1), Ok("b"));
    let twice = breaker.wrap(|text: String| Ok::<_, ()>(text.repeat(2)));
    assert_eq!(twice("ab".to_owned()).as_deref(), Ok("abab"));
}

#[test]
fn a_wrapped_function_fits_where_an_fn_is_asked_for() {
    fn retry<T, E>(times: u32, f: impl Fn() -> Result<T, E>) -> Result<T, E> {
        (1..times).find_map(|_| f().ok()).map_or_else(&f, Ok)
    }
    let (breaker, _) = breaker(strict().failure_threshold(10));
    let attempts = Cell::new(0);
    let wrapped = breaker.wrap(|| {
        attempts.set(attempts.get() + 1);
        if attempts.get() == 3 { Ok("third") } else { Err("again") }
    });
    assert_eq!(retry(5, &*wrapped), Ok("third"));
    assert_eq!(breaker.snapshot().failures(), 0);
}

#[test]
fn a_wrapped_function_is_shared_by_threads() {
    let (breaker, _) = breaker(strict());
    let double = breaker.wrap(|number: u64| Ok::<_, ()>(2 * number));
    thread::scope(|scope| {
        for number in 0..4 {
            let double = &double;
            scope.spawn(move || assert_eq!(double(number), Ok(2 * number)));
        }
    });
}
