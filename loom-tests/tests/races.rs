//! Races by name, judged by what they are about as well as by their orders.

#![cfg(loom)]

use std::sync::Arc;

use atomic_breaker::Outcome::{Failure, Ignored, Success};
use atomic_breaker::{Reason, Settled, State};
use loom_tests::Held::{Current, WrittenOff};
use loom_tests::{Finish, Op, Pace, Race, Situation, Tally, Told, WAIT, situations};

#[test]
fn callers_at_the_deadline_get_the_slots_and_no_more() {
    let tally = Tally::of("callers at the deadline");
    for slots in 1..=3 {
        for callers in 2..=4 {
            race(situations::due(slots), &vec![&[Op::Acquire][..]; callers]).explore_and(
                &tally,
                move |finish| {
                    let admitted = callers.min(slots as usize);
                    assert_eq!(finish.admitted(), admitted, "as many as there are slots");
                    assert_eq!(
                        finish.rejected(Reason::HalfOpen),
                        callers - admitted,
                        "the others find them taken"
                    );
                    assert_eq!(finish.word().probes_in_flight() as usize, admitted);
                    assert_eq!(
                        hops(finish),
                        [(State::Open, State::HalfOpen)],
                        "one of them half-opened the circuit"
                    );
                },
            );
        }
    }
}

#[test]
fn callers_of_an_overdue_circuit_get_the_slots_once_more() {
    let tally = Tally::of("callers of an overdue circuit");
    for slots in 1..=3 {
        for callers in 2..=3 {
            race(situations::overdue(slots), &vec![&[Op::Acquire][..]; callers]).explore_and(
                &tally,
                move |finish| {
                    let admitted = callers.min(slots as usize);
                    assert_eq!(finish.admitted(), admitted, "one lease is not written off twice");
                    assert_eq!(finish.word().probes_in_flight() as usize, admitted);
                    assert!(finish.changes().is_empty(), "half-open it was and is");
                },
            );
        }
    }
}

#[test]
fn callers_of_an_idle_circuit_share_one_lease() {
    let tally = Tally::of("callers of an idle circuit");
    for slots in 1..=3 {
        race(situations::idle(slots), &[&[Op::Acquire][..]; 3]).explore_and(&tally, move |finish| {
            assert_eq!(finish.admitted(), slots as usize);
            assert_eq!(finish.word().probes_in_flight(), slots);
        });
    }
}

#[test]
fn failures_at_the_threshold_open_once() {
    let tally = Tally::of("failures at the threshold");
    for (situation, short) in situations::closed().into_iter().zip([3, 3, 2, 1]) {
        for failing in 2..=3 {
            let fail: &[Op] = &[Op::Settle(Current, Failure)];
            race(situation.clone(), &vec![fail; failing]).explore_and(&tally, move |finish| {
                let opens = failing >= short;
                assert_eq!(finish.settled(Settled::Opened), usize::from(opens), "one of them opens");
                assert_eq!(finish.settled(Settled::Applied), failing.min(short - 1), "those before it count");
                assert_eq!(
                    finish.settled(Settled::Stale),
                    failing.saturating_sub(short),
                    "those after it do not"
                );
                let opening: &[_] = if opens { &[(State::Closed, State::Open)] } else { &[] };
                assert_eq!(hops(finish), opening, "whoever opens it is told so, and nobody else");
            });
        }
    }
}

#[test]
fn a_success_beside_the_failure_at_the_threshold_comes_before_it_or_too_late() {
    let tally = Tally::of("success beside the last failure");
    let scripts: [&[Op]; 2] = [&[Op::Settle(Current, Success)], &[Op::Settle(Current, Failure)]];
    race(situations::one_below_the_threshold(), &scripts).explore_and(&tally, |finish| {
        match (outcome(finish, 0), outcome(finish, 1)) {
            (Settled::Applied, Settled::Applied) => assert_eq!(finish.word().failures(), 1, "counted anew"),
            (Settled::Stale, Settled::Opened) => assert_eq!(finish.word().state(), State::Open),
            other => panic!("no order tells them {other:?}"),
        }
    });
}

