//! The future of a protected call.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use crate::breaker::{Began, CircuitBreaker, path_of};
use crate::clock::Clock;
use crate::error::Error;
use crate::outcome::Outcome;
use crate::permit::Permit;

pin_project! {
    /// A future that is polled with a permit in hand, acquired at the first poll.
    pub(crate) struct Guarded<'a, C: Clock, F, K, M> {
        // Dropped before the permit: a probe's slot is free once its work has ended.
        #[pin]
        future: F,
        breaker: &'a CircuitBreaker<C>,
        call: Option<(Permit<'a, C>, Began)>,
        // `None` once the call is over.
        end: Option<(K, M)>,
    }
}

impl<'a, C: Clock, F, K, M> Guarded<'a, C, F, K, M> {
    #[inline]
    pub(crate) fn new(breaker: &'a CircuitBreaker<C>, future: F, classify: K, convert: M) -> Self {
        Self { future, breaker, call: None, end: Some((classify, convert)) }
    }
}

impl<C, F, K, M, T, E, X> Future for Guarded<'_, C, F, K, M>
where
    C: Clock,
    F: Future<Output = Result<T, E>>,
    K: FnOnce(&Result<T, E>) -> Outcome,
    M: FnOnce(Error<E>) -> X,
{
    type Output = Result<T, X>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        // Before the first poll, or after the last, which must not make a second call.
        if this.call.is_none() && this.end.is_some() {
            match this.breaker.acquire_for(Some(path_of::<F>)) {
                Ok(permit) => *this.call = Some((permit, this.breaker.began())),
                Err(rejected) => {
                    let Some((_, convert)) = this.end.take() else { return Poll::Pending };
                    return Poll::Ready(Err(convert(Error::Rejected(rejected))));
                }
            }
        }
        if this.call.is_none() {
            return Poll::Pending;
        }
        let result = ready!(this.future.poll(context));
        let (Some((permit, began)), Some((classify, convert))) = (this.call.take(), this.end.take()) else {
            return Poll::Pending;
        };
        permit.record_since(classify(&result), began);
        Poll::Ready(result.map_err(|error| convert(Error::Inner(error))))
    }
}
