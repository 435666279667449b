use super::*;

const ALL: [u64; 6] =
    [0, u64::MAX, 0x5555_5555_5555_5555, 0xaaaa_aaaa_aaaa_aaaa, 1 << 63, 0xfff0_0000_0000_0003];

#[test]
fn the_fields_lie_where_the_drawing_says() {
    assert_eq!((STATE.shift, STATE.bits), (0, 2));
    assert_eq!((ENTERED.shift, ENTERED.bits), (2, 36));
    assert_eq!((TURN.shift, TURN.bits), (38, 8));
    assert_eq!((REOPENS.shift, REOPENS.bits), (46, 6));
    assert_eq!((PAYLOAD.shift, PAYLOAD.bits), (52, 12));
    assert_eq!((IN_FLIGHT.shift, IN_FLIGHT.bits), (52, 6));
    assert_eq!((SUCCESSES.shift, SUCCESSES.bits), (58, 6));
}

#[test]
fn putting_a_field_touches_no_other() {
    for field in [STATE, ENTERED, TURN, REOPENS, PAYLOAD, IN_FLIGHT, SUCCESSES] {
        for bits in ALL {
            for value in ALL {
                let put = field.put(bits, value);
                assert_eq!(field.get(put), value & field.max());
                assert_eq!(put & !field.mask(), bits & !field.mask());
            }
        }
    }
}

#[test]
fn modes_decode() {
    let forced = |payload| Word(PAYLOAD.put(FORCED, payload)).mode();
    assert_eq!(Word(CLOSED).mode(), Mode::Closed);
    assert_eq!(Word(HALF_OPEN).mode(), Mode::HalfOpen);
    assert_eq!(Word(OPEN).mode(), Mode::Open);
    assert_eq!(forced(0), Mode::ForcedOpen);
    assert_eq!(forced(1), Mode::ForcedClosed);
    assert_eq!(forced(2), Mode::Retired);
    assert_eq!(forced(3), Mode::ForcedOpen);
    assert_eq!(forced(0xfff), Mode::ForcedOpen);
}

#[test]
fn counts_read_zero_in_states_that_do_not_count_them() {
    for state in [CLOSED, HALF_OPEN, OPEN, FORCED] {
        let word = Word(PAYLOAD.put(state, 0b1000_1100_0101));
        assert_eq!(word.failures(), if state == CLOSED { 0b1000_1100_0101 } else { 0 });
        assert_eq!(word.probes_in_flight(), if state == HALF_OPEN { 0b00_0101 } else { 0 });
        assert_eq!(word.probe_successes(), if state == HALF_OPEN { 0b10_0011 } else { 0 });
    }
}

#[test]
fn only_a_closed_word_without_failures_is_untouched() {
    assert!(Word(0).is_untouched());
    assert!(Word(0).to_open(7, 3, 9).to_closed(8).is_untouched());
    assert!(!Word(0).with_failures(1).is_untouched());
    assert!(!Word(0).to_open(0, 0, 0).is_untouched());
    assert!(!Word(0).to_half_open(0, 0).is_untouched());
    assert!(!Word(0).to_forced_open(0).is_untouched());
    assert!(!Word(0).to_retired().is_untouched());
}

#[test]
fn turns_wrap_and_reopens_saturate() {
    let last = Word(TURN.put(0, 255));
    assert_eq!(last.to_closed(0).turn(), 0);
    assert_eq!(Word(0).to_open(0, MAX_REOPENS, 0).reopens(), 63);
    assert_eq!(Word(0).to_open(0, MAX_REOPENS + 1, 0).reopens(), 63);
}

#[test]
fn a_new_state_counts_nothing_of_the_old_one() {
    let busy = Word(u64::MAX);
    assert_eq!(busy.to_closed(1).payload(), 0);
    assert_eq!(busy.to_closed(1).reopens(), 0);
    assert_eq!(busy.to_half_open(1, 1).payload(), 1);
    assert_eq!(busy.to_half_open(1, 1).reopens(), 63);
    assert_eq!(busy.to_open(1, 2, 3).payload(), 3);
    assert_eq!(busy.to_forced_open(1).payload(), FORCED_OPEN);
    assert_eq!(busy.to_forced_closed(1).payload(), FORCED_CLOSED);
    assert_eq!(busy.to_forced_closed(1).reopens(), 0);
    assert_eq!(busy.to_retired().payload(), RETIRED);
    assert_eq!(busy.to_retired().entered_ms(), busy.entered_ms());
}

#[test]
fn elapsed_time_wraps_and_a_step_back_reads_as_none() {
    let entered = |ms| Word(ENTERED.put(0, ms));
    assert_eq!(entered(5).elapsed_ms(5), 0);
    assert_eq!(entered(5).elapsed_ms(12), 7);
    assert_eq!(entered(ENTERED.max()).elapsed_ms(ENTERED_SPAN + 1), 2);
    assert_eq!(entered(ENTERED.max()).elapsed_ms(1), 2);
    assert_eq!(entered(5).elapsed_ms(4), 0);
    assert_eq!(entered(5).elapsed_ms(ENTERED_SPAN + 4), 0);
    assert_eq!(entered(STEP_BACK).elapsed_ms(0), 0);
    assert_eq!(entered(STEP_BACK + 1).elapsed_ms(0), ENTERED_SPAN - STEP_BACK - 1);
}

#[test]
fn the_millisecond_before_entering_is_recognised_across_the_wrap() {
    assert!(Word(ENTERED.put(0, 5)).is_entered_next(4));
    assert!(!Word(ENTERED.put(0, 5)).is_entered_next(5));
    assert!(!Word(ENTERED.put(0, 5)).is_entered_next(3));
    assert!(Word(0).is_entered_next(ENTERED.max()));
    assert!(Word(ENTERED.put(0, ENTERED.max())).is_entered_next(ENTERED_SPAN + ENTERED.max() - 1));
}