#[test]
fn a_trip_beside_the_success_that_would_close_leaves_the_circuit_open() {
    let tally = Tally::of("trip beside the closing success");
    let scripts: [&[Op]; 2] = [&[Op::Trip], &[Op::Settle(Current, Success)]];
    race(situations::one_success_short(), &scripts).explore_and(&tally, |finish| {
        assert_eq!(finish.word().state(), State::Open);
        match outcome(finish, 1) {
            Settled::Closed => {
                assert_eq!(hops(finish), [(State::HalfOpen, State::Closed), (State::Closed, State::Open)]);
            }
            Settled::Stale => assert_eq!(hops(finish), [(State::HalfOpen, State::Open)]),
            other => panic!("no order tells the success {other:?}"),
        }
    });
}

#[test]
fn a_late_drop_beside_a_reset_frees_nothing() {
    let tally = Tally::of("late drop beside a reset");
    let drop: &[Op] = &[Op::Settle(Current, Ignored)];
    for situation in situations::half_open() {
        let situation = Arc::new(situation);
        if let Some(race) = Race::new(&situation, &[drop, &[Op::Reset]]) {
            race.explore_and(&tally, |finish| {
                assert!(finish.word().is_untouched(), "a drop counts nothing in the new period");
            });
        }
        // The next half-open period has a probe of its own.
        let later: &[Op] = &[Op::Reset, Op::Trip, Op::Tick(5 * WAIT), Op::Acquire];
        if let Some(race) = Race::new(&situation, &[drop, later]) {
            let unlimited = situation.setting.slots.is_none();
            race.pace(Pace::Exact).explore_and(&tally, move |finish| {
                assert_eq!(finish.word().state(), State::HalfOpen);
                assert_eq!(finish.word().probes_in_flight(), u32::from(!unlimited));
            });
        }
    }
}

#[test]
fn an_overdue_report_frees_no_slot_of_the_lease_that_replaced_its_own() {
    let tally = Tally::of("overdue report beside the write-off");
    for slots in 1..=2_u32 {
        let situation = situations::overdue(slots);
        let report: &[Op] = &[Op::Settle(Current, Ignored)];
        race(situation.clone(), &[report, &[Op::Acquire]]).explore_and(&tally, move |finish| {
            assert_eq!(finish.admitted(), 1, "there is a free slot, or the lease is over");
            // Written off, or given back and taken again: the other old probe holds its slot only in the second case.
            let in_flight = finish.word().probes_in_flight();
            assert!((1..=slots).contains(&in_flight), "{in_flight} in flight");
        });
    }
    let old: &[Op] = &[Op::Settle(WrittenOff, Ignored)];
    let old_success: &[Op] = &[Op::Settle(WrittenOff, Success)];
    race(situations::written_off(), &[old, &[Op::Acquire]]).explore_and(&tally, |finish| {
        assert_eq!(finish.rejected(Reason::HalfOpen), 1, "the drop of a written-off probe makes no room");
        assert_eq!(finish.word().probes_in_flight(), 1);
    });
    race(situations::written_off(), &[old_success, &[Op::Acquire]]).explore_and(&tally, |finish| {
        assert_eq!(finish.rejected(Reason::HalfOpen), 1, "nor does its success");
        assert_eq!(finish.word().probe_successes(), 1, "which counts nevertheless");
    });
    let current: &[Op] = &[Op::Settle(Current, Ignored)];
    race(situations::written_off(), &[old, current, &[Op::Acquire]]).explore_and(&tally, |finish| {
        let in_flight = finish.word().probes_in_flight() as usize;
        assert_eq!(in_flight, finish.admitted(), "only the new probe, if there is one");
    });
}

