//! Calls that are futures.

use std::future::{self, Future};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;

use atomic_breaker::{CircuitBreaker, Error, ManualClock, Outcome, Rejected, State, failure_if};

use crate::{WAIT, breaker, probing, strict};

#[test]
fn the_slot_is_taken_at_the_first_poll_and_kept_until_the_future_is_done() {
    let (breaker, _) = probing(strict());
    let gate = AtomicBool::new(false);
    let mut call = pin!(breaker.call_async(open_at(&gate)));
    assert_eq!(breaker.snapshot().state(), State::Open, "nobody polled it yet");
    assert!(poll(call.as_mut()).is_pending());
    assert_eq!(breaker.snapshot().probes_in_flight(), 1);
    assert!(poll(call.as_mut()).is_pending());
    assert_eq!(breaker.snapshot().probes_in_flight(), 1, "one slot, however often it is polled");
    gate.store(true, Ordering::Release);
    assert_eq!(poll(call.as_mut()), Poll::Ready(Ok(())));
    assert_eq!(breaker.state(), State::Closed);
}

#[test]
fn a_future_that_is_dropped_unpolled_never_was_a_call() {
    let (breaker, _) = probing(strict());
    drop(breaker.call_async(future::pending::<Result<(), ()>>()));
    assert_eq!(breaker.snapshot().state(), State::Open);
}

#[test]
fn a_future_that_is_dropped_halfway_gives_its_slot_back() {
    let (breaker, _) = probing(strict());
    {
        let call = pin!(breaker.call_async(future::pending::<Result<(), ()>>()));
        assert!(poll(call).is_pending());
        assert_eq!(breaker.snapshot().probes_in_flight(), 1);
    }
    assert_eq!((breaker.state(), breaker.snapshot().probes_in_flight()), (State::HalfOpen, 0));
}

#[test]
fn a_call_that_times_out_is_ignored_not_failed() {
    let (breaker, clock) = breaker(strict());
    let call = breaker.call_async(future::pending::<Result<(), ()>>());
    let mut timed = Box::pin(or_timeout(call, &clock));
    assert!(poll(timed.as_mut()).is_pending());
    clock.advance(WAIT);
    assert_eq!(poll(timed.as_mut()), Poll::Ready(None));
    drop(timed);
    assert_eq!((breaker.state(), breaker.snapshot().failures()), (State::Closed, 0));
}

#[test]
fn a_timeout_inside_the_call_is_a_failure_of_the_upstream() {
    let (breaker, clock) = breaker(strict());
    let mut call = pin!(breaker.call_async(async {
        or_timeout(future::pending::<Result<(), &str>>(), &clock).await.unwrap_or(Err("timed out"))
    }));
    assert!(poll(call.as_mut()).is_pending());
    clock.advance(WAIT);
    assert_eq!(poll(call.as_mut()), Poll::Ready(Err(Error::Inner("timed out"))));
    assert_eq!(breaker.state(), State::Open);
}

#[test]
fn a_task_that_is_aborted_on_another_thread_gives_its_slot_back() {
    let (breaker, _) = probing(strict());
    let breaker = Arc::new(breaker);
    let task = {
        let breaker = Arc::clone(&breaker);
        async move { breaker.call_async(future::pending::<Result<(), ()>>()).await }
    };
    let mut task = Box::pin(task);
    assert!(poll(task.as_mut()).is_pending());
    assert_eq!(breaker.snapshot().probes_in_flight(), 1);
    thread::spawn(move || drop(task)).join().unwrap();
    assert_eq!(breaker.snapshot().probes_in_flight(), 0);
}

#[test]
fn a_future_that_panics_is_ignored_once_it_is_dropped() {
    let (breaker, _) = probing(strict());
    let mut call = Box::pin(breaker.call_async(async {
        assert!(future::ready(false).await, "the future's");
        Ok::<_, ()>(())
    }));
    assert!(catch_unwind(AssertUnwindSafe(|| poll(call.as_mut()))).is_err());
    drop(call);
    assert_eq!((breaker.state(), breaker.snapshot().probes_in_flight()), (State::HalfOpen, 0));
}

#[test]
fn a_rejected_future_is_never_polled() {
    let (breaker, _) = breaker(strict());
    breaker.trip();
    let polled = AtomicBool::new(false);
    let call = breaker.call_async(async {
        polled.store(true, Ordering::Relaxed);
        Ok::<_, ()>(())
    });
    let Poll::Ready(Err(Error::Rejected(rejected))) = poll(pin!(call)) else {
        panic!("the circuit is open");
    };
    assert_eq!(rejected.retry_after(), Some(WAIT));
    assert!(!polled.into_inner());
}

#[test]
fn a_future_that_is_polled_after_its_end_makes_no_second_call() {
    let (breaker, clock) = probing(strict());
    let calls = AtomicU32::new(0);
    let counted = || {
        future::poll_fn(|_| {
            calls.fetch_add(1, Ordering::Relaxed);
            Poll::Ready(Err::<(), _>(()))
        })
    };
    let mut made = pin!(breaker.call_async(counted()));
    assert_eq!(poll(made.as_mut()), ready(Err(Error::Inner(()))));
    let mut rejected = pin!(breaker.call_async(counted()));
    assert!(poll(rejected.as_mut()).is_ready());
    clock.advance(WAIT);
    assert!(poll(made).is_pending());
    assert!(poll(rejected).is_pending());
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    assert_eq!(breaker.snapshot().state(), State::Open, "nobody asked");
}

