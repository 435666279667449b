//! A server breaks down and recovers: what its callers go through without a
//! circuit breaker, and what with one.
//!
//! ```text
//! cargo run --release --example outage
//! cargo run --release --example outage -- --fault hang --seconds 4 --threads 32
//! cargo run --release --example outage -- --help
//! ```
//!
//! A real HTTP server on a loopback port is well, turns bad for 45 % of the
//! time, and is well again. How it is bad is for `--fault` to choose: it refuses
//! connections, it hangs, it answers 500, or (by default) all three in turn, as
//! a server does that locks up, is restarted, and has to warm up. Many threads
//! call it over real sockets, with a real client and a real timeout of 250 ms.
//!
//! # Both runs face the same
//!
//! Calls arrive on a schedule that is laid down in advance, at a fixed rate, as
//! requests of users would: they do not come slower because earlier ones take
//! long. Each is taken up by the next free thread, and if all threads are stuck
//! it queues. Its time counts from its arrival, so the queueing counts. Had the
//! threads made calls one after the other instead, a hanging server would have
//! slowed down its own load, and the run that suffers more would have been asked
//! for less.
//!
//! Each call is attempted once. One that the breaker rejects would go to a
//! fallback; no caller tries again in a loop.
//!
//! # How to read it
//!
//! Each row of the timeline covers 100 ms: calls that ended in it as ok, failed
//! and rejected; at its end, the calls in flight and those queued for a free
//! thread; how long the calls that ended took (p50, p99); the breaker's state.
//! In the bars, `#` is ok, `x` failed and `.` rejected.
//!
//! Then comes what the breaker saved, and what it cost: calls that were rejected
//! though the server was well again. Then the accounts: the server has kept a
//! ledger of its own, and each call must be found in it, or not, as its result
//! demands. If one is not, the program says so and fails.
//!
//! The picture, `target/outage.svg` unless `--output` says otherwise, shows both
//! runs on the same axes. Unlike the rows it sorts calls by when they arrived,
//! which is alike in both runs; only the colours differ.

mod accounts;
mod client;
mod figures;
mod options;
mod panels;
mod picture;
mod plan;
mod run;
mod screen;
mod series;
mod server;

use std::error::Error;
use std::process::ExitCode;

use figures::Figures;
use options::Options;
use picture::Side;
use plan::Plan;
use run::Run;
use screen::Screen;

fn main() -> ExitCode {
    let options = match options::parse(lexopt::Parser::from_env()) {
        Ok(Some(options)) => options,
        Ok(None) => {
            print!("{}", options::HELP);
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("outage: {error}\nTry --help.");
            return ExitCode::from(2);
        }
    };
    match demonstrate(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("outage: not every call is accounted for, see the lines marked WRONG");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("outage: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether every call is accounted for.
fn demonstrate(options: &Options) -> Result<bool, Box<dyn Error>> {
    let plan = Plan::new(options);
    let mut screen = Screen::new(options.length, options.rate);

    screen.header("Without the breaker");
    let without = Run::without_breaker(&plan, options, &mut screen)?;
    screen.header("With the breaker");
    let with = Run::with_breaker(&plan, options, &mut screen)?;

    let without = Side { figures: Figures::new(&without, plan.length), run: without };
    let with = Side { figures: Figures::new(&with, plan.length), run: with };
    screen.title("What the breaker saved");
    screen.line(figures::summary(&without.figures, &with.figures));

    let sound = settle("Accounts of the run without", &without.run, &plan, &mut screen)
        & settle("Accounts of the run with", &with.run, &plan, &mut screen);

    picture::draw(&options.output, &plan, options.threads, &without, &with)?;
    screen.title(&format!("Picture: {}", options.output.display()));
    Ok(sound)
}

fn settle(title: &str, run: &Run, plan: &Plan, screen: &mut Screen) -> bool {
    screen.title(title);
    let checks = accounts::check(run, plan.arrivals.len());
    for check in &checks {
        screen.line(format_args!("{:<3} {}", if check.holds { "ok" } else { "WRONG" }, check.text));
    }
    checks.iter().all(|check| check.holds)
}
