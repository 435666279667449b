//! What a rejection promises: whoever sleeps for `retry_after` is not rejected for the same wait again, and nobody who
//! comes earlier gets in, but for the fraction of a millisecond that rounding leaves.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;

use atomic_breaker::engine::{Limits, StateCell};
use atomic_breaker::{
    CircuitBreaker, Clock, Config, ManualClock, Observer, Outcome, ProbeTimeout, Reason, Timestamp,
    Transition,
};

use crate::cases;
use crate::numbers::{starts, waits};

const MILLI: u64 = 1_000_000;

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    #[cfg_attr(miri, ignore = "arithmetic, which Miri has nothing to say about")]
    fn sleeping_for_retry_after_ends_the_wait_and_nothing_less_does(
        opened in starts(),
        wait in waits(),
        asked in 0..=10_000_u64,
        jitter in prop_oneof![Just(0.0), 0.0..=1.0],
    ) {
        let limits = Limits::builder().recovery_timeout(wait).jitter(jitter).build().unwrap();
        let cell = StateCell::new();
        cell.trip(&limits, &at(opened));
        let stored = whole_ms(wait) * MILLI;
        // Anywhere in the wait.
        let Some(now) = opened.checked_add(scaled(stored, asked)) else {
            return Ok(());
        };
        let Err(rejected) = cell.peek(&limits, &at(now)) else {
            prop_assert!(jitter > 0.0 || now - opened >= stored, "admitted before the wait is over");
            return Ok(());
        };
        prop_assert_eq!(rejected.reason(), Reason::Open);
        let left = rejected.retry_after().unwrap();
        prop_assert!(left >= Duration::from_millis(1) && left <= Duration::from_nanos(stored + MILLI));
        let Some(then) = now.checked_add(nanos(left)) else {
            return Ok(());
        };
        prop_assert!(cell.peek(&limits, &at(then)).is_ok());
        // The fraction of a millisecond at which it was asked is what a caller may be early by.
        let first = then - now % MILLI;
        prop_assert!(cell.peek(&limits, &at(first)).is_ok());
        prop_assert!(cell.peek(&limits, &at(first - 1)).is_err());
        prop_assert!(jitter > 0.0 || first - opened >= stored, "the true wait is never shorter");
    }

    #[test]
    #[cfg_attr(miri, ignore = "arithmetic, which Miri has nothing to say about")]
    fn a_full_half_open_circuit_keeps_the_same_promise(
        began in starts(),
        timeout in waits(),
        asked in 0..=10_000_u64,
        slots in 1..=3_u32,
    ) {
        let limits = Limits::builder()
            .recovery_timeout(Duration::from_millis(1))
            .half_open_max_calls(slots)
            .probe_timeout(ProbeTimeout::After(timeout))
            .build()
            .unwrap();
        let cell = StateCell::new();
        cell.trip(&limits, &at(began.saturating_sub(3 * MILLI)));
        for _ in 0..slots {
            if cell.try_acquire(&limits, &at(began)).is_err() {
                return Ok(()); // The clock had no room for a wait before the lease.
            }
        }
        let stored = whole_ms(timeout) * MILLI;
        let Some(now) = began.checked_add(scaled(stored, asked)) else {
            return Ok(());
        };
        let Err(rejected) = cell.try_acquire(&limits, &at(now)) else {
            prop_assert!(now - began >= stored, "the lease was cut short");
            return Ok(());
        };
        prop_assert_eq!(rejected.reason(), Reason::HalfOpen);
        let left = rejected.retry_after().unwrap();
        prop_assert!(left >= Duration::from_millis(1) && left <= Duration::from_nanos(stored + MILLI));
        let Some(then) = now.checked_add(nanos(left)) else {
            return Ok(());
        };
        let first = then - now % MILLI;
        prop_assert!(first - began >= stored, "the true lease is never shorter");
        prop_assert!(cell.peek(&limits, &at(first - 1)).is_err());
        prop_assert!(cell.peek(&limits, &at(first)).is_ok());
        prop_assert!(cell.try_acquire(&limits, &at(then)).is_ok());
        prop_assert!(slots > 1 || cell.try_acquire(&limits, &at(then)).is_err(), "the overdue one made room for one");
    }

    #[test]
    #[cfg_attr(miri, ignore = "arithmetic, which Miri has nothing to say about")]
    fn jitter_shortens_a_wait_by_its_share_at_most_and_everybody_hears_the_same(
        opened in 0..1_u64 << 62,
        wait in waits(),
        jitter in 0.0..=1.0_f64,
        multiplier in 1.0..3.0_f64,
        reopened in 0..3_u32,
    ) {
        let heard = Arc::new(Waits::default());
        let config = Config::builder()
            .failure_threshold(1)
            .recovery_timeout(wait)
            .backoff(multiplier, wait * 4)
            .jitter(jitter)
            .observer(Arc::clone(&heard));
        let Ok(config) = config.build() else {
            return Ok(()); // Four years.
        };
        let clock = ManualClock::at(Duration::from_nanos(opened));
        let breaker = CircuitBreaker::with_clock(config, clock.clone());
        breaker.try_acquire().unwrap().failure();
        for _ in 0..reopened {
            // Rounding up adds a millisecond to the wait, and one to its beginning.
            clock.advance(wait * 4 + Duration::from_millis(2));
            breaker.try_acquire().unwrap().failure();
        }

        let heard = heard.0.lock().unwrap().pop().unwrap();
        let mut full = whole_ms(wait) as f64;
        for _ in 0..reopened {
            full = (full * multiplier).min(whole_ms(wait * 4) as f64);
        }
        let full = Duration::from_millis(full as u64);
        prop_assert!(heard >= Duration::from_millis(1) && heard <= full);
        let least = full.mul_f64(1.0 - jitter).saturating_sub(Duration::from_millis(2)).mul_f64(0.9999);
        prop_assert!(heard >= least, "{heard:?} of {full:?}, jitter {jitter}");

        // The wait runs from the whole millisecond.
        let entered = clock.now().as_nanos().div_ceil(MILLI) * MILLI;
        clock.set(Duration::from_nanos(entered));
        let rejected = breaker.try_acquire().unwrap_err();
        prop_assert_eq!(rejected.retry_after(), Some(heard));
        prop_assert_eq!(breaker.snapshot().retry_after(), Some(heard));
        let deadline = entered + nanos(heard);
        clock.set(Duration::from_nanos(deadline - 1));
        prop_assert!(breaker.peek().is_err());
        clock.set(Duration::from_nanos(deadline));
        prop_assert!(breaker.try_acquire().is_ok());
    }
}

