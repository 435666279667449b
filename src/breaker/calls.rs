//! The call forms: acquire, run, classify, settle.

use std::any::type_name;
use std::ops::Deref;

use super::{Caller, CircuitBreaker};
use crate::clock::Clock;
use crate::error::{Error, Rejected};
use crate::future::Guarded;
use crate::outcome::{Outcome, any_error};
use crate::wrap::Callable;

impl<C: Clock> CircuitBreaker<C> {
    /// Makes a call. `Ok` is a success, `Err` a failure; a panic is ignored and goes on.
    ///
    /// # Errors
    ///
    /// [`Error::Rejected`] if the circuit does not admit the call, which is then not made; [`Error::Inner`] with the
    /// call's own error.
    ///
    /// # Examples
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config};
    /// let breaker = CircuitBreaker::new(Config::default());
    /// let answer: u16 = breaker.call(|| "42".parse::<u16>())?;
    /// assert_eq!(answer, 42);
    /// # Ok::<(), atomic_breaker::Error<std::num::ParseIntError>>(())
    /// ```
    #[inline]
    pub fn call<F, T, E>(&self, f: F) -> Result<T, Error<E>>
    where
        F: FnOnce() -> Result<T, E>,
    {
        self.call_with(any_error, f)
    }

    /// Makes a call; `classify` says what it came to.
    ///
    /// Common classifiers: [`failure_if`](crate::failure_if), [`success_unless`](crate::success_unless). If it
    /// panics, the call is ignored and the panic goes on. Where the call goes through another breaker, whose rejections
    /// are no failures of this one's upstream, [`Rejected::find_in`] tells them.
    ///
    /// # Errors
    ///
    /// As [`call`](CircuitBreaker::call).
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::io;
    /// # use atomic_breaker::{CircuitBreaker, Config, failure_if};
    /// let breaker = CircuitBreaker::new(Config::builder().failure_threshold(1).build()?);
    /// let timed_out = |error: &io::Error| error.kind() == io::ErrorKind::TimedOut;
    /// let result = breaker.call_with(failure_if(timed_out), || {
    ///     Err::<(), _>(io::Error::from(io::ErrorKind::NotFound))
    /// });
    /// assert!(result.is_err());
    /// assert!(breaker.peek().is_ok(), "not a failure of the upstream");
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    #[inline]
    pub fn call_with<K, F, T, E>(&self, classify: K, f: F) -> Result<T, Error<E>>
    where
        K: FnOnce(&Result<T, E>) -> Outcome,
        F: FnOnce() -> Result<T, E>,
    {
        self.call_as(Some(path_of::<F>), classify, f)
    }

    /// Makes a call and returns the caller's own error, which has a place for rejections: a type with
    /// `From<Rejected>`, [`std::io::Error`], `Box<dyn Error>`, `anyhow::Error`.
    ///
    /// # Errors
    ///
    /// The rejection converted into `E` if the circuit does not admit the call; else the call's own error.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::io;
    /// # use atomic_breaker::{CircuitBreaker, Config, Rejected};
    /// enum FetchError {
    ///     Io(io::Error),
    ///     Unavailable(Rejected),
    /// }
    ///
    /// impl From<Rejected> for FetchError {
    ///     fn from(rejected: Rejected) -> Self {
    ///         Self::Unavailable(rejected)
    ///     }
    /// }
    ///
    /// let breaker = CircuitBreaker::new(Config::default());
    /// breaker.trip();
    /// let result = breaker.call_into(|| Err::<(), _>(FetchError::Io(io::ErrorKind::TimedOut.into())));
    /// assert!(matches!(result, Err(FetchError::Unavailable(_))));
    /// ```
    #[inline]
    pub fn call_into<F, T, E>(&self, f: F) -> Result<T, E>
    where
        F: FnOnce() -> Result<T, E>,
        E: From<Rejected>,
    {
        self.call(f).map_err(Error::absorb)
    }

    /// Makes a call that is a future. `Ok` is a success, `Err` a failure.
    ///
    /// The slot is taken at the first poll. It is given back, and the call ignored, when the future is dropped
    /// before it is done: cancelled, timed out, aborted, after a panic. The future is `Send` if the call's is. It borrows
    /// the breaker; a task owns it with `async move { breaker.call_async(call).await }` and an `Arc`.
    ///
    /// A call that is not admitted is never polled. What has been set going otherwise (a spawned task) goes on. Polled
    /// again after its end, the future stays pending.
    ///
    /// # Errors
    ///
    /// As [`call`](CircuitBreaker::call).
    ///
    /// # Examples
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config};
    /// # fn block_on<T>(future: impl Future<Output = T>) -> T {
    /// #     let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    /// #     match std::pin::pin!(future).poll(&mut context) {
    /// #         std::task::Poll::Ready(value) => value,
    /// #         std::task::Poll::Pending => unreachable!(),
    /// #     }
    /// # }
    /// # block_on(async {
    /// let breaker = CircuitBreaker::new(Config::default());
    /// let answer = breaker.call_async(async { "42".parse::<u16>() }).await?;
    /// assert_eq!(answer, 42);
    /// # Ok::<(), atomic_breaker::Error<std::num::ParseIntError>>(())
    /// # }).unwrap();
    /// ```
    #[inline]
    pub fn call_async<F, T, E>(&self, future: F) -> impl Future<Output = Result<T, Error<E>>>
    where
        F: Future<Output = Result<T, E>>,
    {
        Guarded::new(self, future, any_error, |error| error)
    }

    /// Makes a call that is a future; `classify` says what it came to.
    ///
    /// # Errors
    ///
    /// As [`call`](CircuitBreaker::call).
    ///
    /// # Examples
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config, failure_if};
    /// # fn block_on<T>(future: impl Future<Output = T>) -> T {
    /// #     let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    /// #     match std::pin::pin!(future).poll(&mut context) {
    /// #         std::task::Poll::Ready(value) => value,
    /// #         std::task::Poll::Pending => unreachable!(),
    /// #     }
    /// # }
    /// # block_on(async {
    /// let breaker = CircuitBreaker::new(Config::builder().failure_threshold(1).build()?);
    /// let is_server_error = failure_if(|status: &u16| *status >= 500);
    /// let result = breaker.call_async_with(is_server_error, async { Err::<(), u16>(404) }).await;
    /// assert!(result.is_err());
    /// assert!(breaker.peek().is_ok(), "not a failure of the upstream");
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// # }).unwrap();
    /// ```
    #[inline]
    pub fn call_async_with<K, F, T, E>(
        &self,
        classify: K,
        future: F,
    ) -> impl Future<Output = Result<T, Error<E>>>
    where
        K: FnOnce(&Result<T, E>) -> Outcome,
        F: Future<Output = Result<T, E>>,
    {
        Guarded::new(self, future, classify, |error| error)
    }

    /// Makes a call that is a future and returns the caller's own error, which has a place for rejections.
    ///
    /// # Errors
    ///
    /// As [`call_into`](CircuitBreaker::call_into).
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::io;
    /// # use atomic_breaker::{CircuitBreaker, Config, Rejected};
    /// # fn block_on<T>(future: impl Future<Output = T>) -> T {
    /// #     let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    /// #     match std::pin::pin!(future).poll(&mut context) {
    /// #         std::task::Poll::Ready(value) => value,
    /// #         std::task::Poll::Pending => unreachable!(),
    /// #     }
    /// # }
    /// # block_on(async {
    /// let breaker = CircuitBreaker::new(Config::default());
    /// breaker.trip();
    /// let result: io::Result<()> = breaker.call_async_into(async { Ok(()) }).await;
    /// assert!(Rejected::find_in(&result.unwrap_err()).is_some());
    /// # });
    /// ```
    #[inline]
    pub fn call_async_into<F, T, E>(&self, future: F) -> impl Future<Output = Result<T, E>>
    where
        F: Future<Output = Result<T, E>>,
        E: From<Rejected>,
    {
        Guarded::new(self, future, any_error, Error::absorb)
    }

    /// Wraps a function, so that every call of the result goes through the breaker: the decorator.
    ///
    /// The result is called like the function, from any number of threads. Functions of up to six arguments
    /// can be wrapped. Where an `impl Fn` is asked for, hand in `|id| wrapped(id)`. What an argument borrows must outlive
    /// the wrapped function; where it does not, `|url: &str| breaker.call(|| fetch(url))` is the decorator.
    ///
    /// # Examples
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config, Error};
    /// fn fetch(id: u32, _verbose: bool) -> Result<String, &'static str> {
    ///     if id == 0 { Err("no such order") } else { Ok(format!("order {id}")) }
    /// }
    ///
    /// let breaker = CircuitBreaker::new(Config::default());
    /// let fetch = breaker.wrap(fetch);
    /// assert_eq!(fetch(7, true).as_deref(), Ok("order 7"));
    /// assert_eq!(fetch(0, true), Err(Error::Inner("no such order")));
    /// ```
    #[inline]
    pub fn wrap<'a, F, Args>(&'a self, f: F) -> impl Deref<Target = F::Wrapped<'a>> + use<'a, F, Args, C>
    where
        F: Callable<Args> + 'a,
    {
        f.wrapped(self)
    }

    /// As [`call_with`](CircuitBreaker::call_with); a rejection of a nameless circuit names `caller`.
    #[inline]
    pub(crate) fn call_as<K, F, T, E>(&self, caller: Caller, classify: K, f: F) -> Result<T, Error<E>>
    where
        K: FnOnce(&Result<T, E>) -> Outcome,
        F: FnOnce() -> Result<T, E>,
    {
        let permit = match self.acquire_for(caller) {
            Ok(permit) => permit,
            Err(rejected) => return Err(Error::Rejected(rejected)),
        };
        let began = self.began();
        let result = f();
        permit.record_since(classify(&result), began);
        result.map_err(Error::Inner)
    }
}

/// The path of a function type, without the names that closures and futures add to that of the function they are in;
/// empty for types that say nothing of the function: pointers, boxes, the standard library's own.
pub(crate) fn path_of<F>() -> &'static str {
    let mut path = type_name::<F>();
    if ["fn(", "unsafe ", "extern ", "&", "core::", "alloc::", "std::"]
        .iter()
        .any(|start| path.starts_with(start))
    {
        return "";
    }
    while let Some(outer) = path.strip_suffix("::{{closure}}") {
        path = outer;
    }
    path
}
