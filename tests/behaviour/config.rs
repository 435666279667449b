//! Every value at every border of its range.

use std::time::Duration;

use atomic_breaker::engine::{Limits, LimitsBuilder};
use atomic_breaker::{Backoff, Config, ConfigBuilder, ConfigError, ProbeTimeout, Value};

use crate::just_before;

const MILLI: Duration = Duration::from_millis(1);
const NANO: Duration = Duration::from_nanos(1);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// One configurable value: how it is set, for a breaker and for the engine, and how it is read.
struct Field<T> {
    name: &'static str,
    set: fn(T) -> ConfigBuilder,
    set_limit: fn(T) -> LimitsBuilder,
    read: fn(&Config) -> T,
    value: fn(T) -> Value,
    min: T,
    max: T,
}

impl<T: Copy + PartialEq + std::fmt::Debug> Field<T> {
    fn accepts(&self, legal: impl IntoIterator<Item = T>) {
        for value in legal {
            let config = (self.set)(value).build().unwrap_or_else(|error| panic!("{value:?}: {error}"));
            assert_eq!((self.read)(&config), value, "{}", self.name);
            assert_eq!((self.read)(&(self.set)(value).build_clamped()), value, "{}", self.name);
            assert!((self.set_limit)(value).build().is_ok(), "{} {value:?}", self.name);
            let again = config.to_builder().build().unwrap();
            assert_eq!(format!("{config:?}"), format!("{again:?}"));
        }
    }

    /// Refuses values, and moves each to the legal one that is named beside it.
    fn refuses(&self, illegal: impl IntoIterator<Item = (T, T)>) {
        for (value, nearest) in illegal {
            let error = (self.set)(value).build().unwrap_err();
            assert_eq!(error.field(), self.name);
            assert_same(error.value(), (self.value)(value));
            assert_same(error.min(), (self.value)(self.min));
            assert_same(error.max(), (self.value)(self.max));
            assert_eq!((self.set_limit)(value).build().unwrap_err().to_string(), error.to_string());
            let clamped = (self.set)(value).build_clamped();
            assert_eq!((self.read)(&clamped), nearest, "{} {value:?}", self.name);
            let legal = (self.set)(nearest).build_clamped();
            assert_eq!(format!("{clamped:?}"), format!("{legal:?}"), "nothing else was moved");
            assert_eq!((self.set_limit)(value).build_clamped(), (self.set_limit)(nearest).build_clamped());
        }
    }
}

/// What is not a number equals itself here.
fn assert_same(one: Value, other: Value) {
    assert_eq!(format!("{one:?}"), format!("{other:?}"));
}

#[test]
#[cfg_attr(miri, ignore = "a long table of plain arithmetic")]
fn counts_from_one_to_what_their_field_holds() {
    let fields: [(Field<u32>, u32); 3] = [
        (
            Field {
                name: "failure_threshold",
                set: |count| Config::builder().failure_threshold(count),
                set_limit: |count| Limits::builder().failure_threshold(count),
                read: Config::failure_threshold,
                value: Value::Count,
                min: 1,
                max: 4095,
            },
            5,
        ),
        (
            Field {
                name: "half_open_max_calls",
                set: |count| Config::builder().half_open_max_calls(count),
                set_limit: |count| Limits::builder().half_open_max_calls(count),
                read: |config| config.half_open_max_calls().unwrap(),
                value: Value::Count,
                min: 1,
                max: 63,
            },
            1,
        ),
        (
            Field {
                name: "success_threshold",
                set: |count| Config::builder().success_threshold(count),
                set_limit: |count| Limits::builder().success_threshold(count),
                read: Config::success_threshold,
                value: Value::Count,
                min: 1,
                max: 63,
            },
            1,
        ),
    ];
    for (field, default) in fields {
        field.accepts([1, 2, field.max - 1, field.max]);
        field.refuses([(0, 1), (field.max + 1, field.max), (u32::MAX, field.max), (1 << 12 | 1, field.max)]);
        assert_eq!((field.read)(&Config::default()), default);
    }
}

#[test]
#[cfg_attr(miri, ignore = "a long table of plain arithmetic")]
fn times_from_a_millisecond_to_a_year() {
    let fields: [Field<Duration>; 2] = [
        Field {
            name: "recovery_timeout",
            set: |time| Config::builder().recovery_timeout(time),
            set_limit: |time| Limits::builder().recovery_timeout(time),
            read: Config::recovery_timeout,
            value: Value::Time,
            min: MILLI,
            max: YEAR,
        },
        Field {
            name: "probe_timeout",
            set: |time| Config::builder().probe_timeout(time),
            set_limit: |time| Limits::builder().probe_timeout(ProbeTimeout::After(time)),
            read: |config| match config.probe_timeout() {
                ProbeTimeout::After(time) => time,
                other => panic!("{other:?}"),
            },
            value: Value::Time,
            min: MILLI,
            max: YEAR,
        },
    ];
    for field in fields {
        field.accepts([MILLI, MILLI + NANO, Duration::from_micros(1_500), DAY, just_before(YEAR), YEAR]);
        field.refuses([
            (Duration::ZERO, MILLI),
            (NANO, MILLI),
            (just_before(MILLI), MILLI),
            (YEAR + NANO, YEAR),
            (YEAR + MILLI, YEAR),
            (Duration::MAX, YEAR),
        ]);
    }
}

