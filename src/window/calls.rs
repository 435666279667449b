//! A window over the last N calls.
//!
//! One order of all calls is what this window is about, so its recorders meet in one place; to make it one place only,
//! an event is a single compare-and-swap of the block that is being filled:
//!
//! ```text
//! head   63            44 43                                0     block   63          37 36      32 31   16 15     0
//!        +---------------+----------------------------------+             +-------------+----------+-------+--------+
//!        |  ordinal 20   |            block 44              |             |   lap 27    | written 5|  slow | failed |
//!        +---------------+----------------------------------+             +-------------+----------+-------+--------+
//! ```
//!
//! A block holds sixteen events. Only when it is full does `head` move to the next one, so all blocks of a period but the
//! newest are full, and the window is the newest block and as many before it as it takes. Blocks lie in a ring; the lap says
//! which of the blocks in one place of it is meant. A new ordinal begins one lap further on: no block of an older period
//! has the lap that a newer one looks for, and late recorders of the older one find a block that is not theirs and drop out.
//!
//! The ring has a few blocks to spare. A thread that counts so slowly that even those were used anew starts over.
//!
//! Limit: a lap is used again after 2<sup>27</sup> of them. A block that none of those periods reached would be taken
//! for a new one.

#[cfg(not(feature = "std"))]
use alloc::boxed::Box;

use super::{Event, ORDINAL_BITS, Totals, is_present};
use crate::sync::{AtomicU64, Ordering};

pub(super) struct CallRing {
    /// Not padded: it is read together with the origin, and both change rarely.
    head: AtomicU64,
    blocks: Box<[AtomicU64]>,
    calls: u64,
    /// The number of blocks is two to this power.
    ring_bits: u32,
}

impl CallRing {
    pub(super) fn new(calls: u32) -> Self {
        let blocks = ring(calls);
        Self {
            head: AtomicU64::new(0),
            blocks: (0..blocks).map(|_| AtomicU64::new(0)).collect(),
            calls: u64::from(calls),
            ring_bits: blocks.ilog2(),
        }
    }

    #[inline]
    pub(super) fn record(&self, origin: &AtomicU64, ordinal: u64, event: Event) {
        // Acquire, here and below: pairs with the swaps of `head` and of the blocks; a block of a later lap comes with
        // the head that went there (model `calls_two_recorders_and_the_next_block`).
        let mut head = self.head.load(Ordering::Acquire);
        loop {
            if head_ordinal(head) != ordinal {
                if !is_present(origin, ordinal) {
                    return;
                }
                // This is the period's first event. One lap on, no block can be taken for one of the new period.
                let next = ordinal << BLOCK_BITS | (head_block(head) + self.blocks.len() as u64) & BLOCK_MAX;
                head = self.advance(head, next);
                continue;
            }
            let number = head_block(head);
            let block = self.block(number);
            let lap = self.lap(number);
            let mut seen = block.load(Ordering::Acquire);
            loop {
                let before = if seen & LAP == lap {
                    seen
                } else {
                    let now = self.head.load(Ordering::Acquire);
                    if now != head {
                        head = now;
                        break;
                    }
                    // The head is still here, so what the block holds is of an earlier lap.
                    lap
                };
                let place = written(before);
                if place == EVENTS {
                    head = self.advance(head, following(head));
                    break;
                }
                let after = (before + ONE_WRITTEN)
                    | u64::from(event.failed) << place
                    | u64::from(event.slow) << (SLOW_SHIFT + place as u32);
                // AcqRel: pairs with itself and with the loads in `totals`.
                match block.compare_exchange_weak(seen, after, Ordering::AcqRel, Ordering::Acquire) {
                    Ok(_) => {
                        if place + 1 == EVENTS {
                            self.advance(head, following(head));
                        }
                        return;
                    }
                    Err(other) => seen = other,
                }
            }
        }
    }

