//! What a circuit breaker is told to do.

use std::convert::Infallible;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

use crate::error::ConfigError;
use crate::limits::{Backoff, Limits, LimitsBuilder, ProbeTimeout, Tags};
use crate::observe::Observer;
use crate::window::Rates;

mod window;

use self::window::Policy;
pub use self::window::{FailureRate, SlowCalls, Window};

/// The configuration of a circuit breaker: legal by construction.
///
/// The default: 5 consecutive failures open the circuit for 60 s, then 1 probe at a time, of which 1 success closes it.
///
/// ```
/// use std::time::Duration;
/// use atomic_breaker::Config;
///
/// let config = Config::builder()
///     .name("orders")
///     .failure_threshold(3)
///     .recovery_timeout(Duration::from_secs(10))
///     .backoff(2.0, Duration::from_secs(300))
///     .jitter(0.2)
///     .build()?;
/// assert_eq!(config.failure_threshold(), 3);
/// # Ok::<(), atomic_breaker::ConfigError>(())
/// ```
#[derive(Clone)]
pub struct Config {
    numbers: LimitsBuilder,
    policy: Policy,
    name: &'static str,
    shadow: bool,
    observer: Option<Arc<dyn Observer>>,
}

impl Config {
    /// A builder that holds the defaults.
    ///
    /// ```
    /// # use atomic_breaker::Config;
    /// let config = Config::builder().failure_threshold(3).build()?;
    /// assert_eq!(config.failure_threshold(), 3);
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    pub fn builder() -> ConfigBuilder {
        ConfigBuilder { config: Self::default() }
    }

    /// A builder that holds these values, to change some of them.
    ///
    /// ```
    /// use atomic_breaker::{CircuitBreaker, Config};
    ///
    /// let breaker = CircuitBreaker::new(Config::default());
    /// let stricter = breaker.config().to_builder().failure_threshold(2).build()?;
    /// breaker.reconfigure(stricter)?;
    /// assert_eq!(breaker.config().failure_threshold(), 2);
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    pub fn to_builder(&self) -> ConfigBuilder {
        ConfigBuilder { config: self.clone() }
    }

    /// The circuit's name, empty if it has none.
    ///
    /// ```
    /// # use atomic_breaker::Config;
    /// let config = Config::builder().name("orders").build()?;
    /// assert_eq!(config.name(), "orders");
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Consecutive failures that open the circuit.
    ///
    /// ```
    /// # use atomic_breaker::Config;
    /// assert_eq!(Config::default().failure_threshold(), 5);
    /// ```
    #[must_use]
    pub const fn failure_threshold(&self) -> u32 {
        self.numbers.failure_threshold
    }

    /// How long the circuit stays open before it lets a probe through.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use atomic_breaker::Config;
    /// assert_eq!(Config::default().recovery_timeout(), Duration::from_secs(60));
    /// ```
    #[must_use]
    pub const fn recovery_timeout(&self) -> Duration {
        self.numbers.recovery_timeout
    }

    /// Probes that may be in flight at once, `None` if unlimited.
    ///
    /// ```
    /// # use atomic_breaker::Config;
    /// assert_eq!(Config::default().half_open_max_calls(), Some(1));
    /// ```
    #[must_use]
    pub const fn half_open_max_calls(&self) -> Option<u32> {
        self.numbers.half_open_max_calls
    }

    /// Successful probes that close the circuit.
    ///
    /// ```
    /// # use atomic_breaker::Config;
    /// assert_eq!(Config::default().success_threshold(), 1);
    /// ```
    #[must_use]
    pub const fn success_threshold(&self) -> u32 {
        self.numbers.success_threshold
    }

    /// When the probes in flight are written off.
    ///
    /// ```
    /// # use atomic_breaker::{Config, ProbeTimeout};
    /// assert_eq!(Config::default().probe_timeout(), ProbeTimeout::Wait);
    /// ```
    #[must_use]
    pub const fn probe_timeout(&self) -> ProbeTimeout {
        self.numbers.probe_timeout
    }

    /// How the wait grows, `None` if it does not.
    ///
    /// ```
    /// # use atomic_breaker::Config;
    /// assert_eq!(Config::default().backoff(), None);
    /// ```
    #[must_use]
    pub const fn backoff(&self) -> Option<Backoff> {
        self.numbers.backoff
    }

    /// The share of a wait by which it is shortened at most.
    ///
    /// ```
    /// # use atomic_breaker::Config;
    /// let config = Config::builder().jitter(0.25).build()?;
    /// assert!(config.jitter() > 0.2);
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    #[must_use]
    pub const fn jitter(&self) -> f64 {
        self.numbers.jitter
    }

