//! What each operation may do to a word, whatever the word: any 64 bits, any ticket, any moment.

use atomic_breaker::engine::transition::{self, Next, Step};
use atomic_breaker::engine::{AtomicU64, Limits, StateCell, Ticket, Word};
use atomic_breaker::{Clock, Outcome, Reason, Rejected, Settled, State, Timestamp};

const CLOSED: u64 = 0;
const HALF_OPEN: u64 = 1;
const OPEN: u64 = 2;
const FORCED: u64 = 3;

/// The layout once more, by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fields {
    state: u64,
    entered: u64,
    turn: u64,
    reopens: u64,
    payload: u64,
}

impl Fields {
    fn of(word: Word) -> Self {
        let bits = word.to_bits();
        Self {
            state: bits & 0b11,
            entered: bits >> 2 & 0xf_ffff_ffff,
            turn: bits >> 38 & 0xff,
            reopens: bits >> 46 & 0x3f,
            payload: bits >> 52,
        }
    }

    fn encode(self) -> u64 {
        self.state | self.entered << 2 | self.turn << 38 | self.reopens << 46 | self.payload << 52
    }

    fn in_flight(self) -> u64 {
        self.payload & 0x3f
    }

    fn successes(self) -> u64 {
        self.payload >> 6
    }

    fn is_retired(self) -> bool {
        self.state == FORCED && self.payload == 2
    }

    fn is_forced_closed(self) -> bool {
        self.state == FORCED && self.payload == 1
    }

    fn is_forced_open(self) -> bool {
        self.state == FORCED && self.payload != 1 && self.payload != 2
    }

    /// One transition later, entered at `at`.
    fn turned(self, state: u64, at: u64, reopens: u64, payload: u64) -> Self {
        let entered = at.div_ceil(1_000_000) & 0xf_ffff_ffff;
        Self { state, entered, turn: (self.turn + 1) & 0xff, reopens, payload }
    }
}

/// One word, and all that is handed to an operation on it.
pub(crate) struct Case<'a> {
    pub(crate) word: Word,
    pub(crate) ticket: u64,
    pub(crate) limits: &'a Limits,
    /// `None`: unlimited.
    pub(crate) slots: Option<u32>,
    /// What the clock shows, and what it is.
    pub(crate) now: u64,
    pub(crate) precise: u64,
}

impl Clock for Case<'_> {
    fn now(&self) -> Timestamp {
        Timestamp::from_nanos(self.now)
    }

    fn precise(&self) -> Timestamp {
        Timestamp::from_nanos(self.precise)
    }
}

