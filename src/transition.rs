//! The rules: what becomes of a word, and what the caller is told. Nothing here touches an atomic.
//!
//! Re-exported, with an example, as [`engine::transition`](crate::engine::transition).

#[cfg(feature = "std")]
use core::time::Duration;

use crate::clock::{Clock, Timestamp};
use crate::error::{Reason, Rejected};
use crate::limits::{OpenLimits, ProbeLimits, Rules};
use crate::outcome::{Outcome, Settled};
use crate::word::{DRAW_BITS, Mode, Ticket, Word};

/// What a rule made of a word: the answer for the caller, which holds once `next` (if there is one) has replaced the
/// word that the rule was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the answer holds only once `next` has been installed"]
pub struct Step<A> {
    /// What the caller is told.
    pub answer: A,
    /// The word to install, `None` if nothing changes.
    pub next: Option<Next>,
}

/// A word to install, and the moment at which the rule was applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// The word.
    pub word: Word,
    /// The clock's reading, zero where the rule needed none.
    pub at: Timestamp,
}

impl<A> Step<A> {
    const fn stay(answer: A) -> Self {
        Self { answer, next: None }
    }

    const fn go(answer: A, word: Word) -> Self {
        Self::go_at(answer, word, Timestamp::from_nanos(0))
    }

    const fn go_at(answer: A, word: Word, at: Timestamp) -> Self {
        Self { answer, next: Some(Next { word, at }) }
    }
}

/// Admits a call or rejects it (rules 1 to 6).
///
/// ```
/// # use atomic_breaker::{Outcome, Settled, State, Timestamp, engine::{Limits, Word, transition}};
/// # let (limits, now) = (Limits::default(), || Timestamp::from_nanos(0));
/// let step = transition::acquire(Word::default(), &limits, &now);
/// assert!(step.answer.is_ok());
/// assert_eq!(step.next, None, "nothing to install");
/// ```
#[inline]
pub fn acquire(word: Word, rules: &impl Rules, clock: &impl Clock) -> Step<Result<Ticket, Rejected>> {
    match word.mode() {
        Mode::Closed => Step::stay(Ok(Ticket::closed(word))),
        Mode::ForcedClosed | Mode::Retired => Step::stay(Ok(Ticket::forced(word))),
        Mode::ForcedOpen => Step::stay(Err(forced_open(rules.open(0)))),
        Mode::Open => {
            let limits = rules.open(word.reopens());
            if let Err(rejected) = wait_over(word, limits, clock.now()) {
                return Step::stay(Err(rejected));
            }
            let at = clock.precise();
            let (next, ticket) = first_probe(word, limits, at);
            Step::go_at(Ok(ticket), next, at)
        }
        Mode::HalfOpen => {
            let limits = rules.probe(word.reopens());
            match seat(word, limits) {
                Seat::Unlimited => Step::stay(Ok(Ticket::probe(word))),
                Seat::Beside(next) => Step::go(Ok(Ticket::slot(next)), next),
                Seat::First => lease(word, clock.precise()),
                Seat::Full => match lease_over(word, limits, clock.now()) {
                    Ok(()) => lease(word, clock.precise()),
                    Err(rejected) => Step::stay(Err(rejected)),
                },
            }
        }
    }
}

/// What [`acquire`] would answer. Nothing changes.
///
/// # Errors
///
/// The rejection that a call would get.
///
/// ```
/// # use atomic_breaker::{Outcome, Settled, State, Timestamp, engine::{Limits, Word, transition}};
/// # let (limits, now) = (Limits::default(), || Timestamp::from_nanos(0));
/// assert!(transition::peek(Word::default(), &limits, &now).is_ok());
/// ```
pub fn peek(word: Word, rules: &impl Rules, clock: &impl Clock) -> Result<(), Rejected> {
    match word.mode() {
        Mode::Closed | Mode::ForcedClosed | Mode::Retired => Ok(()),
        Mode::ForcedOpen => Err(forced_open(rules.open(0))),
        Mode::Open => wait_over(word, rules.open(word.reopens()), clock.now()),
        Mode::HalfOpen => {
            let limits = rules.probe(word.reopens());
            match seat(word, limits) {
                Seat::Full => lease_over(word, limits, clock.now()),
                Seat::Unlimited | Seat::First | Seat::Beside(_) => Ok(()),
            }
        }
    }
}

