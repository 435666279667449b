//! A window over the last buckets of time.
//!
//! Time is cut into buckets of one width; a bucket has a number, `now / width`, and a slot in a ring of more slots than the
//! window has buckets. Each group of threads, a *stripe*, has a ring of its own, so that recorders on different cores do not
//! write to the same cache line; whoever counts sums over all of them. A slot:
//!
//! ```text
//! tag     63           44 43                    8 7            0
//!         +--------------+-----------------------+--------------+
//!         |  ordinal 20  |        lap 36         | generation 8 |
//!         +--------------+-----------------------+--------------+
//! counts  63                             48 47                 0
//!         +--------------------------------+-------------------+       successes, failures, slow successes,
//!         | lap, low 8   |  generation 8   |     count 48      |       slow failures
//!         +--------------------------------+-------------------+
//! ```
//!
//! The tag says whose the slot is: the period's ordinal and, with the slot's place in the ring, the bucket. A count says by
//! the low half of its tag to which of them it belongs. So an event is one compare-and-swap of one count, and neither a
//! new bucket nor a new period has to clear anything before it can be counted in: a count with another tag is an old one
//! and is replaced, together with its tag. Only slots of newer buckets are left alone: an event that comes later than they
//! do has fallen out of the window.
//!
//! Who retags a slot also resets the counts that it found there, so that none is left over until its 16 bits of tag come
//! round again. The generation is there to tell one tag of a slot from the next, whatever time has passed between.
//!
//! # Limits
//!
//! Laps are counted modulo 2<sup>36</sup>: a slot that was last used exactly 4.4 years or more ago, in this same period, can
//! be taken for a present one. A recorder that hangs between reading the tag and the count until the slot has been
//! retagged a multiple of 256 times, and its lap is equal modulo 256, counts its event in the wrong bucket. A clock that
//! stepped back finds slots of newer buckets and has no event counted there until it has caught up, unless it stepped by
//! 2<sup>30</sup> laps or more (24 days for the shortest of windows), which count as past.

#[cfg(not(feature = "std"))]
use alloc::boxed::Box;
use core::array;

use super::{Event, ORDINAL_BITS, Totals, is_present};
use crate::clock::Timestamp;
use crate::sync::{AtomicU64, Ordering, Padded};

pub(super) struct TimeBuckets {
    width: Width,
    buckets: u64,
    /// The number of slots in a ring is two to this power.
    ring_bits: u32,
    /// One less than the number of stripes, which is a power of two.
    stripe_mask: usize,
    /// A bit for each stripe in which anything was ever recorded.
    used: AtomicU64,
    /// Ring after ring. A ring has an even number of slots, so none shares a cache line with another.
    slots: Box<[Padded<[Slot; 2]>]>,
}

impl TimeBuckets {
    pub(super) fn new(width: u64, buckets: u32, stripes: usize) -> Self {
        let ring = ring(buckets);
        let stripes = stripes.clamp(1, MAX_STRIPES).next_power_of_two();
        Self {
            width: Width::new(width),
            buckets: u64::from(buckets),
            ring_bits: ring.ilog2(),
            stripe_mask: stripes - 1,
            used: AtomicU64::new(0),
            slots: (0..ring * stripes / 2).map(|_| Padded::default()).collect(),
        }
    }

    /// The bucket in which a moment lies.
    #[inline]
    pub(super) fn bucket(&self, at: Timestamp) -> u64 {
        self.width.divide(at.as_nanos())
    }

    #[inline]
    pub(super) fn record(&self, origin: &AtomicU64, ordinal: u64, stripe: usize, bucket: u64, event: Event) {
        let stripe = stripe & self.stripe_mask;
        let slot = self.slot(stripe, bucket);
        let wanted = self.wanted(ordinal, bucket);
        loop {
            // Acquire: pairs with the swap in `retag`.
            let mut tag = slot.tag.load(Ordering::Acquire);
            if !is_same(tag, wanted) {
                // AcqRel: pairs with the load in `totals`; whoever finds the tag in place comes after this as well.
                self.used.fetch_or(1 << stripe, Ordering::AcqRel);
                match slot.retag(origin, tag, wanted) {
                    Some(retagged) => tag = retagged,
                    None => return,
                }
            }
            if slot.add(tag, event) {
                return;
            }
        }
    }