#[test]
fn the_work_ends_before_its_slot_is_free() {
    struct Work<'a>(&'a CircuitBreaker<ManualClock>);
    impl Drop for Work<'_> {
        fn drop(&mut self) {
            assert_eq!(self.0.snapshot().probes_in_flight(), 1, "its own slot is still taken");
        }
    }
    let (breaker, _) = probing(strict());
    let work = Work(&breaker);
    let mut call = Box::pin(breaker.call_async(async move {
        let _work = work;
        future::pending::<Result<(), ()>>().await
    }));
    assert!(poll(call.as_mut()).is_pending());
    drop(call);
    assert_eq!(breaker.snapshot().probes_in_flight(), 0);
}

#[test]
fn futures_are_classified_as_calls_are() {
    let (breaker, _) = breaker(strict());
    let status = |status: u16| future::ready(Err::<(), _>(status));
    let classify = || failure_if(|status: &u16| *status >= 500);
    assert_eq!(poll(pin!(breaker.call_async_with(classify(), status(404)))), ready(Err(Error::Inner(404))));
    assert_eq!(breaker.state(), State::Closed);
    assert_eq!(poll(pin!(breaker.call_async_with(classify(), status(503)))), ready(Err(Error::Inner(503))));
    assert_eq!(breaker.state(), State::Open);
}

#[test]
fn a_classifier_of_a_future_that_panics_frees_the_slot() {
    let (breaker, _) = probing(strict());
    let classify = |_: &Result<(), ()>| -> Outcome { panic!("the classifier's") };
    let mut call = Box::pin(breaker.call_async_with(classify, future::ready(Ok(()))));
    assert!(catch_unwind(AssertUnwindSafe(|| poll(call.as_mut()))).is_err());
    drop(call);
    assert_eq!((breaker.state(), breaker.snapshot().probes_in_flight()), (State::HalfOpen, 0));
}

#[test]
fn a_future_into_the_callers_own_error_carries_the_rejection() {
    let (breaker, _) = breaker(strict());
    let refused = || future::ready(Err::<(), _>(std::io::Error::from(std::io::ErrorKind::ConnectionRefused)));
    let Poll::Ready(Err(error)) = poll(pin!(breaker.call_async_into(refused()))) else {
        panic!("it fails at once");
    };
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
    let Poll::Ready(Err(error)) = poll(pin!(breaker.call_async_into(refused()))) else {
        panic!("the circuit is open");
    };
    assert!(Rejected::find_in(&error).is_some());
}

#[test]
fn a_future_is_send_if_the_calls_is() {
    fn assert_send<T: Send>(_: &T) {}
    let (breaker, _) = breaker(strict());
    assert_send(&breaker.call_async(async { Ok::<_, ()>(()) }));
    assert_send(&breaker.call_async_with(|_| Outcome::Ignored, async { Ok::<_, ()>(()) }));
    assert_send(&breaker.call_async_into(async { Ok::<_, std::io::Error>(()) }));
    assert_send(&async { breaker.call_async(future::ready(Ok::<_, ()>(()))).await });
}

#[test]
fn futures_that_cannot_move_between_threads_are_fine_too() {
    let (breaker, _) = breaker(strict());
    let local = std::rc::Rc::new(5);
    assert_eq!(poll(pin!(breaker.call_async(async { Ok::<_, ()>(*local) }))), ready(Ok(5)));
}

#[test]
fn two_futures_compete_for_one_slot() {
    let (breaker, _) = probing(strict());
    let gate = AtomicBool::new(false);
    let mut first = pin!(breaker.call_async(open_at(&gate)));
    let second = pin!(breaker.call_async(open_at(&gate)));
    assert!(poll(first.as_mut()).is_pending());
    assert!(matches!(poll(second), Poll::Ready(Err(Error::Rejected(_)))));
    gate.store(true, Ordering::Release);
    assert_eq!(poll(first), ready(Ok(())));
}

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

fn ready<T, E>(result: Result<T, E>) -> Poll<Result<T, E>> {
    Poll::Ready(result)
}

/// Succeeds once the gate is open.
fn open_at(gate: &AtomicBool) -> impl Future<Output = Result<(), ()>> {
    future::poll_fn(|_| if gate.load(Ordering::Acquire) { Poll::Ready(Ok(())) } else { Poll::Pending })
}

/// `None` if the clock reaches the wait first.
async fn or_timeout<F: Future>(future: F, clock: &ManualClock) -> Option<F::Output> {
    use atomic_breaker::Clock;
    let mut future = pin!(future);
    let start = clock.now();
    future::poll_fn(|context| {
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            return Poll::Ready(Some(output));
        }
        let elapsed = clock.now().saturating_duration_since(start);
        if elapsed >= WAIT { Poll::Ready(None) } else { Poll::Pending }
    })
    .await
}
