//! The numbers as machine words: what one decision needs, in one `u64`.

use core::fmt;
use core::time::Duration;

use crate::word::{DRAW_BITS, MAX_FAILURES, MAX_PROBES};

/// The longest time that can be configured: 365 days.
pub(crate) const MAX_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// In place of a number of slots.
pub(super) const UNLIMITED: u32 = 0;
/// In place of a probe timeout.
pub(super) const NEVER: u64 = 0;
/// The fixed-point one of a jitter share.
pub(super) const JITTER_ONE: u32 = 1 << JITTER_FRACTION;
const JITTER_FRACTION: u32 = 16;

// All three packed words keep the same things in the same bits:
//
//   tags 2 | probes 1 | table 1 | jitter 17 | slots 6 | time 35     open, half-open
//   tags 2 |                              successes 6 | failures 12  settling
//
// `table` says that the numbers of the back-off step hold in place of these; `probes` says, of those, that half-open
// circuits go by them, too.
const TIME_BITS: u32 = 35;
const SLOTS_SHIFT: u32 = TIME_BITS;
const SLOTS_BITS: u32 = 6;
const JITTER_SHIFT: u32 = SLOTS_SHIFT + SLOTS_BITS;
const JITTER_BITS: u32 = JITTER_FRACTION + 1;
const TABLE_SHIFT: u32 = JITTER_SHIFT + JITTER_BITS;
const PROBES_SHIFT: u32 = TABLE_SHIFT + 1;
const TAGS_SHIFT: u32 = 62;
const FAILURES_BITS: u32 = 12;
const SUCCESSES_BITS: u32 = 6;

const _: () = {
    let longest_ms = MAX_TIMEOUT.as_millis() as u64;
    assert!(longest_ms < 1 << TIME_BITS, "every time fits");
    assert!(MAX_PROBES < 1 << SLOTS_BITS && MAX_PROBES < 1 << SUCCESSES_BITS, "every count of probes fits");
    assert!(MAX_FAILURES < 1 << FAILURES_BITS, "every threshold fits");
    assert!(PROBES_SHIFT < TAGS_SHIFT, "the fields do not overlap");
    let largest_product = longest_ms as u128 * JITTER_ONE as u128 * ((1u128 << DRAW_BITS) - 1);
    assert!(largest_product <= u64::MAX as u128, "jitter cannot overflow");
};

const fn low(bits: u64, width: u32) -> u64 {
    bits & ((1 << width) - 1)
}

/// What a breaker keeps beside the numbers, read with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tags {
    /// Somebody wants to hear of rejections and transitions.
    pub(crate) observed: bool,
    /// What would be rejected is admitted.
    pub(crate) shadow: bool,
}

impl Tags {
    #[cfg(feature = "std")]
    pub(crate) const MASK: u64 = 0b11 << TAGS_SHIFT;

    #[inline]
    pub(crate) const fn bits(self) -> u64 {
        (self.observed as u64 | (self.shadow as u64) << 1) << TAGS_SHIFT
    }

    #[inline]
    pub(crate) const fn of(bits: u64) -> Self {
        Self { observed: bits >> TAGS_SHIFT & 1 != 0, shadow: bits >> TAGS_SHIFT & 2 != 0 }
    }
}

/// What it takes to keep a packed word in an atomic.
macro_rules! packed {
    ($name:ident) => {
        #[cfg(feature = "std")]
        impl $name {
            pub(crate) const fn from_bits(bits: u64) -> Self {
                Self(bits)
            }

            pub(crate) const fn to_bits(self) -> u64 {
                self.0
            }

            pub(crate) const fn tagged(self, tags: Tags) -> Self {
                Self(self.0 | tags.bits())
            }
        }
    };
}

/// The numbers that settle an outcome.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SettleLimits(u64);

packed!(SettleLimits);

impl SettleLimits {
    #[cfg(feature = "std")]
    pub(crate) const fn tags(self) -> Tags {
        Tags::of(self.0)
    }

    pub(super) const fn new(failures: u32, successes: u32) -> Self {
        Self(failures as u64 | (successes as u64) << FAILURES_BITS)
    }

    pub(crate) const fn failure_threshold(self) -> u64 {
        low(self.0, FAILURES_BITS)
    }