    /// The sums of the buckets up to `newest`, and whether one of them had made room for a newer one.
    pub(super) fn totals(&self, ordinal: u64, newest: u64) -> (Totals, bool) {
        let oldest = (newest + 1).saturating_sub(self.buckets);
        let mut sums = [0; KINDS];
        let mut passed = false;
        // Acquire: pairs with the change in `record`.
        let used = self.used.load(Ordering::Acquire);
        for stripe in (0..=self.stripe_mask).filter(|stripe| used >> stripe & 1 != 0) {
            for bucket in oldest..=newest {
                passed |= self.slot(stripe, bucket).add_to(&mut sums, self.wanted(ordinal, bucket));
            }
        }
        let [fine, failed, slow, slow_failed] = sums;
        let totals = Totals {
            total: fine + failed + slow + slow_failed,
            failures: failed + slow_failed,
            slow: slow + slow_failed,
        };
        (totals, passed)
    }

    #[inline]
    fn slot(&self, stripe: usize, bucket: u64) -> &Slot {
        let place = bucket as usize & ((1 << self.ring_bits) - 1);
        let index = stripe << self.ring_bits | place;
        &self.slots[index / 2][index % 2]
    }

    /// The tag of a bucket's slot, without its generation.
    #[inline]
    fn wanted(&self, ordinal: u64, bucket: u64) -> u64 {
        ordinal << ORDINAL_SHIFT | (bucket >> self.ring_bits & LAP_MAX) << LAP_SHIFT
    }
}

#[derive(Debug)]
struct Slot {
    tag: AtomicU64,
    /// By [`kind`].
    counts: [AtomicU64; KINDS],
}

impl Slot {
    /// Makes the slot that of the wanted bucket and returns its tag, `None` if it is a newer bucket's or the period is
    /// over.
    #[cold]
    fn retag(&self, origin: &AtomicU64, mut tag: u64, wanted: u64) -> Option<u64> {
        loop {
            if is_same(tag, wanted) {
                return Some(tag);
            }
            if is_passed_by(wanted, tag) || !is_present(origin, wanted >> ORDINAL_SHIFT) {
                return None;
            }
            // Acquire, before the swap of the tag: what is found here belongs to `tag` or an older one.
            let found: [u64; KINDS] = array::from_fn(|kind| self.counts[kind].load(Ordering::Acquire));
            let next = wanted | tag.wrapping_add(1) & GENERATION_MAX;
            // AcqRel: pairs with itself and with the loads of the tag.
            match self.tag.compare_exchange(tag, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    for (count, found) in self.counts.iter().zip(found) {
                        reset(count, found, next);
                    }
                    return Some(next);
                }
                Err(other) => tag = other,
            }
        }
    }

    /// Counts an event under this tag, unless the slot has another one by now.
    #[inline]
    fn add(&self, tag: u64, event: Event) -> bool {
        let count = &self.counts[kind(event)];
        // Acquire, here and below: pairs with the swaps of counts; a count of a newer tag comes with that tag.
        let mut seen = count.load(Ordering::Acquire);
        loop {
            let next = if is_under(tag, seen) {
                // It would take 65 days of 50 million events a second.
                if seen & COUNT_MAX == COUNT_MAX {
                    return true;
                }
                seen + 1
            } else if self.tag.load(Ordering::Acquire) == tag {
                // The tag is still this one, so the count is of an older one.
                under(tag) | 1
            } else {
                return false;
            };
            // AcqRel: pairs with itself and with the loads of counts.
            match count.compare_exchange_weak(seen, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return true,
                Err(other) => seen = other,
            }
        }
    }

    /// Adds the counts to `sums` if the slot is the wanted bucket's. Returns whether it is a newer one's, or became one.
    #[inline]
    fn add_to(&self, sums: &mut [u64; KINDS], wanted: u64) -> bool {
        // Acquire: pairs with the swap in `retag`.
        let tag = self.tag.load(Ordering::Acquire);
        if !is_same(tag, wanted) {
            return is_passed_by(wanted, tag);
        }
        let mut all = true;
        for (sum, count) in sums.iter_mut().zip(&self.counts) {
            // Acquire: as in `add`.
            let seen = count.load(Ordering::Acquire);
            if is_under(tag, seen) {
                *sum += seen & COUNT_MAX;
            } else {
                all = false;
            }
        }
        !all && self.tag.load(Ordering::Acquire) != tag
    }
}

