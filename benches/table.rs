//! All operations, round-robin in one process, so that whatever else the machine does falls on all of them alike.
//! Prints the median of the rounds as two Markdown tables; takes well below a minute.
//!
//! `cargo bench --bench table`

#[allow(dead_code, reason = "each bench uses its part")]
mod support;

use std::collections::HashMap;
use std::env;
use std::fmt::Write as _;
use std::time::Duration;

use crate::support::threads::time_together;
use crate::support::{Group, Work, groups, windows};

fn main() {
    let measures = env::args().any(|arg| arg == "--bench") && !env::args().any(|arg| arg == "--test");
    if measures {
        let plan = Plan { rounds: 25, batch: Duration::from_millis(3) };
        println!("{}\n{}", alone(plan), contended(plan));
    } else {
        // `cargo test` and `cargo bench -- --test` only want to see it run.
        let plan = Plan { rounds: 1, batch: Duration::ZERO };
        let _ = (alone(plan), contended(plan));
    }
}

/// Each row on one thread, beside its floor or beside this crate.
fn alone(plan: Plan) -> String {
    let groups = all(true);
    let cases = groups.iter().flat_map(|group| &group.rows).map(|row| Case::new(row.make, 1, 1)).collect();
    let mut nanos = measure(cases, plan).into_iter();
    let mut table =
        String::from("| one thread | ns | beside | ratio | difference |\n|---|--:|---|--:|--:|\n");
    for Group { name, rows } in &groups {
        let _ = writeln!(table, "| **{name}** | | | | |");
        let mut seen = HashMap::new();
        for row in rows {
            let took = nanos.next().unwrap_or(f64::NAN);
            seen.insert(row.name, took);
            let _ = write!(table, "| {} | {took:.2} |", row.name);
            let _ = match row.beside {
                Some(beside) => {
                    writeln!(table, " {beside} | {:.2}x | {:+.2} |", took / seen[beside], took - seen[beside])
                }
                None => writeln!(table, " | | |"),
            };
        }
    }
    table
}

/// Each row on two threads, with one breaker and with one each.
fn contended(plan: Plan) -> String {
    const SHAPES: [(usize, usize); 3] = [(1, 1), (2, 1), (2, 2)];
    let groups = all(false);
    let rows = groups.iter().flat_map(|group| &group.rows);
    let cases = rows
        .flat_map(|row| SHAPES.map(|(threads, breakers)| Case::new(row.make, threads, breakers)))
        .collect();
    let mut nanos = measure(cases, plan).into_iter();
    let mut table = String::from(
        "| ns | one thread | two threads, one breaker | two threads, one each |\n|---|--:|--:|--:|\n",
    );
    for Group { name, rows } in &groups {
        let _ = writeln!(table, "| **{name}** | | | |");
        for row in rows {
            let _ = write!(table, "| {} |", row.name);
            for took in nanos.by_ref().take(SHAPES.len()) {
                let _ = write!(table, " {took:.2} |");
            }
            table.push('\n');
        }
    }
    table
}

fn all(alone: bool) -> Vec<Group> {
    groups(alone).into_iter().chain(windows(alone)).collect()
}

#[derive(Clone, Copy)]
struct Plan {
    rounds: usize,
    /// How long one case runs in one round, roughly.
    batch: Duration,
}

/// One cell of a table.
struct Case {
    works: Vec<Work>,
    threads: usize,
    times: u64,
}

impl Case {
    fn new(make: fn() -> Work, threads: usize, breakers: usize) -> Self {
        Self { works: (0..breakers).map(|_| make()).collect(), threads, times: 1 }
    }

    fn run(&self) -> Duration {
        let works: Vec<&Work> = self.works.iter().cycle().take(self.threads).collect();
        time_together(&works, self.times)
    }

    /// Finds out how often the operation is to be run in a round, which warms it up, too.
    fn calibrate(&mut self, batch: Duration) {
        while self.run() < batch {
            self.times *= 2;
        }
    }
}

/// Nanoseconds per operation of each case: the median of the rounds.
fn measure(mut cases: Vec<Case>, plan: Plan) -> Vec<f64> {
    for case in &mut cases {
        case.calibrate(plan.batch);
    }
    let mut samples = vec![Vec::with_capacity(plan.rounds); cases.len()];
    for _ in 0..plan.rounds {
        for (case, samples) in cases.iter().zip(&mut samples) {
            samples.push(case.run().as_nanos() as f64 / case.times as f64);
        }
    }
    samples.into_iter().map(median).collect()
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}
