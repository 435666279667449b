//! One table per rule. `ms` are whole milliseconds, `ns` are not.

use std::cell::Cell;
use std::time::Duration;

use super::*;
use crate::engine::{Limits, LimitsBuilder, ProbeTimeout};
use crate::state::State;

const WAIT: u64 = 1_000;

fn limits(change: impl FnOnce(LimitsBuilder) -> LimitsBuilder) -> Limits {
    let base = Limits::builder().failure_threshold(3).recovery_timeout(Duration::from_millis(WAIT));
    change(base).build().unwrap()
}

fn ms(ms: u64) -> impl Fn() -> Timestamp {
    ns(ms * 1_000_000)
}

fn ns(ns: u64) -> impl Fn() -> Timestamp {
    move || Timestamp::from_nanos(ns)
}

/// A clock that a rule must not read.
fn never() -> Timestamp {
    panic!("this rule needs no time")
}

fn closed() -> Word {
    Word::default().to_closed(5)
}

fn open(reopens: u64) -> Word {
    Word::default().to_open(5_000, reopens, 0)
}

fn half_open(in_flight: u64, successes: u64) -> Word {
    open(2).to_half_open(9_000, 0).with_probes(in_flight, successes)
}

fn admitted(step: Step<Result<Ticket, Rejected>>) -> (Ticket, Option<Word>) {
    (step.answer.unwrap(), step.next.map(|next| next.word))
}

fn rejected(step: Step<Result<Ticket, Rejected>>) -> (Reason, Option<u64>) {
    assert_eq!(step.next, None, "a rejection changes nothing");
    let rejected = step.answer.unwrap_err();
    (rejected.reason(), rejected.retry_after().map(|left| left.as_millis() as u64))
}

fn word_after<A>(Step { next, .. }: Step<A>) -> Word {
    next.expect("the word changes").word
}

#[test]
fn rule_1_closed_admits_without_a_clock() {
    let (ticket, next) = admitted(acquire(closed().with_failures(2), &limits(|l| l), &never));
    assert_eq!(next, None);
    assert_eq!(ticket, Ticket::closed(closed()));
}

#[test]
fn rule_2_open_rejects_until_the_wait_is_over() {
    let limits = limits(|l| l);
    for (now, left) in [(5_000, 1_000), (5_001, 999), (5_999, 1), (4_000, 1_000)] {
        assert_eq!(rejected(acquire(open(0), &limits, &ms(now))), (Reason::Open, Some(left)), "at {now}");
    }
}

#[test]
fn rule_2_in_the_millisecond_of_the_opening_the_rejection_says_one_more() {
    let limits = limits(|l| l);
    let answer = |now| rejected(acquire(open(0), &limits, &ns(now))).1;
    assert_eq!(answer(4_999_000_001), Some(1_001));
    assert_eq!(answer(4_999_999_999), Some(1_001));
    assert_eq!(answer(4_999_000_000), Some(1_000), "a step back, not a rounding");
    assert_eq!(answer(5_000_000_001), Some(1_000));
}

#[test]
fn rule_3_the_first_call_after_the_wait_is_the_first_probe() {
    let (ticket, next) = admitted(acquire(open(2), &limits(|l| l), &ns(6_000_000_001)));
    let expected = open(2).to_half_open(6_001, 1);
    assert_eq!(next, Some(expected));
    assert_eq!(ticket, Ticket::slot(expected));
    assert_eq!(expected.reopens(), 2);
}

#[test]
fn rule_4_half_open_admits_while_a_slot_is_free() {
    let limits = limits(|l| l.half_open_max_calls(2));
    let (ticket, next) = admitted(acquire(half_open(1, 3), &limits, &never));
    assert_eq!(next, Some(half_open(2, 3)));
    assert_eq!(ticket, Ticket::slot(half_open(2, 3)));
}

