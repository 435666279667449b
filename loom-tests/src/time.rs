//! The clocks of the models, and the readings that they gave.

use std::cell::{Cell, RefCell};
use std::sync::atomic::Ordering;
use std::time::Duration;

use atomic_breaker::engine::AtomicU64;
use atomic_breaker::{Clock, Timestamp};

/// How time passes in a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// It stands still.
    Still,
    /// It advances when an actor says so, for all at once.
    Exact,
    /// As [`Exact`](Pace::Exact), and `now` lags until the actor has refreshed it, too.
    Coarse,
}

/// The clock that the actors share.
///
/// Its exact reading is an atomic that only coherence keeps in order: less than any monotonic clock promises.
#[derive(Debug)]
pub(crate) enum Time {
    /// It stands still.
    Still(Timestamp),
    /// It advances with [`tick`](Time::tick).
    Running {
        /// The exact nanoseconds.
        precise: AtomicU64,
        /// The nanoseconds that `now` reads, if those are not the exact ones.
        coarse: Option<AtomicU64>,
    },
}

impl Time {
    /// A clock that starts at `now`.
    #[must_use]
    pub(crate) fn new(pace: Pace, now: Timestamp) -> Self {
        let nanos = now.as_nanos();
        match pace {
            Pace::Still => Self::Still(now),
            Pace::Exact => Self::Running { precise: AtomicU64::new(nanos), coarse: None },
            Pace::Coarse => {
                Self::Running { precise: AtomicU64::new(nanos), coarse: Some(AtomicU64::new(nanos)) }
            }
        }
    }

    /// Lets time pass.
    ///
    /// # Panics
    ///
    /// If this clock stands still.
    pub(crate) fn tick(&self, by: Duration) {
        let Self::Running { precise, coarse } = self else { panic!("a clock that stands still cannot tick") };
        let by = by.as_nanos() as u64;
        let now = precise.fetch_add(by, Ordering::Relaxed) + by;
        if let Some(coarse) = coarse {
            // Release, with the Acquire in `now`: a clock may lag, but never lead its own exact reading.
            coarse.fetch_max(now, Ordering::Release);
        }
    }
}

impl Clock for Time {
    fn now(&self) -> Timestamp {
        match self {
            Self::Running { coarse: Some(coarse), .. } => {
                Timestamp::from_nanos(coarse.load(Ordering::Acquire))
            }
            _ => self.precise(),
        }
    }

    fn precise(&self) -> Timestamp {
        match self {
            Self::Still(now) => *now,
            Self::Running { precise, .. } => Timestamp::from_nanos(precise.load(Ordering::Relaxed)),
        }
    }
}

/// A clock that remembers what it said.
#[derive(Debug)]
pub(crate) struct Recorder<'a> {
    time: &'a Time,
    readings: RefCell<Vec<Timestamp>>,
}

impl<'a> Recorder<'a> {
    /// Reads `time`.
    #[must_use]
    pub(crate) fn of(time: &'a Time) -> Self {
        Self { time, readings: RefCell::default() }
    }

    /// The readings, oldest first.
    #[must_use]
    pub(crate) fn into_readings(self) -> Vec<Timestamp> {
        self.readings.into_inner()
    }

    fn record(&self, reading: Timestamp) -> Timestamp {
        self.readings.borrow_mut().push(reading);
        reading
    }
}

impl Clock for Recorder<'_> {
    fn now(&self) -> Timestamp {
        self.record(self.time.now())
    }

    fn precise(&self) -> Timestamp {
        self.record(self.time.precise())
    }
}

/// A clock that says again what another one said.
#[derive(Debug)]
pub(crate) struct Replay<'a> {
    readings: &'a [Timestamp],
    asked: Cell<usize>,
}

impl<'a> Replay<'a> {
    /// Gives `readings`, one by one.
    #[must_use]
    pub(crate) const fn of(readings: &'a [Timestamp]) -> Self {
        Self { readings, asked: Cell::new(0) }
    }

    /// Whether every reading was asked for, and no further one.
    #[must_use]
    pub(crate) fn is_spent(&self) -> bool {
        self.asked.get() == self.readings.len()
    }
}

impl Clock for Replay<'_> {
    fn now(&self) -> Timestamp {
        let asked = self.asked.replace(self.asked.get() + 1);
        self.readings.get(asked).copied().unwrap_or_default()
    }
}
