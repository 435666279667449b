//! What is wrong with a configuration.

use core::error;
use core::fmt;
use core::time::Duration;

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
    field: &'static str,
    value: Value,
    min: Value,
    max: Value,
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
}

impl ConfigError {
    pub(crate) const fn new(field: &'static str, value: Value, min: Value, max: Value) -> Self {
        Self { field, value, min, max }
    }

    /// The name of the offending value: that of its builder method, and of the argument if there are several
    /// (`backoff.max`).
    #[must_use]
    pub const fn field(&self) -> &'static str {
        self.field
    }

    /// The value itself.
    #[must_use]
    pub const fn value(&self) -> Value {
        self.value
    }

    /// The smallest legal value.
    #[must_use]
    pub const fn min(&self) -> Value {
        self.min
    }

    /// The largest legal value.
    #[must_use]
    pub const fn max(&self) -> Value {
        self.max
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, value, min, max } = self;
        write!(f, "{field} is {value}, legal is {min}..={max}")
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
            Self::Number(number) if number.abs() >= 1e6 => write!(f, "{number:e}"),
            Self::Number(number) => write!(f, "{number}"),
        }
    }
}
