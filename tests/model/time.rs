//! How a walk moves its clock.

use crate::model::{Model, Moment};

/// A move of the clock. It stops at the ends of its range.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tick {
    Forward(u64),
    Back(u64),
    /// To the end of the running wait or lease, give or take some nanoseconds.
    Deadline(i64),
    /// To the next whole millisecond, give or take some nanoseconds.
    NextMs(i64),
    To(u64),
}

/// The clock of a walk; what it shows lags by `lag` behind what is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WalkClock {
    pub(crate) nanos: u64,
    pub(crate) lag: u64,
}

impl WalkClock {
    pub(crate) fn tick(&mut self, tick: Tick, model: &Model) {
        self.nanos = match tick {
            Tick::Forward(by) => self.nanos.saturating_add(by),
            Tick::Back(by) => self.nanos.saturating_sub(by),
            Tick::Deadline(off) => match model.deadline() {
                Some(deadline) => clamped(self.within_reach(deadline), off),
                None => self.nanos,
            },
            Tick::NextMs(off) => clamped(u128::from(self.nanos / 1_000_000 + 1) * 1_000_000, off),
            Tick::To(nanos) => nanos,
        };
    }

    pub(crate) fn moment(&self) -> Moment {
        Moment { now: self.nanos.saturating_sub(self.lag), precise: self.nanos }
    }

    /// The model knows milliseconds modulo 2^36; the clock's own lap is the one that is meant.
    fn within_reach(&self, deadline: u128) -> u128 {
        const LAP: u128 = (1 << 36) * 1_000_000;
        let now = u128::from(self.nanos);
        let lap = now / LAP * LAP + deadline % LAP;
        if lap + LAP / 2 < now { lap + LAP } else { lap }
    }
}

fn clamped(at: u128, off: i64) -> u64 {
    let at = i128::try_from(at).unwrap() + i128::from(off);
    u64::try_from(at.max(0)).unwrap_or(u64::MAX)
}
