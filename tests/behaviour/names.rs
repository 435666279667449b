//! Which circuit a rejection names.

use std::future::ready;
use std::num::ParseIntError;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use atomic_breaker::{CircuitBreaker, Error, ManualClock};

use crate::{breaker, strict};

fn nameless() -> CircuitBreaker<ManualClock> {
    let (breaker, _) = breaker(strict());
    breaker.trip();
    breaker
}

fn circuit<T, E>(result: Result<T, Error<E>>) -> &'static str {
    result.err().unwrap().rejected().unwrap().circuit()
}

fn circuit_of_future<T, E>(call: impl Future<Output = Result<T, Error<E>>>) -> &'static str {
    match pin!(call).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => circuit(result),
        Poll::Pending => panic!("a rejection is ready at once"),
    }
}

fn fetch() -> Result<u8, ParseIntError> {
    "42".parse()
}

async fn fetch_later() -> Result<u8, ParseIntError> {
    ready(fetch()).await
}

struct Client(&'static str);

impl Client {
    fn fetch(&self) -> Result<u8, ParseIntError> {
        self.0.parse()
    }

    fn fetch_through(&self, breaker: &CircuitBreaker<ManualClock>) -> &'static str {
        circuit(breaker.call(|| self.fetch()))
    }
}

#[test]
fn a_configured_name_comes_first() {
    let (breaker, _) = breaker(strict().name("orders"));
    breaker.trip();
    assert_eq!(breaker.try_acquire().unwrap_err().circuit(), "orders");
    assert_eq!(breaker.peek().unwrap_err().circuit(), "orders");
    assert_eq!(circuit(breaker.call(fetch)), "orders");
    assert_eq!(circuit(breaker.wrap(fetch)()), "orders");
    assert_eq!(circuit_of_future(breaker.call_async(fetch_later())), "orders");
}

#[test]
fn without_a_name_a_permit_has_none() {
    assert_eq!(nameless().try_acquire().unwrap_err().circuit(), "");
    assert_eq!(nameless().peek().unwrap_err().circuit(), "");
}

#[test]
fn a_function_is_named_by_its_path() {
    let breaker = nameless();
    assert_eq!(circuit(breaker.call(fetch)), "behaviour::names::fetch");
    assert_eq!(circuit(breaker.wrap(fetch)()), "behaviour::names::fetch");
    let message = breaker.call(fetch).unwrap_err();
    let message = message.rejected().unwrap().to_string();
    assert_eq!(message, r#"circuit "behaviour::names::fetch" is open, next probe in 100ms"#);
}

#[test]
fn a_closure_is_named_by_the_function_around_it() {
    const HERE: &str = "behaviour::names::a_closure_is_named_by_the_function_around_it";
    let breaker = nameless();
    assert_eq!(circuit(breaker.call(|| Ok::<_, ()>(()))), HERE);
    assert_eq!(circuit(breaker.wrap(|_: u8| Ok::<_, ()>(()))(1)), HERE);
    let nested = || circuit(breaker.call(|| Ok::<_, ()>(())));
    assert_eq!(nested(), HERE);
}

#[test]
fn a_future_is_named_by_the_function_that_made_it() {
    const HERE: &str = "behaviour::names::a_future_is_named_by_the_function_that_made_it";
    let breaker = nameless();
    assert_eq!(circuit_of_future(breaker.call_async(fetch_later())), "behaviour::names::fetch_later");
    assert_eq!(circuit_of_future(breaker.call_async(async { Ok::<_, ()>(()) })), HERE);
}

#[test]
fn a_method_is_named_by_its_path() {
    let breaker = nameless();
    let wrapped = circuit(breaker.wrap(Client::fetch)(&Client("42")));
    assert!(wrapped.contains("names::Client") && wrapped.ends_with("fetch"), "{wrapped}");
    let around = Client("42").fetch_through(&breaker);
    assert!(around.contains("names::Client") && around.ends_with("fetch_through"), "{around}");
}

#[test]
fn types_that_say_nothing_of_the_function_name_nothing() {
    let breaker = nameless();
    let pointer: fn() -> Result<u8, ParseIntError> = fetch;
    assert_eq!(circuit(breaker.call(pointer)), "");
    let reference = &fetch;
    assert_eq!(circuit(breaker.call(reference)), "");
    let boxed: Box<dyn Fn() -> Result<u8, ParseIntError>> = Box::new(fetch);
    assert_eq!(circuit(breaker.call(boxed)), "");
    assert_eq!(circuit_of_future(breaker.call_async(ready(fetch()))), "");
    assert_eq!(circuit_of_future(breaker.call_async(Box::pin(fetch_later()))), "");
    assert_eq!(pointer(), Ok(42));
}

#[test]
fn the_name_survives_a_reconfiguration() {
    let (breaker, _) = breaker(strict().name("orders"));
    breaker.reconfigure(strict().name("payments").build().unwrap()).unwrap();
    assert_eq!(breaker.config().name(), "orders");
    breaker.trip();
    assert_eq!(breaker.try_acquire().unwrap_err().circuit(), "orders");
}