#[test]
fn rule_4_the_first_probe_in_flight_starts_a_lease() {
    let (ticket, next) = admitted(acquire(half_open(0, 3), &limits(|l| l), &ns(9_500_000_001)));
    let expected = half_open(0, 3).with_lease(9_501);
    assert_eq!(next, Some(expected));
    assert_eq!(expected.probes_in_flight(), 1);
    assert_eq!(expected.probe_successes(), 3);
    assert_eq!(ticket, Ticket::slot(expected));
}

#[test]
fn rule_4_full_rejects_until_the_lease_is_over() {
    let limits = limits(|l| l.probe_timeout(ProbeTimeout::After(Duration::from_millis(500))));
    for (now, left) in [(9_000, 500), (9_499, 1), (8_000, 500)] {
        assert_eq!(rejected(acquire(half_open(1, 0), &limits, &ms(now))), (Reason::HalfOpen, Some(left)));
    }
    assert_eq!(rejected(acquire(half_open(1, 0), &limits, &ns(8_999_000_001))).1, Some(501));
}

#[test]
fn rule_4_after_the_lease_the_probes_are_written_off() {
    let limits =
        limits(|l| l.half_open_max_calls(3).probe_timeout(ProbeTimeout::After(Duration::from_millis(500))));
    let (ticket, next) = admitted(acquire(half_open(3, 2), &limits, &ms(9_500)));
    let expected = half_open(1, 2).with_lease(9_500);
    assert_eq!(next, Some(expected));
    assert_eq!(ticket, Ticket::slot(expected));
}

#[test]
fn rule_4_more_probes_than_slots_are_full_as_well() {
    let limits = limits(|l| l.half_open_max_calls(2));
    assert_eq!(rejected(acquire(half_open(63, 0), &limits, &ms(9_000))).0, Reason::HalfOpen);
}

#[test]
fn rule_4_never_means_never() {
    let limits = limits(|l| l.probe_timeout(ProbeTimeout::Never));
    assert_eq!(rejected(acquire(half_open(1, 0), &limits, &ms(10_000_000))), (Reason::HalfOpen, None));
}

#[test]
fn rule_4_by_default_the_lease_is_the_wait_without_its_jitter() {
    let limits = limits(|l| l.backoff(3.0, Duration::from_secs(5)).jitter(1.0));
    // Two failed half-open periods: 1 s * 3 * 3, at most 5 s.
    assert_eq!(rejected(acquire(half_open(1, 0), &limits, &ms(9_000))).1, Some(5_000));
}

#[test]
fn rule_5_unlimited_admits_everybody_without_a_slot() {
    let limits = limits(LimitsBuilder::half_open_unlimited);
    let (ticket, next) = admitted(acquire(half_open(1, 0), &limits, &never));
    assert_eq!((ticket, next), (Ticket::probe(half_open(1, 0)), None));

    let (ticket, next) = admitted(acquire(open(2), &limits, &ms(6_000)));
    let expected = open(2).to_half_open(6_000, 0);
    assert_eq!((ticket, next), (Ticket::probe(expected), Some(expected)));
}

#[test]
fn rule_6_forced_circuits_need_no_clock() {
    let limits = limits(|l| l);
    let forced_open = closed().to_forced_open(7);
    assert_eq!(rejected(acquire(forced_open, &limits, &never)), (Reason::ForcedOpen, None));
    for word in [closed().to_forced_closed(7), closed().to_retired()] {
        let (ticket, next) = admitted(acquire(word, &limits, &never));
        assert_eq!((ticket, next), (Ticket::forced(word), None));
        for (outcome, answer) in [
            (Outcome::Success, word.is_retired()),
            (Outcome::Failure, word.is_retired()),
            (Outcome::Ignored, word.is_retired()),
        ] {
            let step = settle(word, &Ticket::forced(word), outcome, &limits, &never);
            let expected = if answer { Settled::Stale } else { Settled::Applied };
            assert_eq!(step, Step::stay(expected));
        }
    }
}

