//! The calls that are protected, and how futures are run.

use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Refused(pub(crate) u16);

/// A call that succeeds.
///
/// It takes an argument so that each caller wraps it in a closure of its own: `call` is then compiled for that one
/// place, as it is in a program.
#[inline]
pub(crate) fn answer(value: u64) -> Result<u64, Refused> {
    // The compiler cannot know that it does.
    if black_box(true) { Ok(value) } else { Err(Refused(503)) }
}

/// A call that fails.
#[inline]
pub(crate) fn refuse(status: u16) -> Result<u64, Refused> {
    if black_box(false) { Ok(7) } else { Err(Refused(status)) }
}

/// Runs a future that is ready at the first poll.
#[inline]
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("no call waits for anything"),
    }
}
