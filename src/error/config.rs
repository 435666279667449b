//! What is wrong with a configuration.

use core::error;
use core::fmt;
use core::time::Duration;

#[cfg(feature = "std")]
use crate::config::Window;

/// A value that no circuit can be built with.
///
/// ```
/// use atomic_breaker::Config;
///
/// let error = Config::builder().failure_threshold(0).build().unwrap_err();
/// assert_eq!(error.field(), "failure_threshold");
/// assert_eq!(error.to_string(), "failure_threshold is 0, legal is 1..=4095");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConfigError {
    kind: ConfigErrorKind,
    field: &'static str,
    value: Value,
    min: Value,
    max: Value,
}

/// What is wrong with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConfigErrorKind {
    /// It lies outside its legal range.
    OutOfRange,
    /// A length of time cannot be cut into so many buckets of whole nanoseconds. [`min`](ConfigError::min) and
    /// [`max`](ConfigError::max) are the nearest that can.
    NotWholeBuckets,
    /// Slow calls are counted in the window of a failure rate, and none is configured.
    NeedsFailureRate,
    /// The breaker was made with a window of another shape, or with none. [`min`](ConfigError::min) and
    /// [`max`](ConfigError::max) are that one.
    OtherWindow,
}

/// A configured value, as a [`ConfigError`] names it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// A number of things.
    Count(u32),
    /// A span of time.
    Time(Duration),
    /// A factor or a share.
    Number(f64),
    /// A window's shape.
    #[cfg(feature = "std")]
    Window(Window),
    /// Nothing: the value is not, or must not be, configured.
    None,
}

impl ConfigError {
    pub(crate) const fn new(field: &'static str, value: Value, min: Value, max: Value) -> Self {
        Self { kind: ConfigErrorKind::OutOfRange, field, value, min, max }
    }

    #[cfg(feature = "std")]
    pub(crate) const fn of_kind(
        kind: ConfigErrorKind,
        field: &'static str,
        value: Value,
        min: Value,
        max: Value,
    ) -> Self {
        Self { kind, field, value, min, max }
    }

    /// What is wrong with the value.
    ///
    /// ```
    /// # use atomic_breaker::{Config, ConfigErrorKind};
    /// let error = Config::builder().jitter(2.0).build().unwrap_err();
    /// assert_eq!(error.kind(), ConfigErrorKind::OutOfRange);
    /// ```
    #[must_use]
    pub const fn kind(&self) -> ConfigErrorKind {
        self.kind
    }

    /// The name of the offending value: that of its builder method, and of the argument if there are several
    /// (`backoff.max`).
    ///
    /// ```
    /// # use atomic_breaker::Config;
    /// assert_eq!(Config::builder().jitter(2.0).build().unwrap_err().field(), "jitter");
    /// ```
    #[must_use]
    pub const fn field(&self) -> &'static str {
        self.field
    }

    /// The value itself.
    ///
    /// ```
    /// # use atomic_breaker::{Config, Value};
    /// assert_eq!(Config::builder().jitter(2.0).build().unwrap_err().value(), Value::Number(2.0));
    /// ```
    #[must_use]
    pub const fn value(&self) -> Value {
        self.value
    }

    /// The smallest legal value.
    ///
    /// ```
    /// # use atomic_breaker::{Config, Value};
    /// assert_eq!(Config::builder().jitter(2.0).build().unwrap_err().min(), Value::Number(0.0));
    /// ```
    #[must_use]
    pub const fn min(&self) -> Value {
        self.min
    }

    /// The largest legal value.
    ///
    /// ```
    /// # use atomic_breaker::{Config, Value};
    /// assert_eq!(Config::builder().jitter(2.0).build().unwrap_err().max(), Value::Number(1.0));
    /// ```
    #[must_use]
    pub const fn max(&self) -> Value {
        self.max
    }
}

impl Value {
    #[cfg(feature = "std")]
    pub(crate) fn window(window: Option<Window>) -> Self {
        window.map_or(Self::None, Self::Window)
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, field, value, min, max } = self;
        write!(f, "{field} is {value}, ")?;
        match (kind, min) {
            // The lower end of a share is not one of its values.
            (ConfigErrorKind::OutOfRange, Value::Number(f64::MIN_POSITIVE)) => {
                write!(f, "legal is above 0, up to {max}")
            }
            (ConfigErrorKind::OutOfRange, _) => write!(f, "legal is {min}..={max}"),
            (ConfigErrorKind::NotWholeBuckets, _) if min == max => {
                write!(f, "legal next to it is {min}, which its buckets divide")
            }
            (ConfigErrorKind::NotWholeBuckets, _) => {
                write!(f, "legal next to it are {min} and {max}, which its buckets divide")
            }
            (ConfigErrorKind::NeedsFailureRate, _) => f.write_str("legal is none without failure_rate"),
            (ConfigErrorKind::OtherWindow, _) => write!(f, "legal is {min}, as the breaker was made"),
        }
    }
}

impl error::Error for ConfigError {}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DAY: u64 = 24 * 60 * 60;
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Time(time)
                if time.subsec_nanos() == 0 && time.as_secs() >= DAY && time.as_secs() % DAY == 0 =>
            {
                write!(f, "{} days", time.as_secs() / DAY)
            }
            Self::Time(time) => write!(f, "{time:?}"),
            Self::Number(number) if number.abs() >= 1e6 || (*number != 0.0 && number.abs() < 1e-6) => {
                write!(f, "{number:e}")
            }
            Self::Number(number) => write!(f, "{number}"),
            #[cfg(feature = "std")]
            Self::Window(window) => window.fmt(f),
            Self::None => f.write_str("none"),
        }
    }
}
