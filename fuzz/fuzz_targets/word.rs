//! Any 64 bits as a word, any others as a ticket, any moment: no operation panics or touches what is not its own.

#![no_main]

#[path = "input.rs"]
#[allow(dead_code, reason = "each target uses its part")]
mod input;
#[path = "../../tests/model/mod.rs"]
#[allow(dead_code, reason = "each target uses its part")]
mod model;

use arbitrary::{Arbitrary, Result, Unstructured};
use atomic_breaker::engine::Word;
use libfuzzer_sys::fuzz_target;

use crate::model::Numbers;
use crate::model::engine::limits;
use crate::model::laws::Case;

#[derive(Debug)]
struct Input {
    numbers: Numbers,
    word: u64,
    ticket: u64,
    now: u64,
    precise: u64,
}

impl<'a> Arbitrary<'a> for Input {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let word = u64::arbitrary(u)?;
        let precise = if u.ratio(1, 4)? {
            u64::arbitrary(u)?
        } else {
            // Not far from the word's own time.
            let entered = Word::from_bits(word).entered_ms() * 1_000_000;
            entered.wrapping_add(u64::arbitrary(u)? >> u.int_in_range(0..=50_u32)?)
        };
        let lag = if u.ratio(1, 4)? { u.int_in_range(0..=2_000_000)? } else { 0 };
        Ok(Self {
            word,
            ticket: ticket(u, word)?,
            now: precise.saturating_sub(lag),
            precise,
            numbers: input::numbers(u)?,
        })
    }
}

/// A ticket of that very period, but for what is flipped; or anything.
fn ticket(u: &mut Unstructured<'_>, word: u64) -> Result<u64> {
    const PAYLOAD: u64 = 0xfff << 52;
    let marked = |mark: u64| (word & !PAYLOAD) | (mark << 52) | 0b11;
    let ticket = match u.int_in_range(0..=5)? {
        0 => return u64::arbitrary(u),
        1 => word & !PAYLOAD & !0b11,
        2 => marked(0xffc),
        3 => marked(0xffd),
        _ => marked(0xffe),
    };
    Ok(if u.ratio(1, 3)? { ticket ^ (1 << u.int_in_range(0..=63_u32)?) } else { ticket })
}

fuzz_target!(|input: Input| {
    Case {
        word: Word::from_bits(input.word),
        ticket: input.ticket,
        limits: &limits(&input.numbers),
        slots: input.numbers.slots,
        now: input.now,
        precise: input.precise,
    }
    .check();
});