impl Case<'_> {
    pub(crate) fn check(&self) {
        self.word_decodes();
        self.acquire();
        for outcome in [Outcome::Success, Outcome::Failure, Outcome::Ignored] {
            self.settle(outcome);
        }
        self.trip();
        self.reset();
        self.force();
        self.retire();
    }

    fn before(&self) -> Fields {
        Fields::of(self.word)
    }

    fn word_decodes(&self) {
        let (word, fields) = (self.word, self.before());
        assert_eq!(fields.encode(), word.to_bits());
        assert_eq!(Word::from_bits(word.to_bits()), word);
        assert_eq!(
            (word.entered_ms(), u64::from(word.turn()), u64::from(word.reopens())),
            (fields.entered, fields.turn, fields.reopens)
        );
        let counts = match fields.state {
            CLOSED => (fields.payload, 0, 0),
            HALF_OPEN => (0, fields.in_flight(), fields.successes()),
            _ => (0, 0, 0),
        };
        let shown = (word.failures(), word.probes_in_flight(), word.probe_successes());
        assert_eq!((u64::from(shown.0), u64::from(shown.1), u64::from(shown.2)), counts);
        let state = match fields.state {
            CLOSED => State::Closed,
            HALF_OPEN => State::HalfOpen,
            OPEN => State::Open,
            _ if fields.is_forced_open() => State::ForcedOpen,
            _ => State::ForcedClosed,
        };
        assert_eq!(word.state(), state);
        assert_eq!(word.is_retired(), fields.is_retired());
        assert_eq!(word.is_untouched(), fields.state == CLOSED && fields.payload == 0);
        let debug = format!("{word:?} {:?}", Ticket::from_bits(self.ticket));
        assert!(debug.contains(&format!("entered_ms: {}, turn: {}", fields.entered, fields.turn)), "{debug}");
        self.ticket_decodes();
    }

    /// Bits that spell no ticket become the one that is always stale.
    fn ticket_decodes(&self) {
        const STALE: u64 = 0xfff << 52 | FORCED;
        let spells_one = match self.ticket & 0b11 {
            CLOSED => self.ticket >> 52 == 0,
            FORCED => matches!(self.ticket >> 52, 0xffc..=0xffe),
            _ => false,
        };
        let bits = Ticket::from_bits(self.ticket).to_bits();
        assert_eq!(bits, if spells_one { self.ticket } else { STALE });
    }

    fn acquire(&self) {
        let before = self.before();
        let Step { answer, next } = self.both(
            |word| transition::acquire(word, self.limits, self),
            |cell| cell.try_acquire(self.limits, self).map(|admitted| admitted.ticket),
        );
        assert_eq!(
            transition::peek(self.word, self.limits, self),
            answer.as_ref().map(drop).map_err(|rejected| *rejected),
            "peek tells what acquire does"
        );
        match &answer {
            Ok(ticket) => self.admitted(before, ticket, next),
            Err(rejected) => self.rejected(before, rejected, next),
        }
    }

    fn admitted(&self, before: Fields, ticket: &Ticket, next: Option<Next>) {
        let entered = self.precise.div_ceil(1_000_000) & 0xf_ffff_ffff;
        let after = next.map_or(self.word, |next| next.word);
        let expected = match (before.state, self.slots) {
            (CLOSED, _) | (HALF_OPEN, None) => before,
            (FORCED, _) => {
                assert!(!before.is_forced_open());
                before
            }
            (HALF_OPEN, Some(slots)) => {
                let free = before.in_flight() < u64::from(slots);
                if free && before.in_flight() > 0 {
                    Fields { payload: before.payload + 1, ..before }
                } else {
                    Fields { entered, payload: before.successes() << 6 | 1, ..before }
                }
            }
            (_, slots) => before.turned(HALF_OPEN, self.precise, before.reopens, u64::from(slots.is_some())),
        };
        assert_eq!(Fields::of(after), expected);
        if !before.is_retired() {
            let ignored = transition::settle(after, ticket, Outcome::Ignored, self.limits, self);
            assert_eq!(ignored.answer, Settled::Applied, "a fresh ticket is current");
        }
    }

    fn rejected(&self, before: Fields, rejected: &Rejected, next: Option<Next>) {
        assert_eq!(next, None, "a rejection changes nothing");
        let left = rejected.retry_after().map(|left| left.as_nanos());
        assert_ne!(left, Some(0));
        match rejected.reason() {
            Reason::Open => assert!(before.state == OPEN && left.is_some()),
            Reason::HalfOpen => {
                assert_eq!(before.state, HALF_OPEN);
                assert!(before.in_flight() >= u64::from(self.slots.unwrap()));
            }
            Reason::ForcedOpen => assert!(before.is_forced_open() && left.is_none()),
        }
    }

    fn settle(&self, outcome: Outcome) {
        let before = self.before();
        let ticket = || Ticket::from_bits(self.ticket);
        let rule = |word| transition::settle(word, &ticket(), outcome, self.limits, self);
        // A ticket's bits are those of no word that a circuit comes to, but for an untouched one. In a word from
        // elsewhere, only the rule sees it.
        let is_foreign = ticket().to_bits() == self.word.to_bits() && !self.word.is_untouched();
        let Step { answer, next } = if is_foreign {
            rule(self.word)
        } else {
            self.both(rule, |cell| cell.settle(ticket(), outcome, self.limits, self).settled)
        };
        let after = next.map(|next| Fields::of(next.word));
        match answer {
            Settled::Stale => assert_eq!(after, None),
            Settled::Applied => self.applied(outcome, after),
            Settled::Opened => {
                assert_eq!(outcome, Outcome::Failure);
                let reopens = match before.state {
                    CLOSED => 0,
                    HALF_OPEN => (before.reopens + 1).min(63),
                    _ => panic!("only these can open"),
                };
                // Any draw will do.
                let payload = after.unwrap().payload;
                assert_eq!(after, Some(before.turned(OPEN, self.precise, reopens, payload)));
            }
            Settled::Closed => {
                assert_eq!((outcome, before.state), (Outcome::Success, HALF_OPEN));
                assert_eq!(after, Some(before.turned(CLOSED, self.precise, 0, 0)));
            }
        }
    }

    fn applied(&self, outcome: Outcome, after: Option<Fields>) {
        let before = self.before();
        let after_or_before = after.unwrap_or(before);
        match before.state {
            CLOSED => {
                let failures = match outcome {
                    Outcome::Success => 0,
                    Outcome::Failure => before.payload + 1,
                    Outcome::Ignored => before.payload,
                };
                assert_eq!(after_or_before, Fields { payload: failures, ..before });
                assert_eq!(after.is_some(), failures != before.payload, "nothing is written in vain");
            }
            HALF_OPEN => {
                let successes = before.successes() + u64::from(outcome == Outcome::Success);
                let given_back = before.in_flight() - after_or_before.in_flight();
                assert!(given_back <= 1);
                let is_own = Fields::of(Word::from_bits(self.ticket)).entered == before.entered;
                assert!(given_back == 0 || is_own, "the lease is another's");
                let payload = successes << 6 | (before.in_flight() - given_back);
                assert_eq!(after_or_before, Fields { payload, ..before });
            }
            _ => {
                assert!(before.is_forced_closed());
                assert_eq!(after, None);
            }
        }
    }

    fn trip(&self) {
        let before = self.before();
        let Step { next, .. } = self.both(
            |word| transition::trip(word, self.limits, self),
            |cell| ignore(cell.trip(self.limits, self)),
        );
        let Some(next) = next else {
            let waits = before.state == OPEN && transition::peek(self.word, self.limits, self).is_err();
            assert!(before.is_retired() || waits);
            return;
        };
        assert!(!before.is_retired());
        let reopens = if matches!(before.state, HALF_OPEN | OPEN) { before.reopens } else { 0 };
        let after = Fields::of(next.word);
        assert_eq!(after, before.turned(OPEN, self.precise, reopens, after.payload));
    }

    fn reset(&self) {
        let before = self.before();
        let Step { next, .. } =
            self.both(|word| transition::reset(word, self), |cell| ignore(cell.reset(self)));
        let expected = (!self.word.is_untouched() && !before.is_retired())
            .then(|| before.turned(CLOSED, self.precise, 0, 0));
        assert_eq!(next.map(|next| Fields::of(next.word)), expected);
    }

    fn force(&self) {
        let before = self.before();
        let Step { next, .. } =
            self.both(|word| transition::force_open(word, self), |cell| ignore(cell.force_open(self)));
        let stays = before.is_forced_open() || before.is_retired();
        let expected = (!stays).then(|| before.turned(FORCED, self.precise, 0, 0));
        assert_eq!(next.map(|next| Fields::of(next.word)), expected);

        let Step { next, .. } =
            self.both(|word| transition::force_closed(word, self), |cell| ignore(cell.force_closed(self)));
        let stays = before.is_forced_closed() || before.is_retired();
        let expected = (!stays).then(|| before.turned(FORCED, self.precise, 0, 1));
        assert_eq!(next.map(|next| Fields::of(next.word)), expected);
    }

    fn retire(&self) {
        let before = self.before();
        let retired = transition::retire(self.word);
        if before.state == CLOSED && before.payload == 0 {
            let at_the_same_time = Fields { entered: before.entered, ..before.turned(FORCED, 0, 0, 2) };
            assert_eq!(retired.map(Fields::of), Ok(at_the_same_time));
        } else {
            assert_eq!(retired, Err(self.word));
        }
    }

    /// The rule, which a cell with the same word carries out.
    fn both<A: PartialEq + std::fmt::Debug>(
        &self,
        rule: impl Fn(Word) -> Step<A>,
        operation: impl Fn(&StateCell<&AtomicU64>) -> A,
    ) -> Step<A> {
        let step = rule(self.word);
        let atomic = AtomicU64::new(self.word.to_bits());
        let cell = StateCell::from_ref(&atomic);
        assert_eq!(operation(&cell), step.answer);
        assert_eq!(cell.word(), step.next.map_or(self.word, |next| next.word));
        if let Some(next) = step.next {
            // A rule that needs no time says zero.
            assert!([0, self.precise].contains(&next.at.as_nanos()));
        }
        step
    }
}

fn ignore<T>(_: T) {}