/// Takes an outcome into account (rules 7 to 10).
///
/// ```
/// # use atomic_breaker::{Outcome, Settled, State, Timestamp, engine::{Limits, Word, transition}};
/// # let (limits, now) = (Limits::default(), || Timestamp::from_nanos(0));
/// let word = Word::default();
/// let ticket = transition::acquire(word, &limits, &now).answer?;
/// let step = transition::settle(word, &ticket, Outcome::Failure, &limits, &now);
/// assert_eq!(step.answer, Settled::Applied);
/// assert_eq!(step.next.unwrap().word.failures(), 1);
/// # Ok::<(), atomic_breaker::Rejected>(())
/// ```
#[inline]
pub fn settle(
    word: Word,
    ticket: &Ticket,
    outcome: Outcome,
    rules: &impl Rules,
    clock: &impl Clock,
) -> Step<Settled> {
    match verdict(word, ticket, outcome, rules) {
        Verdict::Stale => Step::stay(Settled::Stale),
        Verdict::Stay => Step::stay(Settled::Applied),
        Verdict::Go(next) => Step::go(Settled::Applied, next),
        Verdict::Open { reopens } => {
            let at = clock.precise();
            Step::go_at(Settled::Opened, open(word, reopens, at, rules.seed()), at)
        }
        Verdict::Close => {
            let at = clock.precise();
            Step::go_at(Settled::Closed, word.to_closed(at.ceil_ms()), at)
        }
    }
}

/// Notes a failure or slow call of a circuit with a window, in which it has been recorded before. The answer is the word
/// that stands for it, `None` if the period is over.
#[cfg(any(feature = "std", all(loom, feature = "loom")))]
pub(crate) const fn note(word: Word, ticket: &Ticket) -> Step<Option<Word>> {
    if !ticket.is_closed_in(word) {
        return Step::stay(None);
    }
    let next = word.with_note();
    Step::go(Some(next), next)
}

/// Opens the circuit of a window that has reached its rate.
#[cfg(any(feature = "std", all(loom, feature = "loom")))]
pub(crate) fn open_noted(word: Word, rules: &impl Rules, clock: &impl Clock) -> Next {
    let at = clock.precise();
    Next { word: open(word, 0, at, rules.seed()), at }
}

/// Opens the circuit now (rule 15).
///
/// ```
/// # use atomic_breaker::{Outcome, Settled, State, Timestamp, engine::{Limits, Word, transition}};
/// # let (limits, now) = (Limits::default(), || Timestamp::from_nanos(0));
/// let step = transition::trip(Word::default(), &limits, &now);
/// assert_eq!(step.next.unwrap().word.state(), State::Open);
/// ```
pub fn trip(word: Word, rules: &impl Rules, clock: &impl Clock) -> Step<()> {
    let reopens = match word.mode() {
        Mode::Retired => return Step::stay(()),
        Mode::Open if wait_over(word, rules.open(word.reopens()), clock.now()).is_err() => {
            return Step::stay(());
        }
        Mode::Open | Mode::HalfOpen => u64::from(word.reopens()),
        Mode::Closed | Mode::ForcedOpen | Mode::ForcedClosed => 0,
    };
    let at = clock.precise();
    Step::go_at((), open(word, reopens, at, rules.seed()), at)
}

/// Closes the circuit and starts a new period, unless it is closed and untouched (rule 17).
///
/// ```
/// # use atomic_breaker::{Outcome, Settled, State, Timestamp, engine::{Limits, Word, transition}};
/// # let (limits, now) = (Limits::default(), || Timestamp::from_nanos(0));
/// let open = transition::trip(Word::default(), &limits, &now).next.unwrap().word;
/// assert_eq!(transition::reset(open, &now).next.unwrap().word.state(), State::Closed);
/// ```
pub fn reset(word: Word, clock: &impl Clock) -> Step<()> {
    if word.is_untouched() {
        return Step::stay(());
    }
    renew(word, clock)
}

/// Closes the circuit and starts a new period, even if it is closed and its word untouched.
pub(crate) fn renew(word: Word, clock: &impl Clock) -> Step<()> {
    if word.is_retired() {
        return Step::stay(());
    }
    let at = clock.precise();
    Step::go_at((), word.to_closed(at.ceil_ms()), at)
}

/// Holds the circuit open until it is released (rule 16).
///
/// ```
/// # use atomic_breaker::{Outcome, Settled, State, Timestamp, engine::{Limits, Word, transition}};
/// # let (limits, now) = (Limits::default(), || Timestamp::from_nanos(0));
/// let step = transition::force_open(Word::default(), &now);
/// assert_eq!(step.next.unwrap().word.state(), State::ForcedOpen);
/// ```
pub fn force_open(word: Word, clock: &impl Clock) -> Step<()> {
    if matches!(word.mode(), Mode::ForcedOpen | Mode::Retired) {
        return Step::stay(());
    }
    let at = clock.precise();
    Step::go_at((), word.to_forced_open(at.ceil_ms()), at)
}