#[test]
fn peek_answers_as_acquire_does() {
    let limits = limits(|l| l.half_open_max_calls(2));
    let words = [
        closed(),
        closed().with_failures(2),
        open(0),
        half_open(0, 0),
        half_open(1, 0),
        half_open(2, 0),
        closed().to_forced_open(1),
        closed().to_forced_closed(1),
        closed().to_retired(),
    ];
    for word in words {
        for now in [5_000, 5_999, 6_000, 9_000, 9_999, 10_000] {
            let acquired = acquire(word, &limits, &ms(now)).answer;
            assert_eq!(peek(word, &limits, &ms(now)), acquired.map(drop), "{word:?} at {now}");
        }
    }
}

#[test]
fn rule_7_a_stale_outcome_changes_nothing() {
    let limits = limits(|l| l);
    let stale = || Ticket::closed(closed().to_closed(5));
    for word in [closed().with_failures(2), open(0), half_open(1, 0), closed().to_forced_closed(5)] {
        for outcome in [Outcome::Success, Outcome::Failure, Outcome::Ignored] {
            assert_eq!(settle(word, &stale(), outcome, &limits, &never), Step::stay(Settled::Stale));
        }
    }
}

#[test]
fn rule_8_closed_counts_consecutive_failures() {
    let limits = limits(|l| l);
    let ticket = Ticket::closed(closed());
    let settle = |failures, outcome| {
        let step = settle(closed().with_failures(failures), &ticket, outcome, &limits, &ms(5_000));
        (step.answer, step.next.map(|next| next.word))
    };
    let count = |failures| (Settled::Applied, Some(closed().with_failures(failures)));
    let same = (Settled::Applied, None);

    assert_eq!(settle(0, Outcome::Success), same);
    assert_eq!(settle(2, Outcome::Success), count(0));
    assert_eq!(settle(2, Outcome::Ignored), same);
    assert_eq!(settle(0, Outcome::Failure), count(1));
    assert_eq!(settle(1, Outcome::Failure), count(2));
    for failures in [2, 3, 4_095] {
        let (answer, next) = settle(failures, Outcome::Failure);
        let next = next.unwrap();
        assert_eq!(answer, Settled::Opened);
        assert_eq!((next.state(), next.entered_ms(), next.reopens()), (State::Open, 5_000, 0));
    }
}

#[test]
fn rule_9_half_open_counts_probes() {
    let limits = limits(|l| l.half_open_max_calls(5).success_threshold(3));
    let settle = |word: Word, ticket: &Ticket, outcome| {
        let step = settle(word, ticket, outcome, &limits, &ms(9_700));
        (step.answer, step.next.map(|next| next.word))
    };
    let word = half_open(2, 1);
    let (slot, probe) = (Ticket::slot(word), Ticket::probe(word));
    let applied = |word| (Settled::Applied, Some(word));

    assert_eq!(settle(word, &slot, Outcome::Success), applied(half_open(1, 2)));
    assert_eq!(settle(word, &slot, Outcome::Ignored), applied(half_open(1, 1)));
    assert_eq!(settle(word, &probe, Outcome::Success), applied(half_open(2, 2)));
    assert_eq!(settle(word, &probe, Outcome::Ignored), (Settled::Applied, None));

    // Written off: the outcome counts, the slot is another's.
    let later = word.with_lease(9_600);
    assert_eq!(settle(later, &slot, Outcome::Success), applied(later.with_probes(1, 2)));
    assert_eq!(settle(later, &slot, Outcome::Ignored), (Settled::Applied, None));

    let closing = settle(half_open(2, 2), &slot, Outcome::Success);
    assert_eq!(closing, (Settled::Closed, Some(word.to_closed(9_700))));
    let (answer, next) = settle(word, &slot, Outcome::Failure);
    let next = next.unwrap();
    assert_eq!(answer, Settled::Opened);
    assert_eq!((next.state(), next.entered_ms(), next.reopens()), (State::Open, 9_700, 3));
}

