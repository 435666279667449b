//! A naive model of the circuit: plain fields, one thread, no bit anywhere. Written from the rules, not from the code.
//!
//! Times are nanoseconds. What the word bounds is bounded here as well: a turn counts modulo 256, `entered`
//! modulo 2^36 milliseconds.

use std::time::Duration;

#[cfg(feature = "std")]
pub(crate) mod breaker;
pub(crate) mod engine;
pub(crate) mod laws;
pub(crate) mod time;

const SPAN_MS: u64 = 1 << 36;
const STEP_BACK_MS: u64 = 1 << 30;
const MAX_REOPENS: u32 = 63;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Closed,
    HalfOpen,
    Open,
    ForcedOpen,
    ForcedClosed,
    Retired,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Probe {
    Wait,
    After(Duration),
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Numbers {
    pub(crate) failures: u32,
    pub(crate) recovery: Duration,
    /// `None`: unlimited.
    pub(crate) slots: Option<u32>,
    pub(crate) successes: u32,
    pub(crate) probe: Probe,
    pub(crate) backoff: Option<(f64, Duration)>,
    pub(crate) jitter: f64,
}

/// What a clock shows: `now` may lag behind `precise`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) now: u64,
    pub(crate) precise: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    Open,
    HalfOpen,
    ForcedOpen,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rejection {
    pub(crate) reason: Reason,
    pub(crate) retry_after_ms: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Permit {
    mode: Mode,
    turn: u64,
    entered_ms: u64,
    reopens: u32,
    pub(crate) slot: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Success,
    Failure,
    Ignored,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Applied,
    Opened,
    Closed,
    Stale,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    Failures,
    ProbeFailed,
    ProbesSucceeded,
    WaitOver,
    Trip,
    Reset,
    Force,
}

/// A change of state, as an observer is to hear of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) from: Mode,
    pub(crate) to: Mode,
    pub(crate) cause: Cause,
    pub(crate) at: u64,
    pub(crate) failures: u32,
    pub(crate) probe_successes: u32,
    pub(crate) reopens: u32,
    pub(crate) turn: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) numbers: Numbers,
    pub(crate) mode: Mode,
    pub(crate) entered_ms: u64,
    pub(crate) turn: u64,
    pub(crate) reopens: u32,
    pub(crate) failures: u32,
    pub(crate) in_flight: u32,
    pub(crate) successes: u32,
    /// Of the present opening. Nobody can foretell it: whoever drives the model copies it from the circuit.
    pub(crate) draw: u64,
    /// What the last operation is to report.
    pub(crate) event: Option<Event>,
}

/// What an admission does, apart from admitting.
enum Seat {
    Nothing,
    HalfOpen,
    Beside,
    Lease,
}

impl Model {
    pub(crate) fn new(numbers: Numbers) -> Self {
        Self {
            numbers,
            mode: Mode::Closed,
            entered_ms: 0,
            turn: 0,
            reopens: 0,
            failures: 0,
            in_flight: 0,
            successes: 0,
            draw: 0,
            event: None,
        }
    }

    pub(crate) fn peek(&self, at: Moment) -> Result<(), Rejection> {
        self.seat(at).map(drop)
    }

    pub(crate) fn acquire(&mut self, at: Moment) -> Result<Permit, Rejection> {
        self.event = None;
        let limited = self.numbers.slots.is_some();
        let slot = match self.seat(at)? {
            Seat::Nothing => false,
            Seat::HalfOpen => {
                self.enter(Mode::HalfOpen, self.reopens, at, Cause::WaitOver);
                self.in_flight = u32::from(limited);
                limited
            }
            Seat::Beside => {
                self.in_flight += 1;
                true
            }
            Seat::Lease => {
                self.entered_ms = ceil_ms(at.precise) % SPAN_MS;
                self.in_flight = 1;
                true
            }
        };
        let Self { mode, turn, entered_ms, reopens, .. } = *self;
        Ok(Permit { mode, turn, entered_ms, reopens, slot })
    }

