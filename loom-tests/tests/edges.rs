//! Words whose counters are at their ends, written down bit by bit: no transition leads to most of them.

#![cfg(loom)]

use std::sync::Arc;
use std::time::Duration;

use atomic_breaker::Timestamp;
use atomic_breaker::engine::Word;
use loom_tests::Held::Current;
use loom_tests::{LEASE, Op, Race, Setting, Situation, Story, Tally, WAIT};

#[test]
fn every_pair_at_the_ends_of_the_counters_has_an_order() {
    let tally = Tally::of("pairs, edges");
    let situations = [failures(), probes(), reopens(), turns(), times(), forced()].concat();
    for situation in situations.into_iter().map(Arc::new) {
        for (n, one) in Op::ALL.iter().enumerate() {
            for other in &Op::ALL[n..] {
                if let Some(race) = Race::new(&situation, &[&[*one], &[*other]]) {
                    race.explore(&tally);
                }
            }
        }
    }
}

fn failures() -> Vec<Situation> {
    let most = Setting::new().failures(MAX_FAILURES as u32);
    let counting = |failures| Fields { payload: failures, ..CLOSED };
    vec![
        with_tickets(most.clone(), counting(MAX_FAILURES - 1), 2).end("4094 failures of 4095"),
        with_tickets(most, counting(MAX_FAILURES), 2).end("4095 failures of 4095"),
        with_tickets(Setting::new(), counting(MAX_FAILURES), 2).end("4095 failures, threshold lowered to 3"),
    ]
}

fn probes() -> Vec<Situation> {
    let most = || Setting::new().slots(63).successes(63);
    let probing =
        |in_flight: u64, successes: u64| Fields { payload: in_flight | successes << 6, ..HALF_OPEN };
    vec![
        with_tickets(most(), probing(60, 0), 2).end("62 probes of 63"),
        with_tickets(most(), probing(61, 0), 2).end("63 probes of 63"),
        with_tickets(most(), probing(61, 0), 2).wait(LEASE).end("63 probes of 63, overdue"),
        with_tickets(most(), probing(61, 62), 2).end("63 probes of 63, 62 successes of 63"),
        with_tickets(most(), probing(0, 63), 2).end("2 probes of 63, 63 successes of 63"),
        with_tickets(Setting::new(), probing(MAX_PROBES, 0), 0).end("63 probes, slots lowered to 1"),
        with_tickets(Setting::new(), probing(MAX_PROBES, 0), 0)
            .wait(LEASE)
            .end("63 probes, slots lowered to 1, overdue"),
        with_tickets(Setting::new().unlimited(), probing(MAX_PROBES, 0), 2).end("63 probes, now unlimited"),
    ]
}

fn reopens() -> Vec<Situation> {
    let last = |fields| Fields { reopens: 63, ..fields };
    vec![
        with_tickets(Setting::new(), last(HALF_OPEN), 1).end("half-open for the 64th time"),
        with_tickets(Setting::new().backing_off(), last(HALF_OPEN), 1)
            .end("half-open for the 64th time, with back-off"),
        with_tickets(Setting::new().backing_off(), last(OPEN), 0)
            .wait(4 * WAIT)
            .end("open after 63 failed half-open periods, due"),
    ]
}

fn turns() -> Vec<Situation> {
    let last = |fields| Fields { turn: 255, ..fields };
    vec![
        with_tickets(Setting::new().failures(1), last(CLOSED), 2).end("closed, last turn"),
        with_tickets(Setting::new(), last(OPEN), 0).wait(WAIT).end("open, last turn, due"),
        with_tickets(Setting::new().slots(2), last(HALF_OPEN), 2).end("half-open, last turn"),
    ]
}

fn times() -> Vec<Situation> {
    let last = |fields| Fields { entered_ms: (1 << 36) - 1, ..fields };
    vec![
        with_tickets(Setting::new().failures(1), last(CLOSED), 2).later(WAIT).end("closed, last millisecond"),
        with_tickets(Setting::new(), last(OPEN), 0).end("open since the last millisecond"),
        with_tickets(Setting::new(), last(OPEN), 0).later(WAIT / 2).end("open across the wrap"),
        with_tickets(Setting::new(), last(OPEN), 0).wait(WAIT).end("open across the wrap, due"),
        with_tickets(Setting::new(), last(HALF_OPEN), 1).later(LEASE / 2).end("half-open across the wrap"),
        with_tickets(Setting::new(), last(HALF_OPEN), 1)
            .wait(LEASE)
            .end("half-open across the wrap, overdue"),
    ]
}

/// Forced words that no transition writes read as forced open.
fn forced() -> Vec<Situation> {
    let odd = |payload| Fields { payload, ..Fields { state: 3, ..CLOSED } };
    (MAX_FAILURES - 3..=MAX_FAILURES)
        .chain([3])
        .map(|payload| {
            with_tickets(Setting::new(), odd(payload), 0).end("forced, payload that nobody writes")
        })
        .collect()
}

/// The circuit in this word, with so many more calls that are admitted and out.
fn with_tickets(setting: Setting, fields: Fields, calls: usize) -> Story {
    let now = Timestamp::from_nanos(fields.entered_ms * 1_000_000);
    let mut story = Story::from_word(setting, fields.word(), now);
    let tickets: Vec<u64> = (0..calls).map(|_| story.admit()).collect();
    story.out(Current, &tickets).later(Duration::from_micros(300))
}

const MAX_FAILURES: u64 = 4095;
const MAX_PROBES: u64 = 63;

/// The layout, written down once more.
#[derive(Clone, Copy)]
struct Fields {
    state: u64,
    entered_ms: u64,
    turn: u64,
    reopens: u64,
    payload: u64,
}

const CLOSED: Fields = Fields { state: 0, entered_ms: 5_000, turn: 7, reopens: 0, payload: 0 };
const HALF_OPEN: Fields = Fields { state: 1, ..CLOSED };
const OPEN: Fields = Fields { state: 2, ..CLOSED };

impl Fields {
    const fn word(self) -> Word {
        Word::from_bits(
            self.state | self.entered_ms << 2 | self.turn << 38 | self.reopens << 46 | self.payload << 52,
        )
    }
}
