//! The live timeline on the terminal.

use std::fmt::Display;
use std::io::{self, IsTerminal, Stdout, Write};
use std::time::Duration;

use atomic_breaker::{Cause, State};

use crate::figures::percentile;
use crate::plan::Fault;
use crate::run::{Call, Step, Verdict};

/// Standard output, with a progress line at the bottom if it is a terminal.
///
/// Errors are ignored: a reader that leaves early, as `| head` does, should
/// not end the measurement.
pub(crate) struct Screen {
    out: Stdout,
    terminal: bool,
    colours: bool,
    length: Duration,
    /// How many calls one character of the bars stands for.
    scale: usize,
}

/// Something that happened between two rows.
pub(crate) struct Event {
    pub(crate) at: Duration,
    pub(crate) text: String,
}

/// The last 100 ms, as far as known.
pub(crate) struct Row<'a> {
    pub(crate) at: Duration,
    pub(crate) calls: &'a [Call],
    pub(crate) in_flight: usize,
    pub(crate) waiting: usize,
    pub(crate) state: Option<State>,
    pub(crate) fault: Option<Fault>,
}

impl Screen {
    pub(crate) fn new(length: Duration, rate: u32) -> Self {
        let out = io::stdout();
        let terminal = out.is_terminal();
        Self {
            out,
            terminal,
            colours: terminal && std::env::var_os("NO_COLOR").is_none(),
            length,
            scale: (rate as usize).div_ceil(70),
        }
    }

    pub(crate) fn line(&mut self, text: impl Display) {
        let _ = writeln!(self.out, "{text}");
    }

    pub(crate) fn title(&mut self, text: &str) {
        let text = self.paint("1", text);
        self.line(format_args!("\n{text}"));
    }

    pub(crate) fn header(&mut self, title: &str) {
        self.title(title);
        self.line("  time    ok failed rejected in flight queued     p50     p99 breaker");
    }

    pub(crate) fn tick(&mut self, events: &[Event], row: &Row<'_>) {
        if self.terminal {
            let _ = write!(self.out, "\r\x1b[K");
        }
        for Event { at, text } in events {
            let text = self.paint("1;36", &format!("-- {:.3} s: {text}", at.as_secs_f64()));
            self.line(text);
        }
        let text = self.row(row);
        self.line(text);
        if self.terminal && row.at < self.length {
            let _ = write!(self.out, "{}", self.progress(row));
            let _ = self.out.flush();
        }
    }

    fn row(&self, row: &Row<'_>) -> String {
        let count =
            |wanted: fn(Verdict) -> bool| row.calls.iter().filter(|call| wanted(call.verdict)).count();
        let ok = count(|verdict| verdict == Verdict::Ok);
        let failed = count(|verdict| matches!(verdict, Verdict::Failed(_)));
        let rejected = count(|verdict| verdict == Verdict::Rejected);
        let mut latencies: Vec<_> = row.calls.iter().map(Call::latency).collect();
        let p50 = percentile(&mut latencies, 0.50).map_or_else(|| "-".into(), span);
        let p99 = percentile(&mut latencies, 0.99).map_or_else(|| "-".into(), span);
        let state = row.state.map_or_else(|| "-".into(), |state| state.to_string());
        format!(
            "{:>5.1}s {ok:>5} {failed:>6} {rejected:>8} {:>9} {:>6} {p50:>7} {p99:>7} {state:<9} {}",
            row.at.as_secs_f64(),
            row.in_flight,
            row.waiting,
            self.bar([("32", '#', ok), ("31", 'x', failed), ("33", '.', rejected)]),
        )
    }

    fn bar(&self, parts: [(&str, char, usize); 3]) -> String {
        const LONGEST: usize = 8;
        let (mut bar, mut calls, mut drawn) = (String::new(), 0, 0);
        for (colour, mark, count) in parts {
            calls += count;
            let end = calls.div_ceil(self.scale).min(LONGEST);
            let part: String = std::iter::repeat_n(mark, end - drawn).collect();
            bar += &self.paint(colour, &part);
            drawn = end;
        }
        bar
    }

    fn progress(&self, row: &Row<'_>) -> String {
        const CELLS: usize = 30;
        let done = (row.at.div_duration_f64(self.length) * CELLS as f64) as usize;
        let cells = "=".repeat(done.min(CELLS));
        let server = row.fault.map_or_else(|| "works".into(), |fault| fault.to_string());
        format!(
            "[{cells:<CELLS$}] {:.1} of {:.1} s, the server {server}",
            row.at.as_secs_f64(),
            self.length.as_secs_f64(),
        )
    }

    fn paint(&self, colour: &str, text: &str) -> String {
        if self.colours && !text.is_empty() {
            format!("\x1b[{colour}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

impl From<&Step> for Event {
    fn from(step: &Step) -> Self {
        let transition = &step.transition;
        let cause = match transition.cause() {
            Cause::Failures => format!("{} failures in a row", transition.failures()),
            Cause::ProbeFailed => "a probe failed".into(),
            Cause::WaitOver => "the wait is over".into(),
            Cause::ProbesSucceeded => format!("{} probes succeeded", transition.probe_successes()),
            other => format!("{other:?}"),
        };
        let wait = transition.wait().map(|wait| format!(" for {}", span(wait))).unwrap_or_default();
        Self { at: step.at, text: format!("the breaker is {}{wait}: {cause}", transition.to()) }
    }
}

/// A time in the unit that suits it.
pub(crate) fn span(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 1e-5 {
        format!("{:.1} µs", seconds * 1e6)
    } else if seconds < 1e-3 {
        format!("{:.0} µs", seconds * 1e6)
    } else if seconds < 0.1 {
        format!("{:.1} ms", seconds * 1e3)
    } else if seconds < 1.0 {
        format!("{:.0} ms", seconds * 1e3)
    } else {
        format!("{seconds:.2} s")
    }
}
