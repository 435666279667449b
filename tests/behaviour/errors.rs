//! What callers are told when nothing was done.

use std::error::Error as StdError;
use std::time::Duration;
use std::{fmt, io};

use atomic_breaker::{Error, Reason, Rejected};

use crate::{breaker, probing, strict};

fn rejection(recovery: Duration) -> Rejected {
    let (breaker, _) = breaker(strict().name("orders").recovery_timeout(recovery));
    breaker.trip();
    breaker.try_acquire().unwrap_err()
}

#[test]
fn messages_tell_milliseconds_below_a_second_and_tenths_rounded_up_above() {
    let table = [
        (1, "1ms"),
        (999, "999ms"),
        (1_000, "1.0s"),
        (1_001, "1.1s"),
        (1_099, "1.1s"),
        (1_100, "1.1s"),
        (1_101, "1.2s"),
        (9_901, "10.0s"),
        (12_300, "12.3s"),
        (59_999, "60.0s"),
        (60_000, "60.0s"),
        (3_600_000, "3600.0s"),
        (365 * 24 * 3_600_000, "31536000.0s"),
    ];
    for (ms, told) in table {
        let message = rejection(Duration::from_millis(ms)).to_string();
        assert_eq!(message, format!(r#"circuit "orders" is open, next probe in {told}"#));
    }
}

#[test]
fn messages_of_each_reason() {
    let (open, _) = breaker(strict());
    open.trip();
    assert_eq!(open.try_acquire().unwrap_err().to_string(), "circuit is open, next probe in 100ms");

    let (full, _) = probing(strict().name("orders"));
    let _probe = full.try_acquire().unwrap();
    assert_eq!(
        full.try_acquire().unwrap_err().to_string(),
        r#"circuit "orders" is half-open, its probes are in flight, overdue in 100ms"#
    );

    let (never, _) = probing(strict().name("orders").probe_timeout_never());
    let _probe = never.try_acquire().unwrap();
    assert_eq!(
        never.try_acquire().unwrap_err().to_string(),
        r#"circuit "orders" is half-open, its probes are in flight"#
    );

    let (forced, _) = breaker(strict().name("orders"));
    forced.force_open();
    assert_eq!(forced.try_acquire().unwrap_err().to_string(), r#"circuit "orders" is forced open"#);
}

#[test]
fn a_name_cannot_break_out_of_its_quotes() {
    let (breaker, _) = breaker(strict().name("a \"b\"\nc"));
    breaker.force_open();
    assert_eq!(breaker.try_acquire().unwrap_err().to_string(), r#"circuit "a \"b\"\nc" is forced open"#);
}

#[test]
fn debug_shows_decoded_fields() {
    assert_eq!(
        format!("{:?}", rejection(Duration::from_secs(2))),
        r#"Rejected { circuit: "orders", reason: Open, retry_after: Some(2s) }"#
    );
}

#[test]
fn a_rejection_keeps_its_numbers_when_it_is_given_another_name() {
    let rejected = rejection(Duration::from_secs(2)).of_circuit("other");
    assert_eq!(rejected.circuit(), "other");
    assert_eq!((rejected.reason(), rejected.retry_after()), (Reason::Open, Some(Duration::from_secs(2))));
    assert_eq!(rejected.of_circuit("orders"), rejection(Duration::from_secs(2)));
}

#[test]
fn the_longest_times_fit_into_a_rejection() {
    let longest = Duration::from_secs(365 * 24 * 60 * 60);
    assert_eq!(rejection(longest).retry_after(), Some(longest));
}

#[test]
fn an_error_is_a_rejection_or_the_calls_own() {
    let rejected = rejection(Duration::from_secs(2));
    let error: Error<&str> = rejected.into();
    assert_eq!(error, Error::Rejected(rejected));
    assert!(error.is_rejected());
    assert_eq!(error.rejected(), Some(&rejected));
    assert_eq!(error.retry_after(), Some(Duration::from_secs(2)));
    assert_eq!(error.to_string(), rejected.to_string());
    assert_eq!(error.into_inner(), None);

    let error = Error::Inner("refused");
    assert!(!error.is_rejected());
    assert_eq!(error.rejected(), None);
    assert_eq!(error.retry_after(), None);
    assert_eq!(error.to_string(), "refused");
    assert_eq!(error.into_inner(), Some("refused"));
}

#[test]
fn as_an_io_error_it_is_of_a_kind_that_nobody_retries() {
    let rejected = rejection(Duration::from_secs(2));
    let error = io::Error::from(rejected);
    assert_eq!(error.kind(), io::ErrorKind::Other);
    assert_eq!(error.to_string(), rejected.to_string());
    let error: io::Error = Error::<io::Error>::Rejected(rejected).into();
    assert_eq!(Rejected::find_in(&error), Some(rejected));
    let error: io::Error = Error::Inner(io::Error::from(io::ErrorKind::TimedOut)).into();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert_eq!(Rejected::find_in(&error), None);
}

#[test]
fn a_rejection_is_found_however_it_was_wrapped() {
    let rejected = rejection(Duration::from_secs(2));
    let boxed = |error: Box<dyn StdError + Send + Sync>| error;
    let in_error = || Error::<io::Error>::Rejected(rejected);
    let wrapped: Vec<Box<dyn StdError + Send + Sync>> = vec![
        boxed(rejected.into()),
        boxed(in_error().into()),
        boxed(io::Error::from(rejected).into()),
        boxed(io::Error::other(in_error()).into()),
        boxed(io::Error::other(boxed(rejected.into())).into()),
        boxed(io::Error::other(io::Error::other(Layer(rejected.into()))).into()),
        boxed(Layer(rejected.into()).into()),
        boxed(Layer(Layer(io::Error::from(rejected).into()).into()).into()),
        boxed(Layer(in_error().into()).into()),
        boxed(Error::Inner(Layer(rejected.into())).into()),
        boxed(Error::Inner(io::Error::from(rejected)).into()),
        boxed(Error::<Error<io::Error>>::Inner(in_error()).into()),
    ];
    for error in wrapped {
        assert_eq!(Rejected::find_in(&*error), Some(rejected), "{error:?}");
    }
}

#[test]
fn nothing_is_found_where_there_is_no_rejection() {
    let errors: [Box<dyn StdError>; 5] = [
        Box::new(io::Error::from(io::ErrorKind::TimedOut)),
        Box::new(io::Error::other("text")),
        Box::new(io::Error::from_raw_os_error(2)),
        Box::new(Layer(io::Error::other("text").into())),
        Box::new(Error::Inner(fmt::Error)),
    ];
    for error in errors {
        assert_eq!(Rejected::find_in(&*error), None, "{error:?}");
    }
}

#[test]
fn the_source_of_an_error_is_what_it_holds() {
    let rejected = rejection(Duration::from_secs(2));
    let error = Error::<fmt::Error>::Rejected(rejected);
    assert_eq!(error.source().unwrap().downcast_ref::<Rejected>(), Some(&rejected));
    assert!(Error::Inner(fmt::Error).source().unwrap().is::<fmt::Error>());
    assert!(rejected.source().is_none());
}

#[test]
fn a_question_mark_turns_a_rejection_into_an_io_error() {
    fn fetch(rejected: Rejected) -> io::Result<()> {
        Err(Error::<io::Error>::Rejected(rejected))?;
        Ok(())
    }
    let rejected = rejection(Duration::from_secs(2));
    assert_eq!(Rejected::find_in(&fetch(rejected).unwrap_err()), Some(rejected));
}

#[derive(Debug)]
struct Layer(Box<dyn StdError + Send + Sync>);

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a layer")
    }
}

impl StdError for Layer {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.0)
    }
}
