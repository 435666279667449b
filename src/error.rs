//! What a caller gets instead of a result.

use core::error;
use core::fmt;
use core::time::Duration;

mod config;

pub use self::config::{ConfigError, ConfigErrorKind, Value};
use crate::limits::Tags;

/// A call was not made, because the circuit does not admit it.
///
/// Displays as `circuit "orders" is open, next probe in 12.3s`. It converts into [`std::io::Error`], so that it
/// travels through code that knows only that, and [`find_in`](Rejected::find_in) finds it again.
///
/// ```
/// use atomic_breaker::{CircuitBreaker, Config, Reason};
///
/// let breaker = CircuitBreaker::new(Config::builder().name("orders").build()?);
/// breaker.force_open();
/// let rejected = breaker.try_acquire().unwrap_err();
/// assert_eq!(rejected.reason(), Reason::ForcedOpen);
/// assert_eq!(rejected.to_string(), r#"circuit "orders" is forced open"#);
/// # Ok::<(), atomic_breaker::ConfigError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rejected {
    circuit: &'static str,
    /// Milliseconds of `retry_after` above two bits of reason and two of tags: three words in all, so that
    /// `Result<Permit, Rejected>` stays small.
    packed: u64,
}

/// Why a call was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The circuit is open and its wait is not over.
    Open,
    /// The circuit is half-open and its probes are in flight.
    HalfOpen,
    /// The circuit is held open until somebody releases it.
    ForcedOpen,
}

// tags 2 | reason 2 | milliseconds 60: the tags where the packed limits have them, and the time where it needs no shift.
const REASON_SHIFT: u32 = 60;
const LEFT: u64 = (1 << REASON_SHIFT) - 1;

/// A rejection without the name of its circuit.
#[cfg(feature = "std")]
#[derive(Clone, Copy)]
pub(crate) struct Refusal(u64);

#[cfg(feature = "std")]
impl Refusal {
    #[inline]
    pub(crate) const fn new(reason: Reason, left_ms: u64, tags: Tags) -> Self {
        Self(Rejected::new(reason, left_ms, tags).packed)
    }

    #[inline]
    pub(crate) const fn is_tagged(self) -> bool {
        self.0 & Tags::MASK != 0
    }

    pub(crate) const fn tags(self) -> Tags {
        Tags::of(self.0)
    }

    #[inline]
    pub(crate) const fn of_circuit(self, circuit: &'static str) -> Rejected {
        Rejected { circuit, packed: self.0 & !Tags::MASK }
    }
}

impl Rejected {
    /// In place of the milliseconds until the next probe: nobody can tell.
    pub(crate) const UNKNOWN: u64 = 0;

    #[inline]
    pub(crate) const fn new(reason: Reason, left_ms: u64, tags: Tags) -> Self {
        Self { circuit: "", packed: left_ms | (reason as u64) << REASON_SHIFT | tags.bits() }
    }

    /// Why the call was rejected.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config, Reason};
    /// let breaker = CircuitBreaker::new(Config::default());
    /// breaker.trip();
    /// assert_eq!(breaker.try_acquire().unwrap_err().reason(), Reason::Open);
    /// ```
    #[must_use]
    pub const fn reason(&self) -> Reason {
        match self.packed >> REASON_SHIFT & 0b11 {
            0 => Reason::Open,
            1 => Reason::HalfOpen,
            _ => Reason::ForcedOpen,
        }
    }

