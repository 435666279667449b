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
        classify: K,
        convert: M,
    }
}

impl<'a, C: Clock, F, K, M> Guarded<'a, C, F, K, M> {
    #[inline]
    pub(crate) fn new(breaker: &'a CircuitBreaker<C>, future: F, classify: K, convert: M) -> Self {
        Self { future, breaker, call: None, classify, convert }
    }
}

impl<C, F, K, M, T, E, X> Future for Guarded<'_, C, F, K, M>
where
    C: Clock,
    F: Future<Output = Result<T, E>>,
    K: Fn(&Result<T, E>) -> Outcome,
    M: Fn(Error<E>) -> X,
{
    type Output = Result<T, X>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if this.call.is_none() {
            match this.breaker.acquire_for(Some(path_of::<F>)) {
                Ok(permit) => *this.call = Some((permit, this.breaker.began())),
                Err(rejected) => return Poll::Ready(Err((this.convert)(Error::Rejected(rejected)))),
            }
        }
        let result = ready!(this.future.poll(context));
        if let Some((permit, began)) = this.call.take() {
            permit.record_since((this.classify)(&result), began);
        }
        Poll::Ready(result.map_err(|error| (this.convert)(Error::Inner(error))))
    }
}