/// Holds the circuit closed until it is released (rule 16).
///
/// ```
/// # use atomic_breaker::{Outcome, Settled, State, Timestamp, engine::{Limits, Word, transition}};
/// # let (limits, now) = (Limits::default(), || Timestamp::from_nanos(0));
/// let step = transition::force_closed(Word::default(), &now);
/// assert_eq!(step.next.unwrap().word.state(), State::ForcedClosed);
/// ```
pub fn force_closed(word: Word, clock: &impl Clock) -> Step<()> {
    if matches!(word.mode(), Mode::ForcedClosed | Mode::Retired) {
        return Step::stay(());
    }
    let at = clock.precise();
    Step::go_at((), word.to_forced_closed(at.ceil_ms()), at)
}

/// Takes an untouched circuit out of use for good.
///
/// # Errors
///
/// The word itself, if it is touched or retired already.
///
/// ```
/// # use atomic_breaker::{Outcome, Settled, State, Timestamp, engine::{Limits, Word, transition}};
/// # let (limits, now) = (Limits::default(), || Timestamp::from_nanos(0));
/// let retired = transition::retire(Word::default()).unwrap();
/// assert!(retired.is_retired());
/// assert_eq!(transition::retire(retired), Err(retired));
/// ```
pub const fn retire(word: Word) -> Result<Word, Word> {
    if word.is_untouched() { Ok(word.to_retired()) } else { Err(word) }
}

/// Whether the wait of an open word is over (rules 2 and 3).
const fn wait_over(word: Word, limits: OpenLimits, now: Timestamp) -> Result<(), Rejected> {
    match remaining_ms(word, limits.wait_ms(word.payload()), now) {
        0 => Ok(()),
        left => Err(Rejected::new(Reason::Open, left, limits.tags())),
    }
}

/// Milliseconds until the wait of an open word is over, if one comparison tells. [`acquire`] knows the rest: a wait that
/// is over, a clock that stepped back, the millisecond of the opening.
#[cfg(feature = "std")]
#[inline]
pub(crate) const fn plainly_left_ms(word: Word, limits: OpenLimits, now: Timestamp) -> Option<u64> {
    let wait = limits.wait_ms(word.payload());
    let since = word.since_entered_ms(now.floor_ms());
    if since < wait { Some(wait - since) } else { None }
}

/// Whether the probes that fill a half-open word are overdue (rule 4).
const fn lease_over(word: Word, limits: ProbeLimits, now: Timestamp) -> Result<(), Rejected> {
    let left = match limits.timeout_ms() {
        None => Rejected::UNKNOWN,
        Some(timeout) => match remaining_ms(word, timeout, now) {
            0 => return Ok(()),
            left => left,
        },
    };
    Err(Rejected::new(Reason::HalfOpen, left, limits.tags()))
}

const fn forced_open(limits: OpenLimits) -> Rejected {
    Rejected::new(Reason::ForcedOpen, Rejected::UNKNOWN, limits.tags())
}

/// The wait of the open period that `word` is in.
#[cfg(feature = "std")]
pub(crate) const fn wait(word: Word, limits: OpenLimits) -> Duration {
    Duration::from_millis(limits.wait_ms(word.payload()))
}

/// Milliseconds until `span_ms` since `entered` have passed, 0 if they have.
#[inline]
const fn remaining_ms(word: Word, span_ms: u64, now: Timestamp) -> u64 {
    let now_ms = now.floor_ms();
    let elapsed = word.elapsed_ms(now_ms);
    if elapsed >= span_ms {
        return 0;
    }
    // `entered` was rounded up and `now` down. In the millisecond in between, a sleep of the difference would end
    // just before the deadline.
    let between = word.is_entered_next(now_ms) && !now.is_whole_ms();
    span_ms - elapsed + between as u64
}

/// The half-open word that replaces an open one, and the ticket of the probe that comes with it (rule 3).
const fn first_probe(word: Word, limits: OpenLimits, at: Timestamp) -> (Word, Ticket) {
    if limits.is_unlimited() {
        let next = word.to_half_open(at.ceil_ms(), 0);
        (next, Ticket::probe(next))
    } else {
        let next = word.to_half_open(at.ceil_ms(), 1);
        (next, Ticket::slot(next))
    }
}