    /// The share of failed calls that opens the circuit, `None` if consecutive failures do.
    ///
    /// ```
    /// # use atomic_breaker::{Config, Window};
    /// let config = Config::builder().failure_rate(0.5, 20, Window::Calls(100)).build()?;
    /// assert_eq!(config.failure_rate().unwrap().min_calls, 20);
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    #[must_use]
    pub const fn failure_rate(&self) -> Option<FailureRate> {
        self.policy.failure_rate
    }

    /// The share of slow calls that opens the circuit, `None` if they do not matter.
    ///
    /// ```
    /// # use atomic_breaker::Config;
    /// assert_eq!(Config::default().slow_calls(), None);
    /// ```
    #[must_use]
    pub const fn slow_calls(&self) -> Option<SlowCalls> {
        self.policy.slow_calls
    }

    /// Whether rejections are only reported, not carried out.
    ///
    /// ```
    /// # use atomic_breaker::Config;
    /// assert!(!Config::default().shadow());
    /// ```
    #[must_use]
    pub const fn shadow(&self) -> bool {
        self.shadow
    }

    /// Who hears of transitions and rejections.
    ///
    /// ```
    /// # use atomic_breaker::Config;
    /// assert!(Config::default().observer().is_none());
    /// ```
    #[must_use]
    pub fn observer(&self) -> Option<&Arc<dyn Observer>> {
        self.observer.as_ref()
    }

    pub(crate) fn limits(&self) -> Limits {
        self.numbers.pack()
    }

    pub(crate) const fn tags(&self) -> Tags {
        Tags { observed: self.observer.is_some(), shadow: self.shadow }
    }

    pub(crate) fn rates(&self) -> Option<Rates> {
        self.policy.rates()
    }

    /// The shape of the window, `None` without one.
    pub(crate) fn window(&self) -> Option<Window> {
        self.policy.failure_rate.map(|failures| failures.window)
    }

    pub(crate) const fn has_backoff(&self) -> bool {
        self.numbers.backoff.is_some()
    }

    pub(crate) fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            numbers: Limits::builder(),
            policy: Policy::default(),
            name: "",
            shadow: false,
            observer: None,
        }
    }
}

// Whatever an observer's panic leaves behind in the observer, nothing is left half done here.
impl UnwindSafe for Config {}
impl RefUnwindSafe for Config {}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("name", &self.name)
            .field("failure_threshold", &self.failure_threshold())
            .field("recovery_timeout", &self.recovery_timeout())
            .field("half_open_max_calls", &self.half_open_max_calls())
            .field("success_threshold", &self.success_threshold())
            .field("probe_timeout", &self.probe_timeout())
            .field("backoff", &self.backoff())
            .field("jitter", &self.jitter())
            .field("failure_rate", &self.failure_rate())
            .field("slow_calls", &self.slow_calls())
            .field("shadow", &self.shadow)
            .field("observed", &self.observer.is_some())
            .finish()
    }
}

/// Builds a [`Config`].
///
/// | value | legal | default |
/// |---|---|---|
/// | [`name`](Self::name) | any | none |
/// | [`failure_threshold`](Self::failure_threshold) | 1..=4095 | 5 |
/// | [`recovery_timeout`](Self::recovery_timeout) | 1 ms..=365 days | 60 s |
/// | [`half_open_max_calls`](Self::half_open_max_calls) | 1..=63, or [unlimited](Self::half_open_unlimited) | 1 |
/// | [`success_threshold`](Self::success_threshold) | 1..=63 | 1 |
/// | [`probe_timeout`](Self::probe_timeout) | 1 ms..=365 days, or [never](Self::probe_timeout_never) | the wait |
/// | [`backoff`](Self::backoff) multiplier | 1.0 and up, finite | none |
/// | [`backoff`](Self::backoff) max | the recovery timeout..=365 days | none |
/// | [`jitter`](Self::jitter) | 0.0..=1.0 | 0.0 |
/// | [`failure_rate`](Self::failure_rate) rate | above 0, up to 1.0 | none |
/// | [`failure_rate`](Self::failure_rate) `min_calls` | 1 and up; [`Calls`](Window::Calls): up to the window | none |
/// | [`Window::Calls`] | 1..=65536 | none |
/// | [`Window::Time`] | 1..=4096 buckets of 1 ms and up, which divide it; up to 365 days | none |
/// | [`slow_calls`](Self::slow_calls) `slower_than` | 1 ns..=365 days; with a failure rate only | none |
/// | [`slow_calls`](Self::slow_calls) rate | above 0, up to 1.0 | none |
/// | [`shadow`](Self::shadow) | | `false` |
/// | [`observer`](Self::observer) | | none |
///
/// The circuit goes by whole milliseconds, rounded up.
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until it is built"]
pub struct ConfigBuilder {
    config: Config,
}