#[test]
#[cfg_attr(miri, ignore = "a long table of plain arithmetic")]
fn the_longest_wait_of_a_back_off_is_no_shorter_than_the_first() {
    let field: Field<Duration> = Field {
        name: "backoff.max",
        set: |max| Config::builder().recovery_timeout(DAY).backoff(2.0, max),
        set_limit: |max| Limits::builder().recovery_timeout(DAY).backoff(2.0, max),
        read: |config| config.backoff().unwrap().max,
        value: Value::Time,
        min: DAY,
        max: YEAR,
    };
    field.accepts([DAY, DAY + NANO, YEAR]);
    field.refuses([
        (Duration::ZERO, DAY),
        (MILLI, DAY),
        (just_before(DAY), DAY),
        (YEAR + NANO, YEAR),
        (Duration::MAX, YEAR),
    ]);
}

#[test]
#[cfg_attr(miri, ignore = "a long table of plain arithmetic")]
fn multipliers_from_one_up() {
    let field: Field<f64> = Field {
        name: "backoff.multiplier",
        set: |multiplier| Config::builder().backoff(multiplier, DAY),
        set_limit: |multiplier| Limits::builder().backoff(multiplier, DAY),
        read: |config| config.backoff().unwrap().multiplier,
        value: Value::Number,
        min: 1.0,
        max: f64::MAX,
    };
    field.accepts([1.0, 1.0 + f64::EPSILON, 2.0, 1e300, f64::MAX]);
    field.refuses([
        (1.0 - f64::EPSILON, 1.0),
        (0.0, 1.0),
        (-0.0, 1.0),
        (f64::MIN_POSITIVE, 1.0),
        (-2.0, 1.0),
        (f64::MIN, 1.0),
        (f64::NEG_INFINITY, 1.0),
        (f64::INFINITY, f64::MAX),
        (f64::NAN, 1.0),
        (-f64::NAN, 1.0),
    ]);
}

#[test]
#[cfg_attr(miri, ignore = "a long table of plain arithmetic")]
fn shares_from_nothing_to_all() {
    let field: Field<f64> = Field {
        name: "jitter",
        set: |share| Config::builder().jitter(share),
        set_limit: |share| Limits::builder().jitter(share),
        read: Config::jitter,
        value: Value::Number,
        min: 0.0,
        max: 1.0,
    };
    field.accepts([0.0, -0.0, f64::MIN_POSITIVE, 0.5, 1.0 - f64::EPSILON, 1.0]);
    field.refuses([
        (-f64::MIN_POSITIVE, 0.0),
        (-1.0, 0.0),
        (f64::NEG_INFINITY, 0.0),
        (1.0 + f64::EPSILON, 1.0),
        (2.0, 1.0),
        (f64::INFINITY, 1.0),
        (f64::NAN, 0.0),
    ]);
}

#[test]
fn defaults_are_as_documented() {
    for config in [Config::default(), Config::builder().build().unwrap(), Config::builder().build_clamped()] {
        assert_eq!(config.name(), "");
        assert_eq!(config.failure_threshold(), 5);
        assert_eq!(config.recovery_timeout(), Duration::from_secs(60));
        assert_eq!(config.half_open_max_calls(), Some(1));
        assert_eq!(config.success_threshold(), 1);
        assert_eq!(config.probe_timeout(), ProbeTimeout::Wait);
        assert_eq!(config.backoff(), None);
        assert!(config.jitter().abs() < f64::EPSILON);
        assert!(!config.shadow());
        assert!(config.observer().is_none());
    }
    assert_eq!(Limits::default(), Limits::builder().build().unwrap());
}

#[test]
fn a_builder_of_a_configuration_holds_its_values() {
    struct Deaf;
    impl atomic_breaker::Observer for Deaf {}
    let config = Config::builder()
        .name("orders")
        .failure_threshold(7)
        .recovery_timeout(Duration::from_secs(8))
        .half_open_unlimited()
        .success_threshold(9)
        .probe_timeout_never()
        .backoff(1.5, DAY)
        .jitter(0.25)
        .shadow(true)
        .observer(Deaf)
        .build()
        .unwrap();
    let again = config.to_builder().build().unwrap();
    for config in [&config, &again] {
        assert_eq!(config.name(), "orders");
        assert_eq!(config.failure_threshold(), 7);
        assert_eq!(config.recovery_timeout(), Duration::from_secs(8));
        assert_eq!(config.half_open_max_calls(), None);
        assert_eq!(config.success_threshold(), 9);
        assert_eq!(config.probe_timeout(), ProbeTimeout::Never);
        assert_eq!(config.backoff(), Some(Backoff { multiplier: 1.5, max: DAY }));
        assert!((config.jitter() - 0.25).abs() < f64::EPSILON);
        assert!(config.shadow());
        assert!(config.observer().is_some());
    }
    assert_eq!(
        format!("{config:?}"),
        "Config { name: \"orders\", failure_threshold: 7, recovery_timeout: 8s, half_open_max_calls: None, \
         success_threshold: 9, probe_timeout: Never, \
         backoff: Some(Backoff { multiplier: 1.5, max: 86400s }), jitter: 0.25, \
         failure_rate: None, slow_calls: None, shadow: true, observed: true }"
    );
}