#[test]
fn rule_9_no_count_leaves_its_field() {
    let limits = limits(|l| l.success_threshold(63));
    let empty = half_open(0, 0);
    let step = settle(empty, &Ticket::slot(empty), Outcome::Success, &limits, &never);
    assert_eq!(word_after(step), half_open(0, 1), "a slot that nobody holds is not given back");
    let ripe = half_open(1, 63);
    let step = settle(ripe, &Ticket::slot(ripe), Outcome::Success, &limits, &ms(1));
    assert_eq!(step.answer, Settled::Closed);
    let saturated = open(63).to_half_open(1, 1);
    let step = settle(saturated, &Ticket::slot(saturated), Outcome::Failure, &limits, &ms(1));
    assert_eq!(word_after(step).reopens(), 63);
}

#[test]
fn rule_11_the_wait_grows_up_to_its_ceiling_and_is_truncated() {
    let wait = |limits: &Limits, reopens| limits.open(reopens).wait_ms(0);
    let growing = limits(|l| l.backoff(1.7, Duration::from_secs(4)));
    assert_eq!([0, 1, 2, 3, 63].map(|reopens| wait(&growing, reopens)), [1_000, 1_700, 2_890, 4_000, 4_000]);
    let flat = limits(|l| l.backoff(1.0, Duration::from_secs(4)));
    assert_eq!([0, 1, 63].map(|reopens| wait(&flat, reopens)), [1_000; 3]);
    let steep = limits(|l| l.backoff(f64::MAX, Duration::from_secs(4)));
    assert_eq!([0, 1, 63].map(|reopens| wait(&steep, reopens)), [1_000, 4_000, 4_000]);
    let none = limits(|l| l);
    assert_eq!([0, 1, 63].map(|reopens| wait(&none, reopens)), [1_000; 3]);
}

#[test]
fn rule_11_jitter_shortens_the_wait_by_its_share_of_the_draw() {
    let wait = |share, draw| limits(|l| l.jitter(share)).open(0).wait_ms(draw);
    assert_eq!(wait(0.0, 4_095), 1_000);
    assert_eq!(wait(1.0, 0), 1_000);
    assert_eq!(wait(1.0, 2_048), 500);
    assert_eq!(wait(0.5, 2_048), 750);
    assert_eq!(wait(1.0, 4_095), 1_000 - 999);
    // 0.3 * 65536 = 19660.8, rounded to 19661; 1000 * 19661 * 4095 >> 28 = 299.
    assert_eq!(wait(0.3, 4_095), 1_000 - 299);
    let shortest = limits(|l| l.recovery_timeout(Duration::from_millis(1)).jitter(1.0));
    assert_eq!(shortest.open(0).wait_ms(4_095), 1);
}

#[test]
fn rule_11_each_opening_draws_anew_and_seeds_differ() {
    let limits = |seed| limits(|l| l.seed(seed));
    let draw = |seed, now| word_after(trip(closed(), &limits(seed), &ns(now))).payload();
    let draws: Vec<_> = (0..64).map(|seed| draw(seed, 0)).chain((1..64).map(|now| draw(0, now))).collect();
    let mut distinct = draws.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert!(distinct.len() > 115, "127 draws of 4096 values, {} distinct", distinct.len());
    assert!(draws.iter().any(|draw| *draw < 1_024) && draws.iter().any(|draw| *draw >= 3_072));
    assert_eq!(draw(7, 9), draw(7, 9));
}

/// The first three are the well-known first outputs of splitmix64 with seed 0, their upper twelve bits.
#[test]
fn rule_11_draws_are_the_upper_bits_of_splitmix64() {
    for (seed, at, drawn) in [
        (0, 1, 3_618),
        (0, 2, 1_767),
        (0, 3, 108),
        (7, 0, 298),
        (0xfeed, 60_000_000_000, 1_949),
        (u64::MAX, u64::MAX, 3_552),
    ] {
        assert_eq!(draw(seed, Timestamp::from_nanos(at)), drawn, "seed {seed} at {at}");
    }
}