#[test]
fn a_ticket_equals_only_an_untouched_word_of_its_own_closed_period() {
    let closed = Word(0).to_open(3, 0, 9).to_closed(7);
    let ticket = Ticket::closed(closed);
    assert!(ticket.is_quiet_in(closed));
    assert!(!ticket.is_quiet_in(closed.with_failures(1)));
    assert!(!ticket.is_quiet_in(closed.to_open(7, 0, 0).to_closed(7)));
    let half_open = Word(0).to_half_open(7, 1);
    for word in [half_open, Word(0).to_forced_closed(7), Word(0).to_forced_open(7), Word(0).to_retired()] {
        for ticket in [Ticket::slot(word), Ticket::probe(word), Ticket::forced(word), Ticket::STALE] {
            assert!(!ticket.is_quiet_in(word), "{ticket:?} in {word:?}");
        }
    }
}

#[test]
fn tickets_are_current_in_their_own_period() {
    let closed = Word(0).to_closed(7);
    assert!(Ticket::closed(closed).is_current_in(closed.with_failures(4)));
    assert!(!Ticket::closed(closed).is_current_in(closed.to_closed(7)), "another turn");
    assert!(!Ticket::closed(closed).is_current_in(Word(ENTERED.put(closed.0, 8))), "another moment");
    assert!(!Ticket::closed(closed).is_current_in(Word(STATE.put(closed.0, FORCED))), "another state");

    let half_open = Word(0).to_open(7, 5, 0).to_half_open(9, 1);
    for ticket in [Ticket::slot(half_open), Ticket::probe(half_open)] {
        assert!(ticket.is_current_in(half_open.with_lease(1_000).with_probes(3, 2)));
        assert!(!ticket.is_current_in(Word(REOPENS.put(half_open.0, 6))), "another back-off step");
        assert!(!ticket.is_current_in(Word(TURN.put(half_open.0, 6))), "another turn");
        assert!(!ticket.is_current_in(Word(STATE.put(half_open.0, OPEN))), "another state");
    }

    let forced = Word(0).to_forced_closed(7);
    assert!(Ticket::forced(forced).is_current_in(forced));
    assert!(!Ticket::forced(forced).is_current_in(forced.to_forced_closed(7)));
    assert!(!Ticket::forced(forced).is_current_in(Word(ENTERED.put(forced.0, 8))));
}

#[test]
fn a_stale_ticket_and_foreign_bits_are_current_nowhere() {
    let foreign = [
        Ticket::STALE,
        Ticket::from_bits(HALF_OPEN),
        Ticket::from_bits(OPEN),
        Ticket::from_bits(FORCED),
        Ticket::from_bits(PAYLOAD.put(CLOSED, 1)),
    ];
    for ticket in &foreign {
        assert_eq!(*ticket, Ticket::STALE);
    }
    for ticket in foreign {
        for state in [CLOSED, HALF_OPEN, OPEN, FORCED] {
            for payload in [0, 1, 2, PAYLOAD.max()] {
                let word = Word(PAYLOAD.put(STATE.put(ticket.duplicate().to_bits(), state), payload));
                assert!(!ticket.is_current_in(word), "{ticket:?} in {word:?}");
            }
        }
    }
}

#[test]
fn tickets_survive_a_round_trip_through_their_bits() {
    let word = Word(0).to_open(7, 5, 0).to_half_open(9, 1);
    let tickets = [
        Ticket::closed(Word(0).to_closed(7)),
        Ticket::slot(word),
        Ticket::probe(word),
        Ticket::forced(Word(0).to_forced_closed(7)),
        Ticket::STALE,
    ];
    for ticket in tickets {
        assert_eq!(Ticket::from_bits(ticket.duplicate().to_bits()), ticket);
    }
}

#[test]
fn a_slot_is_held_until_its_lease_is_over() {
    let word = Word(0).to_half_open(7, 1);
    assert!(Ticket::slot(word).took_slot());
    assert!(Ticket::slot(word).holds_slot_in(word));
    assert!(!Ticket::slot(word).holds_slot_in(word.with_lease(8)));
    for ticket in [Ticket::probe(word), Ticket::forced(word), Ticket::closed(Word(0)), Ticket::STALE] {
        assert!(!ticket.took_slot(), "{ticket:?}");
        assert!(!ticket.holds_slot_in(word), "{ticket:?}");
    }
}

#[test]
fn debug_prints_fields_and_not_bits() {
    let word = Word(0).to_open(7, 2, 5).to_half_open(9, 1);
    assert_eq!(
        format!("{word:?}"),
        "Word { mode: HalfOpen, entered_ms: 9, turn: 2, reopens: 2, in_flight: 1, successes: 0 }"
    );
    assert_eq!(
        format!("{:?}", Ticket::slot(word)),
        "Ticket { granted: \"half_open, slot taken\", entered_ms: 9, turn: 2, reopens: 2 }"
    );
    for (ticket, granted) in [
        (Ticket::closed(Word(0)), "closed"),
        (Ticket::probe(word), "half_open"),
        (Ticket::forced(Word(0).to_forced_closed(1)), "forced_closed"),
    ] {
        let shown = format!("{ticket:?}");
        assert!(shown.starts_with(&format!("Ticket {{ granted: \"{granted}\", ")), "{shown}");
    }
    assert_eq!(format!("{:?}", Ticket::STALE), "Ticket(stale from birth)");
}
