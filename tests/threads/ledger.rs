//! What callers were told and what observers heard, to be balanced at the end.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use atomic_breaker::CircuitBreaker;
use atomic_breaker::{Cause, Clock, Observer, Rejected, Settled, State, Transition};

/// Hears everything.
#[derive(Default)]
pub(crate) struct Ledger {
    transitions: Mutex<Vec<Transition>>,
    rejections: AtomicU64,
}

/// What one thread was told.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) admitted: u64,
    pub(crate) rejected: u64,
    pub(crate) applied: u64,
    pub(crate) opened: u64,
    pub(crate) closed: u64,
    pub(crate) stale: u64,
    pub(crate) dropped: u64,
}

impl Observer for Ledger {
    fn on_transition(&self, transition: &Transition) {
        self.transitions.lock().unwrap().push(*transition);
    }

    fn on_rejected(&self, _: &Rejected) {
        self.rejections.fetch_add(1, Ordering::Relaxed);
    }
}

impl Tally {
    pub(crate) fn settled(&mut self, settled: Settled) {
        *match settled {
            Settled::Applied => &mut self.applied,
            Settled::Opened => &mut self.opened,
            Settled::Closed => &mut self.closed,
            Settled::Stale => &mut self.stale,
        } += 1;
    }

    pub(crate) fn sum(tallies: impl IntoIterator<Item = Self>) -> Self {
        tallies.into_iter().fold(Self::default(), |sum, tally| Self {
            admitted: sum.admitted + tally.admitted,
            rejected: sum.rejected + tally.rejected,
            applied: sum.applied + tally.applied,
            opened: sum.opened + tally.opened,
            closed: sum.closed + tally.closed,
            stale: sum.stale + tally.stale,
            dropped: sum.dropped + tally.dropped,
        })
    }
}

impl Ledger {
    /// Balances the books of a breaker at rest, on which all work was done.
    pub(crate) fn balance<C: Clock>(&self, breaker: &CircuitBreaker<C>, told: Tally) {
        let snapshot = breaker.snapshot();
        assert_eq!(snapshot.probes_in_flight(), 0, "every slot was given back");
        assert_eq!(told.admitted, told.applied + told.opened + told.closed + told.stale + told.dropped);
        assert_eq!(told.rejected, self.rejections.load(Ordering::Relaxed));

        let transitions = self.transitions.lock().unwrap();
        let count =
            |cause| transitions.iter().filter(|transition| transition.cause() == cause).count() as u64;
        assert_eq!(
            told.opened,
            count(Cause::Failures) + count(Cause::ProbeFailed),
            "each opening is told twice"
        );
        assert_eq!(told.closed, count(Cause::ProbesSucceeded), "each closing is told twice");
        for transition in transitions.iter() {
            assert_lawful(transition);
        }
        assert_flow(&transitions, snapshot.state());
    }

    /// Puts the events in order and checks that each begins where the one before ended. Needs fewer than 256 turns.
    pub(crate) fn assert_chain(&self, last: State) {
        let mut transitions = self.transitions.lock().unwrap().clone();
        transitions.sort_by_key(Transition::turn);
        let mut state = State::Closed;
        for pair in transitions.windows(2) {
            assert_ne!(pair[0].turn(), pair[1].turn(), "reported twice: {pair:?}");
        }
        for transition in &transitions {
            assert_eq!(transition.from(), state, "{transition:?}");
            state = transition.to();
        }
        assert_eq!(state, last);
    }

    pub(crate) fn count(&self) -> usize {
        self.transitions.lock().unwrap().len()
    }
}

fn assert_lawful(transition: &Transition) {
    let (from, to) = (transition.from(), transition.to());
    assert_ne!(from, to);
    let lawful = match transition.cause() {
        Cause::Failures => (from, to) == (State::Closed, State::Open) && transition.failures() > 0,
        Cause::ProbeFailed => (from, to) == (State::HalfOpen, State::Open) && transition.reopens() > 0,
        Cause::ProbesSucceeded => {
            (from, to) == (State::HalfOpen, State::Closed) && transition.probe_successes() > 0
        }
        Cause::WaitOver => (from, to) == (State::Open, State::HalfOpen),
        Cause::Trip => to == State::Open,
        Cause::Reset => to == State::Closed,
        Cause::Force => matches!(to, State::ForcedOpen | State::ForcedClosed),
        other => panic!("unknown cause {other:?}"),
    };
    assert!(lawful, "{transition:?}");
    assert_eq!(transition.wait().is_some(), to == State::Open);
}

/// Every state is left as often as it is entered, but for the first and the last.
fn assert_flow(transitions: &[Transition], last: State) {
    let mut balance = HashMap::from([(State::Closed, 1_i64)]);
    for transition in transitions {
        *balance.entry(transition.from()).or_default() -= 1;
        *balance.entry(transition.to()).or_default() += 1;
    }
    for (state, balance) in balance {
        assert_eq!(balance, i64::from(state == last), "{state}");
    }
}