    /// The sums of the last calls of the period with this ordinal.
    pub(super) fn totals(&self, ordinal: u64) -> Totals {
        loop {
            // Acquire: pairs with the swap in `advance`; all blocks before the head's are full.
            let head = self.head.load(Ordering::Acquire);
            if head_ordinal(head) != ordinal {
                return Totals::default();
            }
            let newest = head_block(head);
            let (totals, blocks) = self.count_from(newest);
            let now = self.head.load(Ordering::Acquire);
            let moved = head_block(now).wrapping_sub(newest) & BLOCK_MAX;
            // After a change of period, nobody waits for these sums.
            if moved + blocks <= self.blocks.len() as u64 || head_ordinal(now) != ordinal {
                return totals;
            }
        }
    }

    /// The sums from this block back, and the number of blocks that were looked at.
    fn count_from(&self, newest: u64) -> (Totals, u64) {
        let mut left = self.calls;
        let mut sums = Sums::default();
        let block = self.block(newest).load(Ordering::Acquire);
        if block & LAP == self.lap(newest) {
            left -= sums.add_newest(block, written(block), left);
        }
        let mut number = newest;
        // Blocks of which all events are in the window, many at a time.
        while left >= EVENTS {
            let last = before(number);
            let place = last as usize & (self.blocks.len() - 1);
            let most = (left / EVENTS).min(place as u64 + 1) as usize;
            let full = (self.lap(last) | FULL) >> WRITTEN_SHIFT;
            let added = sums.add_full(&self.blocks[place + 1 - most..=place], full);
            left -= added * EVENTS;
            number = number.wrapping_sub(added) & BLOCK_MAX;
            if added < most as u64 {
                break;
            }
        }
        // The oldest one; or one that is not full: the period began after it, or it has been used anew.
        number = before(number);
        let block = self.block(number).load(Ordering::Acquire);
        if block >> WRITTEN_SHIFT == (self.lap(number) | FULL) >> WRITTEN_SHIFT {
            left -= sums.add_newest(block, EVENTS, left);
        }
        let totals = Totals { total: self.calls - left, failures: sums.failures, slow: sums.slow };
        (totals, (newest.wrapping_sub(number) & BLOCK_MAX) + 1)
    }

    /// Moves the head, unless somebody else did; returns where it is then.
    #[cold]
    fn advance(&self, head: u64, next: u64) -> u64 {
        // AcqRel: pairs with itself and with the loads of `head`.
        match self.head.compare_exchange(head, next, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => next,
            Err(other) => other,
        }
    }

    #[inline]
    fn block(&self, number: u64) -> &AtomicU64 {
        &self.blocks[number as usize & (self.blocks.len() - 1)]
    }

    /// The lap of a block, where a block keeps it.
    #[inline]
    fn lap(&self, number: u64) -> u64 {
        number >> self.ring_bits << LAP_SHIFT
    }
}

#[derive(Default)]
struct Sums {
    failures: u64,
    slow: u64,
}

impl Sums {
    /// Adds the newest events of a block, `most` at most; returns how many.
    fn add_newest(&mut self, block: u64, written: u64, most: u64) -> u64 {
        let events = written.min(most);
        let mask = ((1 << events) - 1) << (written - events);
        self.failures += u64::from((block & mask).count_ones());
        self.slow += u64::from((block >> SLOW_SHIFT & mask).count_ones());
        events
    }

