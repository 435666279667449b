//! recloser: epoch-based swaps of a ring buffer behind a spin lock. It opens by the error rate of a full ring; the ring
//! has its default length except where the circuit must open.

use std::time::Duration;

use ::recloser::{AsyncRecloser, Recloser};

use crate::support::Work;
use crate::support::upstream::{answer, block_on, refuse};

pub(crate) fn call_success() -> Work {
    let breaker = Recloser::default();
    Work::new(move || breaker.call(|| answer(7)))
}

pub(crate) fn call_async_success() -> Work {
    let breaker = AsyncRecloser::from(Recloser::default());
    Work::new(move || block_on(breaker.call(async { answer(7) })))
}

pub(crate) fn call_failure() -> Work {
    // A rate that is never reached.
    let breaker = Recloser::custom().error_rate(2.0).build();
    Work::new(move || breaker.call(|| refuse(503)))
}

pub(crate) fn reject() -> Work {
    let breaker = Recloser::custom().closed_len(1).open_wait(Duration::from_secs(3600)).build();
    while breaker.call(|| refuse(503)).is_err_and(|error| matches!(error, ::recloser::Error::Inner(_))) {}
    Work::new(move || breaker.call(|| answer(7)))
}

pub(crate) fn probe_success() -> Work {
    // A rate that no success stays below, so that the circuit does not close.
    let breaker =
        Recloser::custom().closed_len(1).error_rate_half_open(-1.0).open_wait(Duration::ZERO).build();
    let _ = (breaker.call(|| refuse(503)), breaker.call(|| refuse(503)));
    Work::new(move || breaker.call(|| answer(7)))
}

pub(crate) fn cycle() -> Work {
    let breaker = Recloser::custom().closed_len(1).half_open_len(1).open_wait(Duration::ZERO).build();
    Work::new(move || {
        (
            breaker.call(|| refuse(503)),
            breaker.call(|| refuse(503)),
            breaker.call(|| answer(7)),
            breaker.call(|| answer(7)),
        )
    })
}