impl Default for Slot {
    fn default() -> Self {
        Self { tag: AtomicU64::new(0), counts: array::from_fn(|_| AtomicU64::new(0)) }
    }
}

/// Resets a count that was found before its slot got the tag `next`, and all that late recorders add to it. A count under
/// any other tag is a newer one and stays.
fn reset(count: &AtomicU64, found: u64, next: u64) {
    let mut seen = found;
    while seen >> COUNT_BITS == found >> COUNT_BITS && !is_under(next, seen) {
        // AcqRel: as in `Slot::add`.
        match count.compare_exchange(seen, under(next), Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return,
            Err(other) => seen = other,
        }
    }
}

/// Divides by a number that stays the same, without a division.
struct Width {
    nanos: u64,
    /// 2<sup>64</sup> / `nanos`, at most one too small.
    reciprocal: u64,
}

impl Width {
    fn new(nanos: u64) -> Self {
        Self { nanos, reciprocal: u64::MAX / nanos }
    }

    #[inline]
    fn divide(&self, nanos: u64) -> u64 {
        // The reciprocal is too small by less than 1, the product by less than 1 as well: one step makes up for it.
        let quotient = ((u128::from(nanos) * u128::from(self.reciprocal)) >> u64::BITS) as u64;
        let rest = nanos - quotient * self.nanos;
        quotient + u64::from(rest >= self.nanos)
    }
}

/// As many as there are bits to say which are used.
const MAX_STRIPES: usize = u64::BITS as usize;

/// Which of a slot's counts an event goes to.
#[inline]
const fn kind(event: Event) -> usize {
    event.failed as usize | (event.slow as usize) << 1
}

const KINDS: usize = 4;

const GENERATION_BITS: u32 = 8;
const GENERATION_MAX: u64 = (1 << GENERATION_BITS) - 1;
const LAP_SHIFT: u32 = GENERATION_BITS;
const LAP_BITS: u32 = 36;
const LAP_MAX: u64 = (1 << LAP_BITS) - 1;
const ORDINAL_SHIFT: u32 = LAP_SHIFT + LAP_BITS;
const COUNT_BITS: u32 = 48;
const COUNT_MAX: u64 = (1 << COUNT_BITS) - 1;

/// Laps by which a slot may be ahead of a clock that stepped back; one further ahead is taken for a past one.
const STEP_BACK: u64 = 1 << 30;

const _: () = assert!(ORDINAL_SHIFT + ORDINAL_BITS == u64::BITS, "the fields fill the tag");

/// The number of slots in a ring: at least one to spare, for those who still count while a new bucket begins.
fn ring(buckets: u32) -> usize {
    (buckets as usize + 1).next_power_of_two()
}

/// Whether two tags are of the same period and bucket.
#[inline]
const fn is_same(tag: u64, wanted: u64) -> bool {
    (tag ^ wanted) >> GENERATION_BITS == 0
}

/// Whether a slot's tag is of a newer bucket of the same period.
#[inline]
const fn is_passed_by(wanted: u64, tag: u64) -> bool {
    let ahead = (tag >> LAP_SHIFT).wrapping_sub(wanted >> LAP_SHIFT) & LAP_MAX;
    tag >> ORDINAL_SHIFT == wanted >> ORDINAL_SHIFT && ahead > 0 && ahead < STEP_BACK
}

/// A count of zero under a tag.
#[inline]
const fn under(tag: u64) -> u64 {
    tag << COUNT_BITS
}

/// Whether a count is under a tag.
#[inline]
const fn is_under(tag: u64, count: u64) -> bool {
    (count ^ under(tag)) >> COUNT_BITS == 0
}