#[test]
fn an_overdue_verdict_counts_once_whether_written_off_or_not() {
    let tally = Tally::of("overdue verdict beside the write-off");
    for (outcome, state) in [(Success, State::Closed), (Failure, State::Open)] {
        let scripts: [&[Op]; 2] = [&[Op::Settle(Current, outcome)], &[Op::Acquire]];
        race(situations::overdue(1), &scripts).explore_and(&tally, move |finish| {
            assert_eq!(hops(finish), [(State::HalfOpen, state)]);
            assert_eq!(finish.word().state(), state);
        });
    }
}

#[test]
fn slots_are_all_free_when_every_probe_has_reported() {
    let tally = Tally::of("conservation of slots");
    for slots in 1..=3 {
        let come_and_go: &[Op] = &[Op::Acquire, Op::Report(Ignored)];
        for (situation, callers) in [(situations::idle(slots), 3), (situations::due(slots), 3)] {
            race(situation, &vec![come_and_go; callers]).explore_and(&tally, |finish| {
                assert_eq!(finish.word().state(), State::HalfOpen);
                assert_eq!(finish.word().probes_in_flight(), 0);
            });
        }
        let twice: &[Op] = &[Op::Acquire, Op::Report(Ignored), Op::Acquire, Op::Report(Ignored)];
        race(situations::idle(slots), &[twice, twice]).preemptions(4).explore_and(&tally, |finish| {
            assert_eq!(finish.word().probes_in_flight(), 0);
        });
    }
}

#[test]
fn every_change_of_state_is_handed_out_once() {
    let tally = Tally::of("changes");
    let rows: [&[Op]; 6] = [
        &[Op::Trip, Op::ForceClosed],
        &[Op::ForceOpen, Op::Trip],
        &[Op::Trip, Op::Reset],
        &[Op::ForceClosed, Op::Reset],
        &[Op::Acquire, Op::Report(Failure)],
        &[Op::Acquire, Op::Report(Success)],
    ];
    let untouched = || situations::closed().remove(0);
    for (n, one) in rows.iter().enumerate() {
        for (m, two) in rows.iter().enumerate().skip(n) {
            race(untouched(), &[one, two]).explore_and(&tally, handed_out_once);
            race(situations::due(1), &[one, two]).explore_and(&tally, handed_out_once);
            for three in &rows[m..] {
                race(untouched(), &[one, two, three]).preemptions(2).explore_and(&tally, handed_out_once);
            }
        }
    }
}

/// The changes that were handed out are the hops from the first state to the last. Not for circuits that count
/// failures: a reset of those is a transition without a change.
fn handed_out_once(finish: &Finish) {
    let hops = hops(finish);
    let states = finish.order.words.iter().map(|word| word.state()).collect::<Vec<_>>();
    let in_order = states.windows(2).filter(|pair| pair[0] != pair[1]).map(|pair| (pair[0], pair[1]));
    assert_eq!(hops, in_order.collect::<Vec<_>>());
    let mut turns: Vec<u8> = finish.changes().iter().map(|change| change.after.turn()).collect();
    turns.dedup();
    assert_eq!(turns.len(), hops.len(), "no turn is handed out twice");
}

/// The changes of state, first to last.
fn hops(finish: &Finish) -> Vec<(State, State)> {
    finish.changes().iter().map(|change| (change.from(), change.to())).collect()
}

/// What became of the outcome that an actor reported.
fn outcome(finish: &Finish, actor: usize) -> Settled {
    let settled = finish.told(actor).find_map(|told| match told {
        Told::Settled(settlement) => Some(settlement.settled),
        _ => None,
    });
    settled.expect("this actor settles")
}

/// Two actors in every execution, three with at most three preemptions, four with two.
fn race(situation: Situation, scripts: &[&[Op]]) -> Race {
    let race = Race::new(&Arc::new(situation), scripts).expect("the situation has these tickets");
    match scripts.len() {
        2 => race,
        3 => race.preemptions(3),
        _ => race.preemptions(2),
    }
}