    /// Adds blocks, the last one first, up to the first that is not full; returns how many.
    ///
    /// Without a machine instruction that counts bits, this is where a verdict over many calls spends its time. So two
    /// blocks share a word, in which the bits of each byte are counted at once, and bytes are added up as long as they
    /// can hold the sum.
    fn add_full(&mut self, blocks: &[AtomicU64], full: u64) -> u64 {
        const PAIRS: usize = 31;
        let mut added = 0;
        for run in blocks.rchunks(2 * PAIRS) {
            let mut bytes = 0;
            let mut pairs = run.rchunks_exact(2);
            for pair in &mut pairs {
                // Acquire: as in `CallRing::record`.
                let (older, newer) = (pair[0].load(Ordering::Acquire), pair[1].load(Ordering::Acquire));
                if (older >> WRITTEN_SHIFT ^ full) | (newer >> WRITTEN_SHIFT ^ full) != 0 {
                    self.add_bytes(bytes);
                    return added + self.add_one(&pair[1], full);
                }
                bytes += ones_of_bytes(older & EVENT_BITS | newer << WRITTEN_SHIFT);
                added += 2;
            }
            self.add_bytes(bytes);
            if let [first] = pairs.remainder() {
                match self.add_one(first, full) {
                    0 => return added,
                    one => added += one,
                }
            }
        }
        added
    }

    /// As [`add_full`](Sums::add_full), for one block.
    fn add_one(&mut self, block: &AtomicU64, full: u64) -> u64 {
        let block = block.load(Ordering::Acquire);
        if block >> WRITTEN_SHIFT != full {
            return 0;
        }
        self.add_newest(block, EVENTS, EVENTS);
        1
    }

    /// Adds bytes that are sums of two blocks' bits: failed, failed, slow, slow, twice.
    fn add_bytes(&mut self, bytes: u64) {
        let ones = bytes.to_le_bytes().map(u64::from);
        self.failures += ones[0] + ones[1] + ones[4] + ones[5];
        self.slow += ones[2] + ones[3] + ones[6] + ones[7];
    }
}

/// The number of ones in each byte, in that byte.
#[inline]
const fn ones_of_bytes(bits: u64) -> u64 {
    const EVERY_2ND: u64 = u64::MAX / 0b11;
    const EVERY_4TH: u64 = u64::MAX / 0b101;
    const EVERY_8TH: u64 = u64::MAX / 0b1_0001;
    let of_two = bits - (bits >> 1 & EVERY_2ND);
    let of_four = (of_two & EVERY_4TH) + (of_two >> 2 & EVERY_4TH);
    (of_four + (of_four >> 4)) & EVERY_8TH
}

/// Events of a block.
const EVENTS: u64 = 16;
const SLOW_SHIFT: u32 = EVENTS as u32;
const WRITTEN_SHIFT: u32 = 2 * EVENTS as u32;
const LAP_SHIFT: u32 = WRITTEN_SHIFT + 5;
const ONE_WRITTEN: u64 = 1 << WRITTEN_SHIFT;
const FULL: u64 = EVENTS << WRITTEN_SHIFT;
/// Both bits of all events.
const EVENT_BITS: u64 = ONE_WRITTEN - 1;
const LAP: u64 = u64::MAX << LAP_SHIFT;

const BLOCK_BITS: u32 = u64::BITS - ORDINAL_BITS;
const BLOCK_MAX: u64 = (1 << BLOCK_BITS) - 1;

/// Blocks beyond those of a window, at least.
const SPARE: u32 = 4;

/// The number of blocks in the ring of a window.
fn ring(calls: u32) -> u32 {
    // The newest block may hold one event, or none yet.
    (calls.div_ceil(EVENTS as u32) + 1 + SPARE).next_power_of_two()
}

#[inline]
const fn head_ordinal(head: u64) -> u64 {
    head >> BLOCK_BITS
}

#[inline]
const fn head_block(head: u64) -> u64 {
    head & BLOCK_MAX
}

#[inline]
const fn before(number: u64) -> u64 {
    number.wrapping_sub(1) & BLOCK_MAX
}

#[inline]
const fn following(head: u64) -> u64 {
    head & !BLOCK_MAX | (head + 1) & BLOCK_MAX
}

#[inline]
const fn written(block: u64) -> u64 {
    block >> WRITTEN_SHIFT & ((1 << (LAP_SHIFT - WRITTEN_SHIFT)) - 1)
}
