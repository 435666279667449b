//! The naive window: outcomes one by one, as the rules say it.

use std::collections::VecDeque;

use atomic_breaker::Window;

/// The outcomes of a closed period. Times are nanoseconds.
pub(crate) struct Naive {
    window: Window,
    /// When, whether it failed, whether it was slow.
    events: VecDeque<(u64, bool, bool)>,
}

impl Naive {
    pub(crate) const fn new(window: Window) -> Self {
        Self { window, events: VecDeque::new() }
    }

    pub(crate) fn clear(&mut self) {
        self.events.clear();
    }

    pub(crate) fn record(&mut self, now: u64, failed: bool, slow: bool) {
        self.events.push_back((now, failed, slow));
        if let Window::Calls(calls) = self.window {
            while self.events.len() > calls as usize {
                self.events.pop_front();
            }
        }
    }

    /// All, failures, slow ones.
    pub(crate) fn totals(&self, now: u64) -> (u64, u64, u64) {
        let mut totals = (0, 0, 0);
        for &(at, failed, slow) in &self.events {
            if self.is_live(at, now) {
                totals.0 += 1;
                totals.1 += u64::from(failed);
                totals.2 += u64::from(slow);
            }
        }
        totals
    }

    fn is_live(&self, at: u64, now: u64) -> bool {
        match self.window {
            Window::Calls(_) => true,
            Window::Time { buckets, .. } => {
                let (bucket, newest) = (at / width_of(self.window), now / width_of(self.window));
                bucket <= newest && bucket + u64::from(buckets) > newest
            }
        }
    }
}

/// The width of a bucket; some width for windows that have none.
pub(crate) fn width_of(window: Window) -> u64 {
    match window {
        Window::Calls(_) => 1_000_000,
        Window::Time { length, buckets } => length.as_nanos() as u64 / u64::from(buckets),
    }
}
