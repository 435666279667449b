//! What a call came to, and what the circuit made of it.

/// What a protected call came to.
///
/// A logical call has one outcome, however often it was retried inside. A permit that is dropped without one
/// counts as [`Ignored`](Outcome::Ignored).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The upstream is alive and answered.
    Success,
    /// The upstream failed, in a way that should count against it.
    Failure,
    /// The call says nothing about the upstream: it was cancelled, or the caller was at fault.
    Ignored,
}

/// What the circuit made of an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Settled {
    /// The outcome was taken into account as far as the state asks for it, and the state stayed as it was.
    Applied,
    /// This outcome opened the circuit.
    Opened,
    /// This outcome closed the circuit.
    Closed,
    /// The outcome came too late: the period in which its call was admitted is over. Nothing changed. So for a call that
    /// only [shadow mode](crate::ConfigBuilder::shadow) let through, and in a retired circuit.
    Stale,
}

/// The classification that [`call`](crate::CircuitBreaker::call) uses: `Ok` is a success, `Err` a failure.
///
/// ```
/// # use atomic_breaker::{Outcome, any_error};
/// assert_eq!(any_error(&Ok::<_, ()>(1)), Outcome::Success);
/// assert_eq!(any_error(&Err::<(), _>("refused")), Outcome::Failure);
/// ```
#[inline]
pub const fn any_error<T, E>(result: &Result<T, E>) -> Outcome {
    match result {
        Ok(_) => Outcome::Success,
        Err(_) => Outcome::Failure,
    }
}

/// A classifier under which only the errors that `is_failure` picks are failures; any other error is ignored.
///
/// ```
/// # use atomic_breaker::{Outcome, failure_if};
/// let classify = failure_if(|status: &u16| *status >= 500);
/// assert_eq!(classify(&Ok::<&str, _>("fine")), Outcome::Success);
/// assert_eq!(classify(&Err(503)), Outcome::Failure);
/// assert_eq!(classify(&Err(404)), Outcome::Ignored);
/// ```
pub fn failure_if<T, E>(is_failure: impl Fn(&E) -> bool) -> impl Fn(&Result<T, E>) -> Outcome {
    move |result| match result {
        Ok(_) => Outcome::Success,
        Err(error) if is_failure(error) => Outcome::Failure,
        Err(_) => Outcome::Ignored,
    }
}

/// A classifier under which only the errors that `is_failure` picks are failures; any other error shows that the
/// upstream is alive and counts as a success.
///
/// ```
/// # use atomic_breaker::{Outcome, success_unless};
/// let classify = success_unless(|status: &u16| *status >= 500);
/// assert_eq!(classify(&Ok::<&str, _>("fine")), Outcome::Success);
/// assert_eq!(classify(&Err(503)), Outcome::Failure);
/// assert_eq!(classify(&Err(404)), Outcome::Success);
/// ```
pub fn success_unless<T, E>(is_failure: impl Fn(&E) -> bool) -> impl Fn(&Result<T, E>) -> Outcome {
    move |result| match result {
        Err(error) if is_failure(error) => Outcome::Failure,
        _ => Outcome::Success,
    }
}