impl ConfigBuilder {
    /// Names the circuit, in messages and events.
    ///
    /// ```
    /// # use atomic_breaker::Config;
    /// let config = Config::builder().name("orders").build()?;
    /// assert_eq!(config.name(), "orders");
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    pub fn name(mut self, name: &'static str) -> Self {
        self.config.name = name;
        self
    }

    /// Sets how many consecutive failures open the circuit.
    ///
    /// ```
    /// # use atomic_breaker::Config;
    /// let config = Config::builder().failure_threshold(3).build()?;
    /// assert_eq!(config.failure_threshold(), 3);
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    pub fn failure_threshold(self, failures: u32) -> Self {
        self.numbers(|numbers| numbers.failure_threshold(failures))
    }

    /// Sets how long the circuit stays open before it lets a probe through.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use atomic_breaker::Config;
    /// let config = Config::builder().recovery_timeout(Duration::from_secs(5)).build()?;
    /// assert_eq!(config.recovery_timeout(), Duration::from_secs(5));
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    pub fn recovery_timeout(self, wait: Duration) -> Self {
        self.numbers(|numbers| numbers.recovery_timeout(wait))
    }

    /// Sets the slots of the half-open circuit: probes that may be in flight at once.
    ///
    /// ```
    /// # use atomic_breaker::Config;
    /// let config = Config::builder().half_open_max_calls(3).build()?;
    /// assert_eq!(config.half_open_max_calls(), Some(3));
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    pub fn half_open_max_calls(self, slots: u32) -> Self {
        self.numbers(|numbers| numbers.half_open_max_calls(slots))
    }

    /// Lets every call of the half-open circuit through. For upstreams that nothing can overload.
    ///
    /// ```
    /// # use atomic_breaker::Config;
    /// let config = Config::builder().half_open_unlimited().build()?;
    /// assert_eq!(config.half_open_max_calls(), None);
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    pub fn half_open_unlimited(self) -> Self {
        self.numbers(LimitsBuilder::half_open_unlimited)
    }

    /// Sets how many successful probes close the circuit.
    ///
    /// ```
    /// # use atomic_breaker::Config;
    /// let config = Config::builder().success_threshold(2).build()?;
    /// assert_eq!(config.success_threshold(), 2);
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    pub fn success_threshold(self, successes: u32) -> Self {
        self.numbers(|numbers| numbers.success_threshold(successes))
    }

    /// Sets after how long the probes in flight are written off, counted from the first of them, so that the next one
    /// may fly. Without this: after the wait of the present back-off step.
    ///
    /// A probe that reports after it was written off still counts: an upstream slower than this can close the circuit.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use atomic_breaker::{Config, ProbeTimeout};
    /// let config = Config::builder().probe_timeout(Duration::from_secs(2)).build()?;
    /// assert_eq!(config.probe_timeout(), ProbeTimeout::After(Duration::from_secs(2)));
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    pub fn probe_timeout(self, timeout: Duration) -> Self {
        self.numbers(|numbers| numbers.probe_timeout(ProbeTimeout::After(timeout)))
    }

    /// Never writes a probe off: one that hangs blocks the circuit until it reports or is dropped.
    ///
    /// ```
    /// # use atomic_breaker::{Config, ProbeTimeout};
    /// let config = Config::builder().probe_timeout_never().build()?;
    /// assert_eq!(config.probe_timeout(), ProbeTimeout::Never);
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    pub fn probe_timeout_never(self) -> Self {
        self.numbers(|numbers| numbers.probe_timeout(ProbeTimeout::Never))
    }

    /// Multiplies the wait with each failed half-open period, up to `max`. A recovery starts over.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use atomic_breaker::Config;
    /// let config = Config::builder().backoff(2.0, Duration::from_secs(600)).build()?;
    /// assert_eq!(config.backoff().unwrap().max, Duration::from_secs(600));
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    pub fn backoff(self, multiplier: f64, max: Duration) -> Self {
        self.numbers(|numbers| numbers.backoff(multiplier, max))
    }

    /// Shortens each wait by a random part, up to this share of it, so that a fleet does not probe in step.
    ///
    /// ```
    /// # use atomic_breaker::Config;
    /// let config = Config::builder().jitter(0.25).build()?;
    /// assert!(config.jitter() > 0.2);
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    pub fn jitter(self, share: f64) -> Self {
        self.numbers(|numbers| numbers.jitter(share))
    }

