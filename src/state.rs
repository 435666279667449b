//! The states of a circuit, as users see them.

use core::fmt;

/// What a circuit does with calls.
///
/// [`Display`](fmt::Display) prints the names that logs and metrics use: `closed`, `half_open`, `open`,
/// `forced_open`, `forced_closed`.
///
/// ```
/// # use atomic_breaker::State;
/// assert_eq!(State::HalfOpen.to_string(), "half_open");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Calls pass; failures are counted.
    Closed,
    /// A bounded number of probes passes; they decide whether the circuit closes or opens again.
    HalfOpen,
    /// Calls are rejected until the wait is over.
    Open,
    /// Calls are rejected until somebody releases the circuit.
    ForcedOpen,
    /// Calls pass and nothing is counted until somebody releases the circuit.
    ForcedClosed,
}

impl State {
    /// The name that [`Display`](fmt::Display) prints, without formatting.
    ///
    /// ```
    /// # use atomic_breaker::State;
    /// assert_eq!(State::ForcedOpen.as_str(), "forced_open");
    /// ```
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::HalfOpen => "half_open",
            Self::Open => "open",
            Self::ForcedOpen => "forced_open",
            Self::ForcedClosed => "forced_closed",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