/// Opening at nanosecond `n` of a circuit without a past draws the `n`th number of the generator with the circuit's
/// seed as its state; these are published test vectors.
#[test]
#[cfg_attr(miri, ignore = "arithmetic, which Miri has nothing to say about")]
fn draws_are_the_top_bits_of_splitmix64() {
    let vectors: [(u64, [u64; 5]); 2] = [
        (
            0,
            [
                0xe220_a839_7b1d_cdaf,
                0x6e78_9e6a_a1b9_65f4,
                0x06c4_5d18_8009_454f,
                0xf88b_b8a8_724c_81ec,
                0x1b39_896a_51a8_749b,
            ],
        ),
        (
            1_234_567,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821,
            ],
        ),
    ];
    for (seed, numbers) in vectors {
        let limits = Limits::builder().seed(seed).build().unwrap();
        for (nanos, number) in (1..).zip(numbers) {
            let cell = StateCell::new();
            cell.trip(&limits, &at(nanos));
            assert_eq!(cell.word().to_bits() >> 52, number >> 52);
        }
    }
}

/// Not a proof of randomness; it finds a draw that is stuck, or the same for circuits that open together.
#[test]
#[cfg_attr(miri, ignore = "arithmetic, which Miri has nothing to say about")]
fn draws_differ_between_openings_and_between_circuits() {
    let limits = |seed| Limits::builder().seed(seed).build().unwrap();
    let draw = |seed, now| {
        let cell = StateCell::new();
        cell.trip(&limits(seed), &at(now));
        cell.word().to_bits() >> 52
    };
    let halves = |draws: &[u64]| draws.iter().filter(|draw| **draw >= 2048).count();
    let by_time: Vec<_> = (0..1_000).map(|index| draw(7, index * MILLI)).collect();
    let by_seed: Vec<_> = (0..1_000).map(|seed| draw(seed, 5 * MILLI)).collect();
    for mut draws in [by_time, by_seed] {
        assert!((400..=600).contains(&halves(&draws)));
        draws.sort_unstable();
        draws.dedup();
        assert!(draws.len() > 800, "{} different draws of 1,000", draws.len());
    }
}

#[test]
#[cfg_attr(miri, ignore = "arithmetic, which Miri has nothing to say about")]
fn reopening_at_the_same_moment_draws_anew() {
    let limits = Limits::builder().failure_threshold(1).build().unwrap();
    let cell = StateCell::new();
    let mut draws = Vec::new();
    for _ in 0..50 {
        let ticket = cell.try_acquire(&limits, &at(0)).unwrap().ticket;
        assert!(cell.settle(ticket, Outcome::Failure, &limits, &at(0)).change.is_some());
        draws.push(cell.word().to_bits() >> 52);
        cell.reset(&at(0));
    }
    draws.sort_unstable();
    draws.dedup();
    assert!(draws.len() > 40);
}

#[derive(Default)]
struct Waits(Mutex<Vec<Duration>>);

impl Observer for Waits {
    fn on_transition(&self, transition: &Transition) {
        self.0.lock().unwrap().extend(transition.wait());
    }
}

fn at(nanos: u64) -> impl Fn() -> Timestamp {
    move || Timestamp::from_nanos(nanos)
}

fn whole_ms(time: Duration) -> u64 {
    nanos(time).div_ceil(MILLI)
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap()
}

/// So many ten-thousandths of `span`.
fn scaled(span: u64, ten_thousandths: u64) -> u64 {
    u64::try_from(u128::from(span) * u128::from(ten_thousandths) / 10_000).unwrap()
}