    pub(crate) const fn success_threshold(self) -> u64 {
        low(self.0 >> FAILURES_BITS, SUCCESSES_BITS)
    }
}

impl fmt::Debug for SettleLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SettleLimits")
            .field("failure_threshold", &self.failure_threshold())
            .field("success_threshold", &self.success_threshold())
            .finish()
    }
}

/// The numbers of an open circuit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct OpenLimits(u64);

packed!(OpenLimits);

impl OpenLimits {
    pub(crate) const fn tags(self) -> Tags {
        Tags::of(self.0)
    }

    pub(super) const fn new(slots: u32, wait_ms: u64, jitter: u32) -> Self {
        Self(wait_ms | (slots as u64) << SLOTS_SHIFT | (jitter as u64) << JITTER_SHIFT)
    }

    /// Says that half-open circuits go by these numbers, too.
    pub(super) const fn for_probes(self) -> Self {
        Self(self.0 | 1 << PROBES_SHIFT)
    }

    /// The numbers of a half-open circuit, if it goes by these.
    #[inline]
    pub(crate) const fn as_probe(self) -> Option<ProbeLimits> {
        if self.0 >> PROBES_SHIFT & 1 == 0 {
            return None;
        }
        let of_open_circuits = ((1 << (PROBES_SHIFT - JITTER_SHIFT + 1)) - 1) << JITTER_SHIFT;
        Some(ProbeLimits(self.0 & !of_open_circuits))
    }

    /// Says that the other back-off steps have words of their own.
    #[cfg(feature = "std")]
    pub(crate) const fn with_table(self) -> Self {
        Self(self.0 | 1 << TABLE_SHIFT)
    }

    #[cfg(feature = "std")]
    #[inline]
    pub(crate) const fn has_table(self) -> bool {
        self.0 >> TABLE_SHIFT & 1 != 0
    }

    pub(crate) const fn is_unlimited(self) -> bool {
        low(self.0 >> SLOTS_SHIFT, SLOTS_BITS) == UNLIMITED as u64
    }

    /// The wait of an open period with this draw, in milliseconds.
    #[inline]
    pub(crate) const fn wait_ms(self, draw: u64) -> u64 {
        let wait = low(self.0, TIME_BITS);
        let jitter = low(self.0 >> JITTER_SHIFT, JITTER_BITS);
        // What is taken off is less than the whole, so a millisecond is left.
        wait - ((wait * jitter * draw) >> (JITTER_FRACTION + DRAW_BITS))
    }
}

impl fmt::Debug for OpenLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenLimits")
            .field("wait_ms", &self.wait_ms(0))
            .field("jitter", &(low(self.0 >> JITTER_SHIFT, JITTER_BITS) as f64 / f64::from(JITTER_ONE)))
            .finish_non_exhaustive()
    }
}

/// The numbers of a half-open circuit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ProbeLimits(u64);

packed!(ProbeLimits);

impl ProbeLimits {
    pub(crate) const fn tags(self) -> Tags {
        Tags::of(self.0)
    }

    /// Says that the numbers of the back-off step hold in place of these.
    pub(super) const fn with_table(self) -> Self {
        Self(self.0 | 1 << TABLE_SHIFT)
    }

    pub(super) const fn new(slots: u32, timeout_ms: u64) -> Self {
        Self(timeout_ms | (slots as u64) << SLOTS_SHIFT)
    }

    #[cfg(feature = "std")]
    #[inline]
    pub(crate) const fn has_table(self) -> bool {
        self.0 >> TABLE_SHIFT & 1 != 0
    }

    /// Slots, `None` if unlimited.
    pub(crate) const fn slots(self) -> Option<u64> {
        match low(self.0 >> SLOTS_SHIFT, SLOTS_BITS) {
            0 => None,
            slots => Some(slots),
        }
    }

    /// Length of a lease in milliseconds, `None` if a probe is never written off.
    pub(crate) const fn timeout_ms(self) -> Option<u64> {
        match low(self.0, TIME_BITS) {
            NEVER => None,
            timeout => Some(timeout),
        }
    }
}

impl fmt::Debug for ProbeLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProbeLimits")
            .field("slots", &self.slots())
            .field("timeout_ms", &self.timeout_ms())
            .finish()
    }
}
