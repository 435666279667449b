//! A clock that a thread keeps fresh: reading it is one load.

use std::error;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam_utils::CachePadded;

use super::{Clock, QuantaClock, Timestamp};

/// A clock whose reading is one load: a recent reading of quanta, kept fresh by a thread of its own.
///
/// It makes a rejection several times cheaper. In exchange a wait may end up to one tick late (never early:
/// transitions are stamped with the exact time), and `sleep(retry_after)` may be a tick short of it.
///
/// Clones share the thread, which ends with the last of them. Make one per process and clone it. A process that forks has
/// no such thread in the child, where this clock stands still: make it after the fork.
///
/// ```
/// use std::time::Duration;
/// use atomic_breaker::{CircuitBreaker, CoarseClock, Config};
///
/// let clock = CoarseClock::start(Duration::from_millis(1))?;
/// let breaker = CircuitBreaker::with_clock(Config::default(), clock.clone());
/// assert!(breaker.call(|| Ok::<_, ()>(1)).is_ok());
/// # Ok::<(), atomic_breaker::CoarseClockError>(())
/// ```
#[derive(Clone)]
pub struct CoarseClock {
    exact: QuantaClock,
    recent: Arc<Recent>,
    upkeep: Arc<Upkeep>,
}

impl CoarseClock {
    /// Starts the thread that keeps the time fresh, once per `tick`.
    ///
    /// # Errors
    ///
    /// [`CoarseClockError::Tick`] unless `tick` lies in 1 ms..=1 s, and [`CoarseClockError::Spawn`] when the system
    /// refuses the thread.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use atomic_breaker::{CoarseClock, CoarseClockError};
    /// assert!(matches!(CoarseClock::start(Duration::ZERO), Err(CoarseClockError::Tick(_))));
    /// let clock = CoarseClock::start(Duration::from_millis(1))?;
    /// # Ok::<(), CoarseClockError>(())
    /// ```
    pub fn start(tick: Duration) -> Result<Self, CoarseClockError> {
        if tick < MIN_TICK || tick > MAX_TICK {
            return Err(CoarseClockError::Tick(tick));
        }
        let exact = QuantaClock::new();
        let recent = Arc::new(Recent::default());
        let upkeep = Upkeep::start(exact, Arc::clone(&recent), tick).map_err(CoarseClockError::Spawn)?;
        Ok(Self { exact, recent, upkeep: Arc::new(upkeep) })
    }
}

impl Clock for CoarseClock {
    #[inline]
    fn now(&self) -> Timestamp {
        Timestamp::from_nanos(self.recent.nanos.load(Ordering::Acquire))
    }

    fn precise(&self) -> Timestamp {
        self.exact.now()
    }
}

impl fmt::Debug for CoarseClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CoarseClock")
            .field("now", &self.now())
            .field("tick", &self.upkeep.tick)
            .finish_non_exhaustive()
    }
}

/// Why a [`CoarseClock`] could not be started.
#[derive(Debug)]
#[non_exhaustive]
pub enum CoarseClockError {
    /// The tick is outside 1 ms..=1 s.
    Tick(Duration),
    /// The system refused to start the thread.
    Spawn(io::Error),
}

impl fmt::Display for CoarseClockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tick(tick) => write!(f, "tick is {tick:?}, legal is {MIN_TICK:?}..={MAX_TICK:?}"),
            Self::Spawn(_) => f.write_str("the upkeep thread could not be started"),
        }
    }
}

impl error::Error for CoarseClockError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Tick(_) => None,
            Self::Spawn(error) => Some(error),
        }
    }
}

const MIN_TICK: Duration = Duration::from_millis(1);
const MAX_TICK: Duration = Duration::from_secs(1);

/// The latest reading. On cache lines of its own: it is read far more often than anything near it.
#[derive(Default)]
struct Recent {
    nanos: CachePadded<AtomicU64>,
}

/// The thread. quanta has one, too, but its recent time is global: it stands still for ever once whoever started that
/// thread lets go, and then a circuit that is open never closes; and anybody may set it to anything.
struct Upkeep {
    tick: Duration,
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Upkeep {
    fn start(clock: QuantaClock, recent: Arc<Recent>, tick: Duration) -> io::Result<Self> {
        let refresh = move || recent.nanos.store(clock.now().as_nanos(), Ordering::Release);
        refresh();
        let done = Arc::new(AtomicBool::new(false));
        let thread = thread::Builder::new().name("atomic-breaker-clock".into()).spawn({
            let done = Arc::clone(&done);
            move || {
                while !done.load(Ordering::Acquire) {
                    refresh();
                    thread::park_timeout(tick);
                }
            }
        })?;
        Ok(Self { tick, done, thread: Some(thread) })
    }
}

impl Drop for Upkeep {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The thread cannot panic, and a clock has nobody to tell if it did.
            let _ = thread.join();
        }
    }
}
