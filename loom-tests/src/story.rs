//! How a circuit came to be in the state from which a race starts: told with the pure transitions alone.

use std::time::Duration;

use atomic_breaker::engine::{Limits, LimitsBuilder, ProbeTimeout, Ticket, Word, transition};
use atomic_breaker::{Outcome, Settled, Timestamp};

use crate::op::Held;

/// The wait of every circuit here, unless it says otherwise.
pub const WAIT: Duration = Duration::from_millis(10);
/// The lease of every circuit here, unless it says otherwise.
pub const LEASE: Duration = Duration::from_millis(4);
/// Less than a millisecond, so that most stories happen between two milliseconds.
pub const MOMENT: Duration = Duration::from_micros(300);
/// What is then left of the millisecond.
const REST: Duration = Duration::from_micros(700);

/// The numbers of a circuit, with those that the laws need in plain form.
#[derive(Clone, Debug)]
pub struct Setting {
    builder: LimitsBuilder,
    /// Half-open slots, `None` if unlimited.
    pub slots: Option<u32>,
    /// The shortest and the longest wait.
    pub waits: (Duration, Duration),
    /// The shortest and the longest lease, `None` if it never ends.
    pub leases: Option<(Duration, Duration)>,
}

impl Setting {
    /// Three failures, one slot, one success.
    #[must_use]
    pub fn new() -> Self {
        let builder = Limits::builder()
            .failure_threshold(3)
            .recovery_timeout(WAIT)
            .probe_timeout(ProbeTimeout::After(LEASE));
        Self { builder, slots: Some(1), waits: (WAIT, WAIT), leases: Some((LEASE, LEASE)) }
    }

    /// So many slots.
    #[must_use]
    pub fn slots(self, slots: u32) -> Self {
        Self { builder: self.builder.half_open_max_calls(slots), slots: Some(slots), ..self }
    }

    /// No slots: every half-open call is admitted.
    #[must_use]
    pub fn unlimited(self) -> Self {
        Self { builder: self.builder.half_open_unlimited(), slots: None, ..self }
    }

    /// So many failures.
    #[must_use]
    pub fn failures(self, threshold: u32) -> Self {
        Self { builder: self.builder.failure_threshold(threshold), ..self }
    }

    /// So many successes.
    #[must_use]
    pub fn successes(self, threshold: u32) -> Self {
        Self { builder: self.builder.success_threshold(threshold), ..self }
    }

    /// Leases that never end.
    #[must_use]
    pub fn without_lease(self) -> Self {
        Self { builder: self.builder.probe_timeout(ProbeTimeout::Never), leases: None, ..self }
    }

    /// Waits that double up to fourfold and are shortened by up to half; leases as long as the waits.
    #[must_use]
    pub fn backing_off(self) -> Self {
        let builder = self.builder.backoff(2.0, 4 * WAIT).jitter(0.5).probe_timeout(ProbeTimeout::Wait);
        Self { builder, waits: (WAIT / 2, 4 * WAIT), leases: Some((WAIT, 4 * WAIT)), ..self }
    }

    /// The limits.
    ///
    /// # Panics
    ///
    /// If a number is out of range.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.builder.clone().build().expect("every number is legal")
    }
}

impl Default for Setting {
    fn default() -> Self {
        Self::new()
    }
}

/// A state of a circuit, and the tickets that are out.
#[derive(Clone, Debug)]
pub struct Situation {
    /// What is special about it.
    pub name: &'static str,
    /// The circuit's numbers.
    pub setting: Setting,
    /// [`Setting::limits`].
    pub limits: Limits,
    /// The word.
    pub word: Word,
    /// The present moment.
    pub now: Timestamp,
    /// The reading from which the word's time of entry was made.
    pub stamped: Timestamp,
    /// Tickets that are not settled.
    pub grants: Vec<(Held, u64)>,
}

/// A circuit with a past.
#[derive(Clone, Debug)]
pub struct Story {
    now: Situation,
}

impl Story {
    /// Nothing has happened yet.
    #[must_use]
    pub fn begin(setting: Setting) -> Self {
        Self::from_word(setting, Word::default(), Timestamp::from_nanos(5_000_000_000)).later(MOMENT)
    }

    /// An arbitrary past, which has led to `word`.
    #[must_use]
    pub fn from_word(setting: Setting, word: Word, now: Timestamp) -> Self {
        let limits = setting.limits();
        let stamped = Timestamp::from_nanos(word.entered_ms() * 1_000_000);
        Self { now: Situation { name: "", setting, limits, word, now, stamped, grants: Vec::new() } }
    }

    /// A past from which a ticket of a call and one of a probe are left over; the circuit is closed again.
    #[must_use]
    pub fn with_a_past(setting: Setting) -> Self {
        let mut story = Self::begin(setting);
        let call = story.admit();
        story = story.trip().wait(WAIT);
        let probe = story.admit();
        story.trip().reset().out(Held::Stale, &[call, probe])
    }

