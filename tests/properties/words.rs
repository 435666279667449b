//! Any 64 bits are a word, and no operation on one panics or touches a field that is not its own.

use proptest::prelude::*;

use atomic_breaker::engine::{Limits, Word};

use crate::cases;
use crate::model::engine::limits;
use crate::model::laws::Case;
use crate::numbers::numbers;

proptest! {
    #![proptest_config(cases(4_000))]

    #[test]
    fn every_operation_keeps_to_its_fields(
        word in words(),
        kin in kin(),
        numbers in numbers(),
        now in any::<u64>(),
        near in any::<bool>(),
        offset in 0..3_000_000_000_u64,
        lag in prop_oneof![Just(0), 0..2_000_000_u64],
    ) {
        let entered = Word::from_bits(word).entered_ms() * 1_000_000;
        let precise = if near { entered.saturating_add(offset) } else { now };
        Case {
            word: Word::from_bits(word),
            ticket: kin.ticket(word),
            limits: &limits(&numbers),
            slots: numbers.slots,
            now: precise.saturating_sub(lag),
            precise,
        }
        .check();
    }
}

/// Where a counter would run over, if it could.
#[test]
#[cfg_attr(miri, ignore = "arithmetic, which Miri has nothing to say about")]
fn full_fields_stay_full() {
    let limits = Limits::builder().half_open_max_calls(63).success_threshold(63).failure_threshold(4095);
    let limits = limits.build().unwrap();
    let entered = 0xf_ffff_ffff_u64 << 2;
    for state in 0..4 {
        for payload in [0, 1, 2, 3, 0x3f, 0xfc0, 0xfff] {
            let word = state | entered | 0xff << 38 | 0x3f << 46 | payload << 52;
            for mark in 0xffb..=0xfff {
                let ticket = (word | 3) & !(0xfff << 52) | mark << 52;
                let precise = (1 << 36) * 1_000_000;
                Case {
                    word: Word::from_bits(word),
                    ticket,
                    limits: &limits,
                    slots: Some(63),
                    now: precise,
                    precise,
                }
                .check();
            }
        }
    }
}

/// Random bits, half of them with a payload near an end.
fn words() -> impl Strategy<Value = u64> {
    let ends = prop_oneof![Just(0_u64), Just(1), Just(2), Just(3), Just(0x3f), Just(0xfc1), Just(0xfff)];
    (any::<u64>(), proptest::option::of(ends)).prop_map(|(bits, end)| match end {
        Some(payload) => bits & !(0xfff << 52) | payload << 52,
        None => bits,
    })
}

/// How a ticket is related to the word that it meets: a stranger, or the word with some fields changed.
#[derive(Clone, Debug)]
struct Kin {
    stranger: Option<u64>,
    state: u64,
    payload: Option<u64>,
    flipped: u64,
}

impl Kin {
    fn ticket(&self, word: u64) -> u64 {
        if let Some(stranger) = self.stranger {
            return stranger;
        }
        let kept = word & !0b11 | self.state;
        let marked = match self.payload {
            Some(payload) => kept & !(0xfff << 52) | payload << 52,
            None => kept,
        };
        marked ^ self.flipped
    }
}

prop_compose! {
    fn kin()(
        stranger in proptest::option::weighted(0.1, any::<u64>()),
        state in prop_oneof![1 => Just(0_u64), 3 => Just(3), 1 => 0..4_u64],
        payload in proptest::option::weighted(0.9, prop_oneof![1 => Just(0_u64), 4 => 0xffb..=0xfff_u64]),
        flipped in prop_oneof![4 => Just(0), 2 => (0..64_u32).prop_map(|bit| 1 << bit)],
    ) -> Kin {
        Kin { stranger, state, payload, flipped }
    }
}