    /// Opens the circuit when this share of the calls in a window has failed, instead of after a number of failures in a
    /// row.
    ///
    /// A failure decides, itself included, once the window holds at least `min_calls`: `failures / total >= rate`. A
    /// success never opens a circuit. The window begins anew each time the circuit closes. Its shape is fixed for the
    /// life of a breaker; rate and `min_calls` can be reconfigured.
    ///
    /// ```
    /// use std::time::Duration;
    /// use atomic_breaker::{CircuitBreaker, Config, State, Window};
    ///
    /// let window = Window::Time { length: Duration::from_secs(10), buckets: 10 };
    /// let breaker = CircuitBreaker::new(Config::builder().failure_rate(0.5, 4, window).build()?);
    /// for _ in 0..3 {
    ///     breaker.try_acquire()?.success();
    /// }
    /// for _ in 0..2 {
    ///     breaker.try_acquire()?.failure();
    /// }
    /// assert_eq!(breaker.state(), State::Closed, "2 of 5");
    /// breaker.try_acquire()?.failure();
    /// assert_eq!(breaker.state(), State::Open, "3 of 6");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn failure_rate(mut self, rate: f64, min_calls: u32, window: Window) -> Self {
        self.config.policy.failure_rate = Some(FailureRate { rate, min_calls, window });
        self
    }

    /// Also opens the circuit when this share of the calls in the window was slow, whatever their outcome; a slow probe
    /// counts as a failed one. Needs a [`failure_rate`](Self::failure_rate).
    ///
    /// [`call`](crate::CircuitBreaker::call), [`call_async`](crate::CircuitBreaker::call_async) and their kin measure how
    /// long a call takes, with the breaker's clock. Permits are told:
    /// [`record_after`](crate::Permit::record_after); without it, a call took no time.
    ///
    /// ```
    /// use std::time::Duration;
    /// use atomic_breaker::{CircuitBreaker, Config, Outcome, Settled, Window};
    ///
    /// let config = Config::builder()
    ///     .failure_rate(0.5, 2, Window::Calls(100))
    ///     .slow_calls(Duration::from_secs(2), 0.9)
    ///     .build()?;
    /// let breaker = CircuitBreaker::new(config);
    /// let took = Duration::from_secs(3);
    /// assert_eq!(breaker.try_acquire()?.record_after(Outcome::Success, took), Settled::Applied);
    /// assert_eq!(breaker.try_acquire()?.record_after(Outcome::Success, took), Settled::Opened);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn slow_calls(mut self, slower_than: Duration, rate: f64) -> Self {
        self.config.policy.slow_calls = Some(SlowCalls { slower_than, rate });
        self
    }

    /// Tries a configuration out: everything happens as it would, but what would be rejected is admitted, with a
    /// permit that counts nothing, and reported to the observer as a rejection.
    ///
    /// ```
    /// # use atomic_breaker::{CircuitBreaker, Config};
    /// let breaker = CircuitBreaker::new(Config::builder().shadow(true).build()?);
    /// breaker.trip();
    /// assert!(breaker.try_acquire().is_ok());
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    pub fn shadow(mut self, shadow: bool) -> Self {
        self.config.shadow = shadow;
        self
    }

    /// Reports transitions and rejections to `observer`, in place of an earlier one.
    ///
    /// ```
    /// # use atomic_breaker::{Config, Observer, Rejected};
    /// struct Log;
    ///
    /// impl Observer for Log {
    ///     fn on_rejected(&self, rejected: &Rejected) {
    ///         eprintln!("{rejected}");
    ///     }
    /// }
    ///
    /// let config = Config::builder().observer(Log).build()?;
    /// # Ok::<(), atomic_breaker::ConfigError>(())
    /// ```
    pub fn observer(mut self, observer: impl Observer) -> Self {
        self.config.observer = Some(Arc::new(observer));
        self
    }

    /// Checks every value.
    ///
    /// # Errors
    ///
    /// A [`ConfigError`] that names the first value which is outside its range.
    ///
    /// ```
    /// use atomic_breaker::Config;
    ///
    /// let error = Config::builder().jitter(1.5).build().unwrap_err();
    /// assert_eq!(error.to_string(), "jitter is 1.5, legal is 0..=1");
    /// ```
    pub fn build(self) -> Result<Config, ConfigError> {
        let numbers = self.config.numbers.clamped(&mut |error| Err(error))?;
        let policy = self.config.policy.clamped(&mut Err)?;
        Ok(Config { numbers, policy, ..self.config })
    }

    /// Moves every value to the nearest legal one; what is not a number becomes the lower end, and slow calls without a
    /// failure rate are not counted. Never fails.
    ///
    /// ```
    /// use atomic_breaker::Config;
    ///
    /// assert_eq!(Config::builder().failure_threshold(0).build_clamped().failure_threshold(), 1);
    /// ```
    #[must_use]
    pub fn build_clamped(self) -> Config {
        let Ok(numbers) = self.config.numbers.clamped(&mut |_| Ok::<(), Infallible>(()));
        let Ok(policy) = self.config.policy.clamped(&mut |_| Ok::<(), Infallible>(()));
        Config { numbers, policy, ..self.config }
    }

    fn numbers(mut self, change: impl FnOnce(LimitsBuilder) -> LimitsBuilder) -> Self {
        self.config.numbers = change(self.config.numbers);
        self
    }
}
