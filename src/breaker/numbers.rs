//! The numbers of a breaker in use: read without a lock, replaced as a whole.

use std::array;
use std::sync::OnceLock;

use crate::config::Config;
use crate::limits::{OpenLimits, ProbeLimits, Rules, STEPS, SettleLimits, Tags, sealed};
use crate::sync::{AtomicU64, Ordering};

/// The packed words of [`Limits`](crate::engine::Limits), each in an atomic.
///
/// A decision goes by the one word that it reads last, so by one configuration, even while another is being stored. The
/// words of the back-off steps are made when a configuration first has a back-off, and stay.
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
            settle: AtomicU64::new(0),
            open: AtomicU64::new(0),
            probe: AtomicU64::new(0),
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
        let probe = limits.probe_as_configured().tagged(tags);
        let mut open = limits.step(0).tagged(tags);
        // The word that sends readers to the table comes after the table, one that no longer does so before it.
        if !probe.has_table() {
            self.probe.store(probe.to_bits(), Ordering::Release);
        }
        if config.has_backoff() {
            let table = self.table.get_or_init(|| Box::new(array::from_fn(|_| AtomicU64::new(0))));
            for (reopens, step) in (0..).zip(table.iter()) {
                step.store(limits.step(reopens).tagged(tags).to_bits(), Ordering::Release);
            }
            open = open.with_table();
        }
        // Release, here and above: pairs with the loads below; whoever is sent to the table finds its words there.
        self.open.store(open.to_bits(), Ordering::Release);
        self.probe.store(probe.to_bits(), Ordering::Release);
        self.settle.store(limits.settle().tagged(tags).to_bits(), Ordering::Release);
    }

    #[inline]
    fn step(&self, reopens: u32) -> Option<OpenLimits> {
        let step = &self.table.get()?[reopens as usize % STEPS];
        Some(OpenLimits::from_bits(step.load(Ordering::Acquire)))
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
        if !open.has_table() {
            return open;
        }
        self.step(reopens).unwrap_or(open)
    }

    #[inline]
    fn probe(&self, reopens: u32) -> ProbeLimits {
        loop {
            let probe = ProbeLimits::from_bits(self.probe.load(Ordering::Acquire));
            if !probe.has_table() {
                return probe;
            }
            if let Some(step) = self.step(reopens).and_then(OpenLimits::as_probe) {
                return step;
            }
            // A table that is not for probes has come in, and before it a word that does not send readers there.
        }
    }

    #[inline]
    fn seed(&self) -> u64 {
        self.seed
    }
}
