//! What the two runs come to.

use std::time::Duration;

use atomic_breaker::State;

use crate::client::TIMEOUT;
use crate::run::{Call, Run, Verdict};
use crate::screen::span;

/// The numbers of one run that the summary and the picture show.
pub(crate) struct Figures {
    pub(crate) attempts: usize,
    pub(crate) ok: usize,
    pub(crate) failed: usize,
    pub(crate) rejected: usize,
    /// Time that all callers together spent waiting, and the part of it that
    /// ended in a failure.
    pub(crate) waited: Duration,
    pub(crate) waited_in_vain: Duration,
    pub(crate) p99: Duration,
    /// Calls that went out to the server while it was failing.
    pub(crate) sent_to_failing: usize,
    pub(crate) most_waiting: usize,
    /// From the start of the outage until the circuit opened.
    pub(crate) detected: Option<Duration>,
    /// From the end of the outage until callers no longer felt it.
    pub(crate) recovered: Option<Duration>,
    /// Calls rejected although the server was well again.
    pub(crate) rejected_needlessly: usize,
    pub(crate) rejection_cost: Option<Duration>,
    pub(crate) probes: usize,
}

impl Figures {
    pub(crate) fn new(run: &Run, length: Duration) -> Self {
        let calls = &run.calls;
        let count = |wanted: &dyn Fn(&Call) -> bool| calls.iter().filter(|call| wanted(call)).count();
        let (from, until) = (run.outage_from(), run.outage_until());
        let mut latencies: Vec<_> = calls.iter().map(Call::latency).collect();
        let mut rejections: Vec<_> = calls
            .iter()
            .filter(|call| call.verdict == Verdict::Rejected)
            .map(|call| call.finished.saturating_sub(call.started))
            .collect();
        Self {
            attempts: calls.len(),
            ok: count(&|call| call.verdict == Verdict::Ok),
            failed: count(&|call| matches!(call.verdict, Verdict::Failed(_))),
            rejected: rejections.len(),
            waited: calls.iter().map(Call::latency).sum(),
            waited_in_vain: calls
                .iter()
                .filter(|call| matches!(call.verdict, Verdict::Failed(_)))
                .map(Call::latency)
                .sum(),
            p99: percentile(&mut latencies, 0.99).unwrap_or_default(),
            sent_to_failing: count(&|call| call.sent.is_some_and(|at| (from..until).contains(&at))),
            most_waiting: most_waiting(calls),
            detected: detected(run),
            recovered: recovered(run, length),
            rejected_needlessly: count(&|call| call.verdict == Verdict::Rejected && call.started >= until),
            rejection_cost: percentile(&mut rejections, 0.50),
            probes: probes(run),
        }
    }
}

/// The value below which the given share lies, exact; sorts the values.
pub(crate) fn percentile(values: &mut [Duration], share: f64) -> Option<Duration> {
    values.sort_unstable();
    let last = values.len().checked_sub(1)?;
    let index = (last as f64 * share).round() as usize;
    values.get(index).copied()
}

fn most_waiting(calls: &[Call]) -> usize {
    let mut changes: Vec<_> = calls
        .iter()
        .filter(|call| call.started > call.due)
        .flat_map(|call| [(call.due, 1), (call.started, -1)])
        .collect();
    changes.sort_unstable();
    let (mut waiting, mut most) = (0_isize, 0);
    for (_, change) in changes {
        waiting += change;
        most = most.max(waiting);
    }
    most.unsigned_abs()
}

fn detected(run: &Run) -> Option<Duration> {
    let steps = &run.breaker.as_ref()?.steps;
    let from = run.outage_from();
    let opened = steps.iter().find(|step| step.transition.to() == State::Open && step.at >= from)?;
    Some(opened.at.saturating_sub(from))
}

/// Callers feel the outage until the last call that failed, was rejected or
/// was slow; a quiet time after it tells that it was the last. `None` if there
/// was no such quiet before the run was over.
fn recovered(run: &Run, length: Duration) -> Option<Duration> {
    let quiet = Duration::from_millis(250).max(length * 5 / u32::try_from(run.calls.len()).ok()?.max(1));
    let until = run.outage_until();
    let mut felt: Vec<_> = run
        .calls
        .iter()
        .filter(|call| call.finished >= until)
        .filter(|call| call.verdict != Verdict::Ok || call.latency() > TIMEOUT / 2)
        .map(|call| call.finished)
        .collect();
    felt.sort_unstable();
    let mut last = until;
    for at in felt {
        if at > last + quiet {
            break;
        }
        last = at;
    }
    (last + quiet <= length).then(|| last.saturating_sub(until))
}

fn probes(run: &Run) -> usize {
    let Some(log) = &run.breaker else {
        return 0;
    };
    let ends = log.steps.iter().skip(1).map(|step| step.at).chain([Duration::MAX]);
    log.steps
        .iter()
        .zip(ends)
        .filter(|(step, _)| step.transition.to() == State::HalfOpen)
        .map(|(step, end)| {
            let sent = run.calls.iter().filter_map(|call| call.sent);
            sent.filter(|at| (step.at..end).contains(at)).count()
        })
        .sum()
}

/// The comparison, ready to print.
pub(crate) fn summary(without: &Figures, with: &Figures) -> String {
    let mut lines = vec![format!("{:<48}{:>12}{:>12}", "", "without", "with")];
    let mut line = |label: &str, value: &dyn Fn(&Figures) -> String| {
        lines.push(format!("{label:<48}{:>12}{:>12}", value(without), value(with)));
    };
    line("calls", &|figures| figures.attempts.to_string());
    line("  ok", &|figures| figures.ok.to_string());
    line("  failed", &|figures| figures.failed.to_string());
    line("  rejected", &|figures| figures.rejected.to_string());
    line("time callers spent waiting, in all", &|figures| seconds(figures.waited));
    line("  of it for calls that failed", &|figures| seconds(figures.waited_in_vain));
    line("  the slowest call in 100", &|figures| span(figures.p99));
    line("  callers queued for a free thread, at worst", &|figures| figures.most_waiting.to_string());
    line("calls sent to the failing server", &|figures| figures.sent_to_failing.to_string());
    line("outage noticed after", &|figures| figures.detected.map_or_else(|| "never".into(), seconds));
    line("normal service after its end", &|figures| {
        figures.recovered.map_or_else(|| "not seen".into(), seconds)
    });
    line("  calls rejected meanwhile", &|figures| figures.rejected_needlessly.to_string());
    line("half-open probes", &|figures| figures.probes.to_string());
    line("a rejection, as its caller times it, median", &|figures| {
        figures.rejection_cost.map_or_else(|| "-".into(), span)
    });
    lines.push(String::new());
    lines.push(verdict(without, with));
    lines.join("\n")
}

fn verdict(without: &Figures, with: &Figures) -> String {
    let saved = without.waited.as_secs_f64() - with.waited.as_secs_f64();
    let percent = 100.0 * saved / without.waited.as_secs_f64().max(f64::MIN_POSITIVE);
    let kept_off = without.sent_to_failing.saturating_sub(with.sent_to_failing);
    format!(
        "The breaker saved the callers {saved:.1} s of waiting ({percent:.0} %)\n\
         and kept {kept_off} of {} calls off the failing server.",
        without.sent_to_failing
    )
}

fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}
