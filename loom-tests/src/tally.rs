//! How much was explored.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// All models and executions of this process, so far.
static MODELS: AtomicUsize = AtomicUsize::new(0);
static EXECUTIONS: AtomicUsize = AtomicUsize::new(0);

/// Counts the models and executions of one test, and prints them when it ends.
#[derive(Debug)]
pub struct Tally {
    name: &'static str,
    began: Instant,
    models: AtomicUsize,
    executions: Arc<AtomicUsize>,
}

impl Tally {
    /// Begins to count.
    #[must_use]
    pub fn of(name: &'static str) -> Self {
        Self { name, began: Instant::now(), models: AtomicUsize::new(0), executions: Arc::default() }
    }

    /// Counts a model. What it returns is to be called in each of its executions.
    pub fn model(&self) -> impl Fn() + Send + Sync + 'static {
        self.models.fetch_add(1, Ordering::Relaxed);
        MODELS.fetch_add(1, Ordering::Relaxed);
        let executions = Arc::clone(&self.executions);
        move || {
            executions.fetch_add(1, Ordering::Relaxed);
            EXECUTIONS.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        println!(
            "{}: {} models, {} executions, {:.1?} (so far in this file: {} models, {} executions)",
            self.name,
            self.models.load(Ordering::Relaxed),
            self.executions.load(Ordering::Relaxed),
            self.began.elapsed(),
            MODELS.load(Ordering::Relaxed),
            EXECUTIONS.load(Ordering::Relaxed),
        );
    }
}