#[test]
fn limits_show_their_numbers() {
    let limits = Limits::builder()
        .failure_threshold(7)
        .success_threshold(3)
        .half_open_max_calls(2)
        .recovery_timeout(Duration::from_secs(8))
        .probe_timeout(ProbeTimeout::After(Duration::from_secs(9)))
        .jitter(0.25);
    let shown = format!("{:?}", limits.build().unwrap());
    for number in [
        "failure_threshold: 7",
        "success_threshold: 3",
        "slots: Some(2)",
        "timeout_ms: Some(9000)",
        "wait_ms: 8000",
        "jitter: 0.25",
    ] {
        assert!(shown.contains(number), "{number} in {shown}");
    }
    let shown = format!("{:?}", Limits::builder().half_open_unlimited().build().unwrap());
    assert!(shown.contains("slots: None"), "{shown}");
}

#[test]
fn the_later_of_two_settings_counts() {
    let config = Config::builder().half_open_unlimited().half_open_max_calls(2).probe_timeout_never();
    let config = config.probe_timeout(DAY).shadow(true).shadow(false).name("one").name("two");
    let config = config.build().unwrap();
    assert_eq!(config.half_open_max_calls(), Some(2));
    assert_eq!(config.probe_timeout(), ProbeTimeout::After(DAY));
    assert!(!config.shadow());
    assert_eq!(config.name(), "two");
}

#[test]
fn of_several_illegal_values_the_first_is_named_and_all_are_moved() {
    let wrong = || {
        Config::builder()
            .failure_threshold(0)
            .recovery_timeout(Duration::MAX)
            .half_open_max_calls(64)
            .success_threshold(0)
            .probe_timeout(Duration::ZERO)
            .backoff(f64::NAN, Duration::ZERO)
            .jitter(7.0)
    };
    assert_eq!(wrong().build().unwrap_err().field(), "failure_threshold");
    let config = wrong().build_clamped();
    assert_eq!(config.failure_threshold(), 1);
    assert_eq!(config.recovery_timeout(), YEAR);
    assert_eq!(config.half_open_max_calls(), Some(63));
    assert_eq!(config.success_threshold(), 1);
    assert_eq!(config.probe_timeout(), ProbeTimeout::After(MILLI));
    assert_eq!(
        config.backoff(),
        Some(Backoff { multiplier: 1.0, max: YEAR }),
        "no shorter than the first wait"
    );
    assert!((config.jitter() - 1.0).abs() < f64::EPSILON);
    assert!(config.to_builder().build().is_ok());
}

#[test]
fn messages_name_the_value_and_the_legal_range() {
    let message = |config: ConfigBuilder| {
        let error: ConfigError = config.build().unwrap_err();
        error.to_string()
    };
    let config = Config::builder;
    let table = [
        (config().failure_threshold(4096), "failure_threshold is 4096, legal is 1..=4095"),
        (config().half_open_max_calls(0), "half_open_max_calls is 0, legal is 1..=63"),
        (config().success_threshold(64), "success_threshold is 64, legal is 1..=63"),
        (config().recovery_timeout(Duration::ZERO), "recovery_timeout is 0ns, legal is 1ms..=365 days"),
        (config().probe_timeout(366 * DAY), "probe_timeout is 366 days, legal is 1ms..=365 days"),
        (config().backoff(2.0, MILLI), "backoff.max is 1ms, legal is 60s..=365 days"),
        (config().backoff(f64::NAN, DAY), "backoff.multiplier is NaN, legal is 1..=1.7976931348623157e308"),
        (
            config().backoff(f64::INFINITY, DAY),
            "backoff.multiplier is inf, legal is 1..=1.7976931348623157e308",
        ),
        (config().jitter(-0.5), "jitter is -0.5, legal is 0..=1"),
        (config().jitter(1e300), "jitter is 1e300, legal is 0..=1"),
    ];
    for (config, expected) in table {
        assert_eq!(message(config), expected);
    }
}

#[test]
fn fractions_of_a_millisecond_are_rounded_up_in_use_and_kept_in_the_configuration() {
    let (breaker, clock) = crate::breaker(crate::strict().recovery_timeout(MILLI + NANO));
    assert_eq!(breaker.config().recovery_timeout(), MILLI + NANO);
    breaker.trip();
    assert_eq!(breaker.try_acquire().unwrap_err().retry_after(), Some(2 * MILLI));
    clock.advance(just_before(2 * MILLI));
    assert!(breaker.try_acquire().is_err());
}