    pub(crate) fn settle(&mut self, permit: Permit, outcome: Outcome, at: Moment) -> Answer {
        self.event = None;
        if !self.is_current(permit) {
            return Answer::Stale;
        }
        match self.mode {
            Mode::HalfOpen => self.settle_probe(permit, outcome, at),
            Mode::Closed => self.settle_call(outcome, at),
            _ => Answer::Applied,
        }
    }

    pub(crate) fn trip(&mut self, at: Moment) {
        self.event = None;
        if self.mode != Mode::Retired && !(self.mode == Mode::Open && self.remaining(self.wait_ms(), at) > 0)
        {
            self.enter(Mode::Open, self.reopens, at, Cause::Trip);
        }
    }

    pub(crate) fn reset(&mut self, at: Moment) {
        self.event = None;
        if self.mode != Mode::Retired && !self.is_untouched() {
            self.enter(Mode::Closed, 0, at, Cause::Reset);
        }
    }

    pub(crate) fn force(&mut self, to: Mode, at: Moment) {
        self.event = None;
        if self.mode != Mode::Retired && self.mode != to {
            self.enter(to, 0, at, Cause::Force);
        }
    }

    /// Whether it was; it keeps the time at which it was last entered.
    pub(crate) fn retire(&mut self) -> bool {
        self.event = None;
        if !self.is_untouched() {
            return false;
        }
        self.mode = Mode::Retired;
        self.turn = (self.turn + 1) % 256;
        true
    }

    /// The state that a reader is shown.
    pub(crate) fn effective(&self, at: Moment) -> Mode {
        if self.mode == Mode::Open && self.remaining(self.wait_ms(), at) == 0 {
            Mode::HalfOpen
        } else {
            self.mode
        }
    }

    /// How long the present open period lasts.
    pub(crate) fn wait_ms(&self) -> u64 {
        let wait = self.full_wait_ms();
        let share = (self.numbers.jitter * 65_536.0).round() as u128;
        let shortened = u128::from(wait) - ((u128::from(wait) * share * u128::from(self.draw)) >> 28);
        u64::try_from(shortened).unwrap().max(1)
    }

    /// How long a lease lasts, `None` if for ever.
    pub(crate) fn probe_timeout_ms(&self) -> Option<u64> {
        match self.numbers.probe {
            Probe::Wait => Some(self.full_wait_ms()),
            Probe::After(timeout) => Some(whole_ms(timeout)),
            Probe::Never => None,
        }
    }

    /// The moment at which the running wait or lease is over, if one is running: nanoseconds, beyond the clock's
    /// range if it must be.
    pub(crate) fn deadline(&self) -> Option<u128> {
        let span = match self.mode {
            Mode::Open => Some(self.wait_ms()),
            Mode::HalfOpen => self.probe_timeout_ms(),
            _ => None,
        };
        span.map(|span| (u128::from(self.entered_ms) + u128::from(span)) * 1_000_000)
    }

    pub(crate) fn is_untouched(&self) -> bool {
        self.mode == Mode::Closed && self.failures == 0
    }

    fn full_wait_ms(&self) -> u64 {
        let base = whole_ms(self.numbers.recovery);
        let Some((multiplier, max)) = self.numbers.backoff else {
            return base;
        };
        let mut wait = base as f64;
        for _ in 0..self.reopens {
            wait = (wait * multiplier).min(whole_ms(max) as f64);
        }
        (wait as u64).max(base)
    }