    /// When to try again: in whole milliseconds, never zero. `None` where nobody can tell: the circuit is forced
    /// open, or its probes are never written off.
    ///
    /// While the circuit is open, a call after this time finds the wait over: it is admitted, or other callers' probes
    /// were there before it.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use atomic_breaker::{CircuitBreaker, Config};
    /// let breaker = CircuitBreaker::new(Config::default());
    /// breaker.trip();
    /// let left = breaker.try_acquire().unwrap_err().retry_after().unwrap();
    /// assert!(left > Duration::from_secs(59));
    /// ```
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        match self.packed & LEFT {
            Self::UNKNOWN => None,
            left => Some(Duration::from_millis(left)),
        }
    }

    /// The circuit's name; without one, the path of the function that was to be called, or of the one around a closure or
    /// an `async` block; else empty.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config};
    /// let breaker = CircuitBreaker::new(Config::default());
    /// breaker.trip();
    /// fn fetch() -> Result<(), ()> {
    ///     Ok(())
    /// }
    /// let rejected = *breaker.call(fetch).unwrap_err().rejected().unwrap();
    /// assert!(rejected.circuit().ends_with("fetch"));
    /// ```
    #[must_use]
    pub const fn circuit(&self) -> &'static str {
        self.circuit
    }

    /// The same rejection, of a circuit with this name.
    ///
    /// The engine knows no names; a breaker that is built on it adds its own.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config};
    /// let breaker = CircuitBreaker::new(Config::default());
    /// breaker.force_open();
    /// let rejected = breaker.try_acquire().unwrap_err().of_circuit("orders");
    /// assert_eq!(rejected.circuit(), "orders");
    /// ```
    #[must_use]
    pub const fn of_circuit(self, circuit: &'static str) -> Self {
        Self { circuit, ..self }
    }

    /// Finds a rejection in an error or in what caused it, through [`std::io::Error`] as well.
    ///
    /// ```
    /// use std::io;
    /// use atomic_breaker::{CircuitBreaker, Config, Rejected};
    ///
    /// let breaker = CircuitBreaker::new(Config::default());
    /// breaker.trip();
    /// let error = io::Error::from(breaker.try_acquire().unwrap_err());
    /// let rejected = Rejected::find_in(&error).unwrap();
    /// assert!(rejected.retry_after().is_some());
    /// ```
    #[must_use]
    pub fn find_in(error: &(dyn error::Error + 'static)) -> Option<Self> {
        let mut link = Some(error);
        while let Some(error) = link {
            if let Some(rejected) = error.downcast_ref::<Self>() {
                return Some(*rejected);
            }
            link = inner(error).or_else(|| error.source());
        }
        None
    }

    #[cfg(feature = "std")]
    #[inline]
    pub(crate) const fn refusal(&self) -> Refusal {
        Refusal(self.packed)
    }

    #[cfg(feature = "std")]
    #[inline]
    pub(crate) const fn tags(&self) -> Tags {
        Tags::of(self.packed)
    }

    #[cfg(feature = "std")]
    #[inline]
    pub(crate) const fn untagged(self) -> Self {
        Self { packed: self.packed & !Tags::MASK, ..self }
    }
}

/// An `io::Error` names as its source what causes its payload, and keeps the payload itself to `get_ref`.
fn inner<'a>(error: &'a (dyn error::Error + 'static)) -> Option<&'a (dyn error::Error + 'static)> {
    #[cfg(feature = "std")]
    if let Some(error) = error.downcast_ref::<std::io::Error>() {
        return error.get_ref().map(|inner| inner as &(dyn error::Error + 'static));
    }
    let _: &'a (dyn error::Error + 'static) = error;
    None
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("circuit ")?;
        if !self.circuit.is_empty() {
            write!(f, "{:?} ", self.circuit)?;
        }
        let (state, next) = match self.reason() {
            Reason::Open => ("is open", ", next probe in "),
            Reason::HalfOpen => ("is half-open, its probes are in flight", ", overdue in "),
            Reason::ForcedOpen => ("is forced open", ""),
        };
        f.write_str(state)?;
        match self.retry_after() {
            None => Ok(()),
            Some(left) if left < Duration::from_secs(1) => write!(f, "{next}{}ms", left.as_millis()),
            // Rounded up: whoever waits as long as the message says is not early.
            Some(left) => {
                let tenths = left.as_millis().div_ceil(100);
                write!(f, "{next}{}.{}s", tenths / 10, tenths % 10)
            }
        }
    }
}

impl fmt::Debug for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rejected")
            .field("circuit", &self.circuit)
            .field("reason", &self.reason())
            .field("retry_after", &self.retry_after())
            .finish()
    }
}

impl error::Error for Rejected {}