    /// As [`with_a_past`](Story::with_a_past), and the circuit was just tripped.
    #[must_use]
    pub fn open(setting: Setting) -> Self {
        Self::with_a_past(setting).trip()
    }

    /// As [`open`](Story::open), and the longest wait is over.
    #[must_use]
    pub fn due(setting: Setting) -> Self {
        let wait = setting.waits.1;
        Self::open(setting).wait(wait)
    }

    /// Time passes.
    #[must_use]
    pub fn later(mut self, by: Duration) -> Self {
        self.now.now = Timestamp::from_nanos(self.now.now.as_nanos() + by.as_nanos() as u64);
        self
    }

    /// So much time passes that a span of this length, begun now, is over.
    #[must_use]
    pub fn wait(self, span: Duration) -> Self {
        self.later(span + Duration::from_millis(1))
    }

    /// A span of this length, begun now, is over in the next millisecond.
    #[must_use]
    pub fn almost(self, span: Duration) -> Self {
        self.later(span.saturating_sub(MOMENT / 2))
    }

    /// A span of this length, begun now, is over as soon as the word, which is dated in whole milliseconds, can tell.
    #[must_use]
    pub fn exactly(self, span: Duration) -> Self {
        self.later(span + REST)
    }

    /// Admits a call. The ticket's bits.
    ///
    /// # Panics
    ///
    /// If the circuit rejects it.
    pub fn admit(&mut self) -> u64 {
        let step = transition::acquire(self.now.word, &self.now.limits, &|| self.now.now);
        let before = self.now.word.entered_ms();
        let ticket = step.answer.expect("the story has room for this call").to_bits();
        if let Some(next) = step.next {
            self.now.word = next.word;
            if next.word.entered_ms() != before {
                self.now.stamped = next.at;
            }
        }
        ticket
    }

    /// Reports an outcome that counts.
    ///
    /// # Panics
    ///
    /// If it is stale.
    #[must_use]
    pub fn settle(self, ticket: u64, outcome: Outcome) -> Self {
        let clock = || self.now.now;
        let ticket = Ticket::from_bits(ticket);
        let step = transition::settle(self.now.word, &ticket, outcome, &self.now.limits, &clock);
        assert_ne!(step.answer, Settled::Stale, "the story settles in time");
        let stamps = step.answer != Settled::Applied;
        self.install(step.next, stamps)
    }

    /// A call fails, so many times.
    #[must_use]
    pub fn fail(mut self, times: u32) -> Self {
        for _ in 0..times {
            let ticket = self.admit();
            self = self.settle(ticket, Outcome::Failure);
        }
        self
    }

    /// The circuit is tripped.
    #[must_use]
    pub fn trip(self) -> Self {
        let step = transition::trip(self.now.word, &self.now.limits, &|| self.now.now);
        self.install(step.next, true)
    }

    /// The circuit is reset.
    #[must_use]
    pub fn reset(self) -> Self {
        let step = transition::reset(self.now.word, &|| self.now.now);
        self.install(step.next, true)
    }

    /// The circuit is forced open.
    #[must_use]
    pub fn force_open(self) -> Self {
        let step = transition::force_open(self.now.word, &|| self.now.now);
        self.install(step.next, true)
    }

    /// The circuit is forced closed.
    #[must_use]
    pub fn force_closed(self) -> Self {
        let step = transition::force_closed(self.now.word, &|| self.now.now);
        self.install(step.next, true)
    }

    /// The circuit is retired.
    ///
    /// # Panics
    ///
    /// If it is touched.
    #[must_use]
    pub fn retire(mut self) -> Self {
        self.now.word = transition::retire(self.now.word).expect("an untouched circuit can be retired");
        self
    }

    /// These tickets are out when the race starts.
    #[must_use]
    pub fn out(mut self, held: Held, tickets: &[u64]) -> Self {
        self.now.grants.extend(tickets.iter().map(|&bits| (held, bits)));
        self
    }

    /// The tickets of this period that are out have lost their slots meanwhile.
    #[must_use]
    pub fn written_off(mut self) -> Self {
        for (held, _) in &mut self.now.grants {
            if *held == Held::Current {
                *held = Held::WrittenOff;
            }
        }
        self
    }

    /// Here the race starts.
    #[must_use]
    pub fn end(self, name: &'static str) -> Situation {
        Situation { name, ..self.now }
    }

    fn install(mut self, next: Option<transition::Next>, stamps: bool) -> Self {
        if let Some(next) = next {
            self.now.word = next.word;
            if stamps {
                self.now.stamped = next.at;
            }
        }
        self
    }
}