    fn seat(&self, at: Moment) -> Result<Seat, Rejection> {
        let rejection = |reason, retry_after_ms| Err(Rejection { reason, retry_after_ms });
        match self.mode {
            Mode::Closed | Mode::ForcedClosed | Mode::Retired => Ok(Seat::Nothing),
            Mode::ForcedOpen => rejection(Reason::ForcedOpen, None),
            Mode::Open => match self.remaining(self.wait_ms(), at) {
                0 => Ok(Seat::HalfOpen),
                left => rejection(Reason::Open, Some(left)),
            },
            Mode::HalfOpen => {
                let Some(slots) = self.numbers.slots else {
                    return Ok(Seat::Nothing);
                };
                if self.in_flight < slots {
                    return Ok(if self.in_flight == 0 { Seat::Lease } else { Seat::Beside });
                }
                match self.probe_timeout_ms().map(|timeout| self.remaining(timeout, at)) {
                    Some(0) => Ok(Seat::Lease),
                    left => rejection(Reason::HalfOpen, left),
                }
            }
        }
    }

    fn settle_call(&mut self, outcome: Outcome, at: Moment) -> Answer {
        match outcome {
            Outcome::Ignored => {}
            Outcome::Success => self.failures = 0,
            Outcome::Failure => {
                self.failures += 1;
                if self.failures >= self.numbers.failures {
                    self.enter(Mode::Open, 0, at, Cause::Failures);
                    return Answer::Opened;
                }
            }
        }
        Answer::Applied
    }

    fn settle_probe(&mut self, permit: Permit, outcome: Outcome, at: Moment) -> Answer {
        if permit.slot && permit.entered_ms == self.entered_ms {
            self.in_flight = self.in_flight.saturating_sub(1);
        }
        match outcome {
            Outcome::Ignored => {}
            Outcome::Failure => {
                self.enter(Mode::Open, (self.reopens + 1).min(MAX_REOPENS), at, Cause::ProbeFailed);
                return Answer::Opened;
            }
            Outcome::Success => {
                self.successes += 1;
                if self.successes >= self.numbers.successes {
                    self.enter(Mode::Closed, 0, at, Cause::ProbesSucceeded);
                    return Answer::Closed;
                }
            }
        }
        Answer::Applied
    }

    fn is_current(&self, permit: Permit) -> bool {
        let same_turn = (permit.mode, permit.turn) == (self.mode, self.turn);
        match self.mode {
            Mode::HalfOpen => same_turn && permit.reopens == self.reopens,
            Mode::Closed | Mode::ForcedClosed => same_turn && permit.entered_ms == self.entered_ms,
            _ => false,
        }
    }

    fn enter(&mut self, to: Mode, reopens: u32, at: Moment, cause: Cause) {
        let turn = (self.turn + 1) % 256;
        if self.mode != to {
            self.event = Some(Event {
                from: self.mode,
                to,
                cause,
                at: at.precise,
                failures: self.failures,
                probe_successes: self.successes,
                // Of an open circuit, this opening's own is the last; of any other, how many it took to get there.
                reopens: if to == Mode::Open { reopens } else { self.reopens },
                turn,
            });
        }
        (self.mode, self.entered_ms, self.turn) = (to, ceil_ms(at.precise) % SPAN_MS, turn);
        (self.reopens, self.failures, self.in_flight, self.successes) = (reopens, 0, 0, 0);
    }

    /// Milliseconds that are left of `span_ms`, as a rejection says it.
    fn remaining(&self, span_ms: u64, at: Moment) -> u64 {
        let now_ms = (at.now / 1_000_000) % SPAN_MS;
        let passed = (now_ms + SPAN_MS - self.entered_ms) % SPAN_MS;
        let elapsed = if passed >= SPAN_MS - STEP_BACK_MS { 0 } else { passed };
        if elapsed >= span_ms {
            return 0;
        }
        // The very millisecond of the opening: entered was rounded up, now is rounded down.
        let very = (now_ms + 1) % SPAN_MS == self.entered_ms && !at.now.is_multiple_of(1_000_000);
        span_ms - elapsed + u64::from(very)
    }
}

fn ceil_ms(nanos: u64) -> u64 {
    nanos / 1_000_000 + u64::from(!nanos.is_multiple_of(1_000_000))
}

/// Milliseconds that are not shorter than `time`.
fn whole_ms(time: Duration) -> u64 {
    u64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap()
}