#[cfg(feature = "std")]
impl From<Rejected> for std::io::Error {
    /// An error of kind [`Other`](std::io::ErrorKind::Other), which no client takes for a fault of the
    /// network that it should retry.
    fn from(rejected: Rejected) -> Self {
        Self::other(rejected)
    }
}

/// Why a protected call gave no value: it was not made, or it failed.
///
/// Displays as what it holds. Its [`source`](error::Error::source) is what it holds, too, so that code which walks
/// the chain finds the caller's own error and the rejection alike.
///
/// ```
/// use atomic_breaker::{CircuitBreaker, Config, Error};
///
/// let breaker = CircuitBreaker::new(Config::default());
/// match breaker.call(|| Err::<(), _>("refused")) {
///     Ok(()) => unreachable!(),
///     Err(Error::Rejected(rejected)) => println!("{rejected}"),
///     Err(Error::Inner(error)) => assert_eq!(error, "refused"),
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error<E> {
    /// The circuit rejected the call; nothing was done.
    Rejected(Rejected),
    /// The call was made and failed with this error.
    Inner(E),
}

impl<E> Error<E> {
    /// Whether the call was rejected.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config};
    /// let breaker = CircuitBreaker::new(Config::default());
    /// assert!(!breaker.call(|| Err::<(), _>("refused")).unwrap_err().is_rejected());
    /// ```
    #[must_use]
    pub const fn is_rejected(&self) -> bool {
        matches!(self, Self::Rejected(_))
    }

    /// The rejection, if the call was rejected.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config};
    /// let breaker = CircuitBreaker::new(Config::default());
    /// breaker.trip();
    /// let error = breaker.call(|| Ok::<(), ()>(())).unwrap_err();
    /// assert!(error.rejected().is_some());
    /// ```
    #[must_use]
    pub const fn rejected(&self) -> Option<&Rejected> {
        match self {
            Self::Rejected(rejected) => Some(rejected),
            Self::Inner(_) => None,
        }
    }

    /// The call's own error, if it was made.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config};
    /// let breaker = CircuitBreaker::new(Config::default());
    /// let error = breaker.call(|| Err::<(), _>("refused")).unwrap_err();
    /// assert_eq!(error.into_inner(), Some("refused"));
    /// ```
    #[must_use]
    pub fn into_inner(self) -> Option<E> {
        match self {
            Self::Rejected(_) => None,
            Self::Inner(error) => Some(error),
        }
    }

    /// When to try again, if the call was rejected and that is known; see [`Rejected::retry_after`].
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config};
    /// let breaker = CircuitBreaker::new(Config::default());
    /// breaker.trip();
    /// let error = breaker.call(|| Ok::<(), ()>(())).unwrap_err();
    /// assert!(error.retry_after().is_some());
    /// ```
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Rejected(rejected) => rejected.retry_after(),
            Self::Inner(_) => None,
        }
    }

    /// The caller's own error type, which has a place for rejections.
    ///
    /// ```
    /// use std::io;
    /// use atomic_breaker::{CircuitBreaker, Config, Error};
    ///
    /// let breaker = CircuitBreaker::new(Config::default());
    /// breaker.trip();
    /// let result: io::Result<()> = breaker.call(|| Ok(())).map_err(Error::absorb);
    /// assert!(result.unwrap_err().to_string().starts_with("circuit "));
    /// ```
    #[must_use]
    pub fn absorb(self) -> E
    where
        E: From<Rejected>,
    {
        match self {
            Self::Rejected(rejected) => rejected.into(),
            Self::Inner(error) => error,
        }
    }
}

impl<E> From<Rejected> for Error<E> {
    fn from(rejected: Rejected) -> Self {
        Self::Rejected(rejected)
    }
}

#[cfg(feature = "std")]
impl From<Error<std::io::Error>> for std::io::Error {
    fn from(error: Error<std::io::Error>) -> Self {
        error.absorb()
    }
}

impl<E: fmt::Display> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected(rejected) => rejected.fmt(f),
            Self::Inner(error) => error.fmt(f),
        }
    }
}

impl<E: error::Error + 'static> error::Error for Error<E> {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Rejected(rejected) => Some(rejected),
            Self::Inner(error) => Some(error),
        }
    }
}