#[test]
fn rule_15_trip_opens_and_an_open_circuit_whose_wait_is_over_waits_again() {
    let limits = limits(|l| l);
    for (word, reopens) in [
        (closed().with_failures(1), 0),
        (half_open(1, 1), 2),
        (closed().to_forced_open(1), 0),
        (closed().to_forced_closed(1), 0),
    ] {
        let next = word_after(trip(word, &limits, &ms(6_000)));
        assert_eq!((next.state(), next.entered_ms(), next.reopens()), (State::Open, 6_000, reopens));
        assert_eq!(next.turn(), word.turn() + 1);
    }
    assert_eq!(trip(open(2), &limits, &ms(5_999)).next, None);
    let again = word_after(trip(open(2), &limits, &ms(6_000)));
    assert_eq!((again.entered_ms(), again.reopens(), again.turn()), (6_000, 2, open(2).turn() + 1));
}

#[test]
fn rule_16_force_is_sticky_and_idempotent() {
    let forced_open = closed().to_forced_open(6_000);
    let forced_closed = closed().to_forced_closed(6_000);
    assert_eq!(word_after(force_open(closed(), &ms(6_000))), forced_open);
    assert_eq!(word_after(force_closed(closed(), &ms(6_000))), forced_closed);
    assert_eq!(force_open(forced_open, &never).next, None);
    assert_eq!(force_closed(forced_closed, &never).next, None);
    assert_eq!(word_after(force_open(forced_closed, &ms(7_000))).state(), State::ForcedOpen);
    assert_eq!(word_after(force_closed(forced_open, &ms(7_000))).state(), State::ForcedClosed);
    assert_eq!(word_after(force_open(half_open(1, 1), &ms(7_000))).reopens(), 0);
}

#[test]
fn rule_17_reset_closes_and_leaves_an_untouched_circuit_alone() {
    assert_eq!(reset(closed(), &never).next, None);
    for word in [closed().with_failures(1), open(3), half_open(1, 1), closed().to_forced_open(1)] {
        assert_eq!(word_after(reset(word, &ns(1))), word.to_closed(1));
    }
}

#[test]
fn a_retired_circuit_stays_retired() {
    let retired = closed().to_retired();
    let limits = limits(|l| l);
    assert_eq!(trip(retired, &limits, &never).next, None);
    assert_eq!(reset(retired, &never).next, None);
    assert_eq!(force_open(retired, &never).next, None);
    assert_eq!(force_closed(retired, &never).next, None);
    assert_eq!(retire(retired), Err(retired));
}

#[test]
fn only_an_untouched_circuit_is_retired() {
    assert_eq!(retire(closed()), Ok(closed().to_retired()));
    for word in [closed().with_failures(1), open(0), half_open(0, 0), closed().to_forced_closed(1)] {
        assert_eq!(retire(word), Err(word));
    }
}

/// A clock that lags behind the exact time, and counts how often it is read.
#[derive(Default)]
struct Lagging {
    coarse: Cell<u32>,
    exact: Cell<u32>,
}

impl Clock for Lagging {
    fn now(&self) -> Timestamp {
        self.coarse.set(self.coarse.get() + 1);
        Timestamp::from_nanos(6_000_000_000)
    }

    fn precise(&self) -> Timestamp {
        self.exact.set(self.exact.get() + 1);
        Timestamp::from_nanos(6_007_000_000)
    }
}

#[test]
fn waits_are_checked_with_the_coarse_time_and_stamped_with_the_exact_one() {
    let limits = limits(|l| l);
    let clock = Lagging::default();
    assert_eq!(word_after(acquire(open(0), &limits, &clock)).entered_ms(), 6_007);
    assert_eq!((clock.coarse.get(), clock.exact.get()), (1, 1));

    let clock = Lagging::default();
    assert_eq!(word_after(acquire(half_open(0, 0), &limits, &clock)).entered_ms(), 6_007);
    assert_eq!((clock.coarse.get(), clock.exact.get()), (0, 1), "a lease needs no check");

    let clock = Lagging::default();
    let ticket = Ticket::closed(closed());
    let opened = settle(closed().with_failures(2), &ticket, Outcome::Failure, &limits, &clock);
    assert_eq!(word_after(opened).entered_ms(), 6_007);
    assert_eq!((clock.coarse.get(), clock.exact.get()), (0, 1));
}
