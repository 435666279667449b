//! What a breaker with a window does differently.

use std::cell::Cell;
use std::num::NonZero;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::CircuitBreaker;
use crate::clock::Clock;
use crate::config::{Config, Window};
use crate::observe::Cause;
use crate::outcome::{Outcome, Settled};
use crate::snapshot::WindowTotals;
use crate::window::{Circuit, Event, Events, Reached};
use crate::word::{Ticket, Word};

/// The window of a breaker.
pub(super) struct Windowed {
    pub(super) events: Events,
    /// From how many nanoseconds on a call is slow.
    slow_after: AtomicU64,
}

impl Windowed {
    pub(super) fn new(window: Window, config: &Config) -> Self {
        let windowed = Self { events: window.build(stripes), slow_after: AtomicU64::new(NEVER) };
        windowed.store(config);
        windowed
    }

    /// Replaces what the hot path reads; the rates are read from the configuration itself.
    pub(super) fn store(&self, config: &Config) {
        let slow_after = config.slow_calls().map_or(NEVER, |slow| nanos(slow.slower_than));
        self.slow_after.store(slow_after, Ordering::Relaxed);
    }

    fn slow_after(&self) -> u64 {
        self.slow_after.load(Ordering::Relaxed)
    }
}

/// When a call began, in nanoseconds, if that matters: one machine word, so that a call carries no more.
#[derive(Clone, Copy)]
pub(crate) struct Began(u64);

impl Began {
    const UNTIMED: Self = Self(u64::MAX);
}

/// How long a call took.
#[derive(Clone, Copy)]
pub(super) enum Took {
    Nanos(u64),
    /// From this moment, in nanoseconds, until now.
    Since(u64),
}

impl Took {
    pub(super) const NOTHING: Self = Self::Nanos(0);

    fn since(began: Began) -> Self {
        if began.0 == Began::UNTIMED.0 { Self::NOTHING } else { Self::Since(began.0) }
    }
}

impl<C: Clock> CircuitBreaker<C> {
    /// Reads the clock at the beginning of a call if slow calls matter.
    #[inline]
    pub(crate) fn began(&self) -> Began {
        match &self.inner.window {
            None => Began::UNTIMED,
            Some(windowed) => self.began_windowed(windowed),
        }
    }

    /// As [`settle`](CircuitBreaker::settle), at the end of a call.
    #[inline]
    pub(crate) fn settle_since(&self, ticket: Ticket, outcome: Outcome, began: Began) -> Settled {
        self.settle_taking(ticket, outcome, || Took::since(began))
    }

    /// As [`settle`](CircuitBreaker::settle), for a call that took so long.
    #[inline]
    pub(crate) fn settle_after(&self, ticket: Ticket, outcome: Outcome, took: Duration) -> Settled {
        self.settle_taking(ticket, outcome, || Took::Nanos(nanos(took)))
    }

    #[inline(never)]
    fn began_windowed(&self, windowed: &Windowed) -> Began {
        if windowed.slow_after() == NEVER {
            return Began::UNTIMED;
        }
        // Precise: a coarse clock would add its tick to every other call.
        Began(self.inner.clock.precise().as_nanos())
    }

    #[inline(never)]
    pub(super) fn settle_windowed(
        &self,
        windowed: &Windowed,
        ticket: Ticket,
        outcome: Outcome,
        took: Took,
    ) -> Settled {
        let inner = &*self.inner;
        let (nanos, ended) = match took {
            Took::Nanos(nanos) => (nanos, None),
            Took::Since(began) => {
                let ended = inner.clock.precise();
                (ended.as_nanos().saturating_sub(began), Some(ended))
            }
        };
        let slow = nanos >= windowed.slow_after();
        if !ticket.is_closed() {
            let outcome = if slow && outcome == Outcome::Success { Outcome::Failure } else { outcome };
            return self.settle_counted(ticket, outcome);
        }
        let failed = match outcome {
            Outcome::Success => false,
            Outcome::Failure => true,
            Outcome::Ignored if ticket.is_closed_in(inner.cell.word()) => return Settled::Applied,
            Outcome::Ignored => return Settled::Stale,
        };
        let circuit = Circuit { cell: &inner.cell, rules: &inner.numbers, clock: &inner.clock };
        let event = Event { failed, slow };
        let rates = || inner.config.load().rates();
        let ended = || ended.unwrap_or_else(|| inner.clock.now());
        let recorded = windowed.events.settle(&circuit, &ticket, event, stripe(), ended, rates);
        if let Some(opening) = recorded.opening {
            let cause = match opening.reached {
                Reached::Failures => Cause::FailureRate,
                Reached::Slow => Cause::SlowCalls,
            };
            let totals = WindowTotals::new(opening.totals, opening.min_calls);
            self.report_transition(opening.change, cause, Some(totals));
        }
        recorded.settled
    }

    /// What the window holds in the period of `word`.
    pub(super) fn window_totals(&self, word: Word) -> Option<WindowTotals> {
        let windowed = self.inner.window.as_ref()?;
        let rates = self.inner.config.load().rates()?;
        Some(WindowTotals::new(windowed.events.totals(word, &self.inner.clock), rates.min_calls))
    }
}

/// A duration that no call has.
const NEVER: u64 = u64::MAX;

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).min(NEVER - 1)
}

/// More of them make counting dearer without making recording cheaper.
const MAX_STRIPES: usize = 8;

/// Groups of threads that record in cache lines of their own.
fn stripes() -> usize {
    static STRIPES: OnceLock<usize> = OnceLock::new();
    *STRIPES.get_or_init(|| {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        cores.min(MAX_STRIPES).next_power_of_two()
    })
}

/// The stripe of this thread, modulo their number. Handed out in turn, so that few threads share none.
#[inline]
fn stripe() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static STRIPE: Cell<usize> = const { Cell::new(usize::MAX) };
    }
    let stripe = STRIPE.get();
    if stripe != usize::MAX {
        return stripe;
    }
    let stripe = NEXT.fetch_add(1, Ordering::Relaxed) & (usize::MAX >> 1);
    STRIPE.set(stripe);
    stripe
}
