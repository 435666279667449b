//! The numbers of a breaker in use: read without a lock, replaced as a whole.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::config::Config;
use crate::limits::{OpenLimits, ProbeLimits, Rules, STEPS, SettleLimits, Tags, sealed};

/// The packed words of [`Limits`](crate::engine::Limits), each in an atomic.
///
/// A decision reads one of them, so it goes by one configuration even while another is being stored. The words of the
/// other back-off steps are made when a configuration first has a back-off, and stay.
pub(super) struct Numbers {
    settle: AtomicU64,
    open: AtomicU64,
    probe: AtomicU64,
    table: OnceLock<Box<[AtomicU64; STEPS]>>,
    seed: u64,
}

impl Numbers {
    pub(super) fn new(config: &Config, seed: u64) -> Self {
        let numbers = Self {
            settle: AtomicU64::default(),
            open: AtomicU64::default(),
            probe: AtomicU64::default(),
            table: OnceLock::new(),
            seed,
        };
        numbers.store(config);
        numbers
    }

    /// Replaces all numbers. Not to be run by two threads at once.
    pub(super) fn store(&self, config: &Config) {
        let limits = config.limits();
        let tags = config.tags();
        let mut open = limits.step(0).tagged(tags);
        if config.has_backoff() {
            let table = self.table.get_or_init(|| Box::new([const { AtomicU64::new(0) }; STEPS]));
            for (reopens, step) in (0..).zip(table.iter()) {
                step.store(limits.step(reopens).tagged(tags).to_bits(), Ordering::Relaxed);
            }
            open = open.with_table();
        }
        // Release: pairs with the load in `open`; whoever sees the flag sees the table's words.
        self.open.store(open.to_bits(), Ordering::Release);
        self.probe.store(limits.probe_as_configured().tagged(tags).to_bits(), Ordering::Release);
        self.settle.store(limits.settle().tagged(tags).to_bits(), Ordering::Release);
    }

    pub(super) fn tags(&self) -> Tags {
        self.settle().tags()
    }
}

impl sealed::Sealed for Numbers {}

impl Rules for Numbers {
    #[inline]
    fn settle(&self) -> SettleLimits {
        SettleLimits::from_bits(self.settle.load(Ordering::Acquire))
    }

    #[inline]
    fn open(&self, reopens: u32) -> OpenLimits {
        let open = OpenLimits::from_bits(self.open.load(Ordering::Acquire));
        if reopens == 0 || !open.has_table() {
            return open;
        }
        match self.table.get() {
            Some(table) => OpenLimits::from_bits(table[reopens as usize % STEPS].load(Ordering::Relaxed)),
            None => open,
        }
    }

    #[inline]
    fn probe(&self, reopens: u32) -> ProbeLimits {
        let probe = ProbeLimits::from_bits(self.probe.load(Ordering::Acquire));
        if probe.follows_wait() { self.open(reopens).as_probe() } else { probe }
    }

    #[inline]
    fn seed(&self) -> u64 {
        self.seed
    }
}