/// Where a half-open circuit could put one more probe (rules 4 and 5).
enum Seat {
    Unlimited,
    /// None is in flight: this one starts a lease.
    First,
    /// In the running lease.
    Beside(Word),
    Full,
}

const fn seat(word: Word, limits: ProbeLimits) -> Seat {
    let (in_flight, _) = word.probes();
    match limits.slots() {
        None => Seat::Unlimited,
        Some(_) if in_flight == 0 => Seat::First,
        Some(slots) if in_flight < slots => Seat::Beside(word.with_probe_more()),
        Some(_) => Seat::Full,
    }
}

/// The word in which a half-open circuit has one probe more in flight, if it has a slot for it in its present lease or
/// can start one.
#[inline]
pub(crate) fn seated(word: Word, rules: &impl Rules, clock: &impl Clock) -> Option<Word> {
    match seat(word, rules.probe(word.reopens())) {
        Seat::First => Some(word.with_lease(clock.precise().ceil_ms())),
        Seat::Beside(next) => Some(next),
        Seat::Unlimited | Seat::Full => None,
    }
}

/// A lease begins with its first probe; probes of an older one have no slot any more.
const fn lease(word: Word, at: Timestamp) -> Step<Result<Ticket, Rejected>> {
    let next = word.with_lease(at.ceil_ms());
    Step::go_at(Ok(Ticket::slot(next)), next, at)
}

/// What an outcome does to a word, apart from the time at which it does it.
pub(crate) enum Verdict {
    Stale,
    Stay,
    Go(Word),
    Open { reopens: u64 },
    Close,
}

/// What [`settle`] asks before it needs a clock.
#[inline]
pub(crate) fn verdict(word: Word, ticket: &Ticket, outcome: Outcome, rules: &impl Rules) -> Verdict {
    // Comparisons with the ticket alone: the compiler would make a jump table of the word's states, and a
    // compare-and-swap waits until a jump is resolved.
    if ticket.is_closed_in(word) {
        count_call(word, outcome, rules.settle().failure_threshold())
    } else if ticket.is_half_open_in(word) {
        count_probe(word, ticket, outcome, rules.settle().success_threshold())
    } else if ticket.is_forced_closed_in(word) {
        Verdict::Stay
    } else {
        // Also where the circuit is retired: whoever replaced it would not learn of the outcome.
        Verdict::Stale
    }
}

/// Counts the outcome of a call of a closed circuit (rule 8).
const fn count_call(word: Word, outcome: Outcome, threshold: u64) -> Verdict {
    let failures = word.payload();
    match outcome {
        Outcome::Ignored => Verdict::Stay,
        Outcome::Success if failures == 0 => Verdict::Stay,
        Outcome::Success => Verdict::Go(word.with_failures(0)),
        Outcome::Failure if failures + 1 >= threshold => Verdict::Open { reopens: 0 },
        Outcome::Failure => Verdict::Go(word.with_another_failure()),
    }
}

/// Counts the outcome of a probe (rule 9).
const fn count_probe(word: Word, ticket: &Ticket, outcome: Outcome, threshold: u64) -> Verdict {
    let (held, successes) = word.probes();
    let holds = ticket.holds_slot_in(word) && held > 0;
    let without = if holds { word.with_probe_less() } else { word };
    match outcome {
        Outcome::Failure => Verdict::Open { reopens: word.reopens() as u64 + 1 },
        Outcome::Success if successes + 1 >= threshold => Verdict::Close,
        Outcome::Success => Verdict::Go(without.with_success_more()),
        Outcome::Ignored if holds => Verdict::Go(without),
        Outcome::Ignored => Verdict::Stay,
    }
}

/// The open word that replaces `word`, with a fresh jitter draw.
const fn open(word: Word, reopens: u64, at: Timestamp, seed: u64) -> Word {
    word.to_open(at.ceil_ms(), reopens, draw(seed ^ word.to_bits(), at))
}

/// Twelve bits that look random. Circuits that open at the same moment differ by seed, one circuit's openings by time.
/// The mixing steps are those of splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014).
const fn draw(seed: u64, at: Timestamp) -> u64 {
    let mut mixed = seed.wrapping_add(at.as_nanos().wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    // The last step, `mixed ^ (mixed >> 31)`, would not change these bits.
    mixed >> (u64::BITS - DRAW_BITS)
}

#[cfg(test)]
mod tests;
