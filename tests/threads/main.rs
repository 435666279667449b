//! Real threads on one breaker. What is checked is conserved under any interleaving: slots, answers, events.
//!
//! Work is bounded by counts, never by time; where time matters, somebody moves a manual clock.

#![cfg(feature = "std")]

mod deadline;
mod late;
mod ledger;
mod reconfigure;
mod storm;

/// So many rounds, and next to none under Miri.
fn rounds(many: u32) -> u32 {
    if cfg!(miri) { (many / 1_000).max(2) } else { many }
}

/// Numbers that look random enough to mix operations (xorshift).
struct Dice(u64);

impl Dice {
    fn new(seed: u32) -> Self {
        let mut dice = Self((u64::from(seed) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        dice.roll(1);
        dice
    }

    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % sides
    }
}
