//! One run: the server, the outage, the callers, and what became of each call.

use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use atomic_breaker::{CircuitBreaker, Config, ConfigError, Error, Observer, Rejected, Snapshot, Transition};

use crate::client::{Client, Failure};
use crate::options::Options;
use crate::plan::{Phase, Plan, TICK};
use crate::screen::{Event, Row, Screen};
use crate::server::{Ledger, Server};

/// Everything that happened in one run. All instants count from its start.
pub(crate) struct Run {
    /// One entry per arrival, sorted by id.
    pub(crate) calls: Vec<Call>,
    /// The server's own account of it.
    pub(crate) ledger: Ledger,
    /// The outage as it was, not as it was planned.
    pub(crate) outage: Vec<Phase>,
    pub(crate) breaker: Option<BreakerLog>,
}

pub(crate) struct Call {
    pub(crate) id: usize,
    /// When the call arrived,
    pub(crate) due: Duration,
    /// when a thread was free to take it up,
    pub(crate) started: Duration,
    /// when the breaker, if any, let it through,
    pub(crate) sent: Option<Duration>,
    /// and when the caller knew the result.
    pub(crate) finished: Duration,
    pub(crate) verdict: Verdict,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Ok,
    Failed(Failure),
    Rejected,
}

/// What the breaker told its observer, and where it ended.
pub(crate) struct BreakerLog {
    pub(crate) steps: Vec<Step>,
    pub(crate) rejected: u64,
    pub(crate) last: Snapshot,
}

#[derive(Clone, Copy)]
pub(crate) struct Step {
    pub(crate) at: Duration,
    pub(crate) transition: Transition,
}

impl Run {
    pub(crate) fn without_breaker(plan: &Plan, options: &Options, screen: &mut Screen) -> io::Result<Self> {
        execute(plan, options, screen, Clock::start(), None)
    }

    pub(crate) fn with_breaker(plan: &Plan, options: &Options, screen: &mut Screen) -> io::Result<Self> {
        let clock = Clock::start();
        let tape = Arc::new(Tape { clock, steps: Mutex::default(), rejected: AtomicU64::new(0) });
        let breaker = breaker(Arc::clone(&tape)).map_err(io::Error::other)?;
        let mut run = execute(plan, options, screen, clock, Some((&breaker, &tape)))?;
        run.breaker = Some(BreakerLog {
            steps: tape.steps(),
            rejected: tape.rejected.load(Ordering::Relaxed),
            last: breaker.snapshot(),
        });
        Ok(run)
    }

    pub(crate) fn outage_from(&self) -> Duration {
        self.outage.first().map_or(Duration::ZERO, |phase| phase.from)
    }

    pub(crate) fn outage_until(&self) -> Duration {
        self.outage.last().map_or(Duration::ZERO, |phase| phase.until)
    }
}

impl Call {
    /// What the caller felt. It counts from the arrival: time spent queueing
    /// for a thread is time spent waiting, too.
    pub(crate) fn latency(&self) -> Duration {
        self.finished.saturating_sub(self.due)
    }
}

fn breaker(tape: Arc<Tape>) -> Result<CircuitBreaker, ConfigError> {
    let config = Config::builder()
        .name("orders")
        .failure_threshold(10)
        .recovery_timeout(Duration::from_millis(300))
        .backoff(1.5, Duration::from_millis(450))
        .jitter(0.1)
        .half_open_max_calls(3)
        .success_threshold(3)
        .observer(tape)
        .build()?;
    Ok(CircuitBreaker::new(config))
}

type Guard<'a> = (&'a CircuitBreaker, &'a Tape);

fn execute(
    plan: &Plan,
    options: &Options,
    screen: &mut Screen,
    clock: Clock,
    guard: Option<Guard<'_>>,
) -> io::Result<Run> {
    let mut server = Server::start(options.seed)?;
    let client = Client::new(server.address(), options.threads);
    let desk = Desk {
        plan,
        clock,
        client: &client,
        breaker: guard.map(|(breaker, _)| breaker),
        taken: AtomicUsize::new(0),
        started: AtomicUsize::new(0),
        finished: AtomicUsize::new(0),
    };
    let (report, reports) = mpsc::channel();

    let (mut calls, outage) = thread::scope(|scope| {
        let director = scope.spawn(|| direct(&mut server, plan, clock));
        for _ in 0..options.threads {
            let (desk, report) = (&desk, report.clone());
            scope.spawn(move || desk.work(&report));
        }
        // The channel has to end with the last caller.
        drop(report);
        let calls = watch(&desk, guard, &reports, screen);
        (calls, director.join())
    });
    let outage = outage.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    calls.sort_by_key(|call| call.id);

    Ok(Run { calls, ledger: server.stop(), outage, breaker: None })
}

/// Makes the server fail and recover on time.
fn direct(server: &mut Server, plan: &Plan, clock: Clock) -> io::Result<Vec<Phase>> {
    let mut outage: Vec<Phase> = Vec::new();
    for phase in &plan.outage {
        clock.sleep_until(phase.from);
        let from = clock.now();
        if let Some(before) = outage.last_mut() {
            before.until = from;
        }
        server.turn(Some(phase.fault))?;
        outage.push(Phase { from, ..*phase });
        clock.sleep_until(phase.until);
    }
    server.turn(None)?;
    if let Some(last) = outage.last_mut() {
        last.until = clock.now();
    }
    Ok(outage)
}

/// What all callers of a run share.
struct Desk<'a> {
    plan: &'a Plan,
    clock: Clock,
    client: &'a Client,
    breaker: Option<&'a CircuitBreaker>,
    taken: AtomicUsize,
    started: AtomicUsize,
    finished: AtomicUsize,
}

impl Desk<'_> {
    fn work(&self, report: &Sender<Call>) {
        loop {
            let id = self.taken.fetch_add(1, Ordering::Relaxed);
            let Some(&due) = self.plan.arrivals.get(id) else {
                return;
            };
            self.clock.sleep_until(due);
            self.started.fetch_add(1, Ordering::Relaxed);
            let call = self.make_call(id, due);
            self.finished.fetch_add(1, Ordering::Relaxed);
            if report.send(call).is_err() {
                return;
            }
        }
    }

    fn make_call(&self, id: usize, due: Duration) -> Call {
        let started = self.clock.now();
        let mut sent = None;
        let mut fetch = || {
            sent = Some(self.clock.now());
            self.client.fetch(id)
        };
        let result = match self.breaker {
            Some(breaker) => breaker.call(fetch),
            None => fetch().map_err(Error::Inner),
        };
        let verdict = match result {
            Ok(()) => Verdict::Ok,
            Err(Error::Inner(failure)) => Verdict::Failed(failure),
            // A caller would use its fallback here, say a cached answer. It
            // does not try again: the next call comes when it is due.
            Err(Error::Rejected(_)) => Verdict::Rejected,
        };
        Call { id, due, started, sent, finished: self.clock.now(), verdict }
    }
}

/// Collects the reports and draws the timeline until the last caller is done.
fn watch(
    desk: &Desk<'_>,
    guard: Option<Guard<'_>>,
    reports: &Receiver<Call>,
    screen: &mut Screen,
) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::with_capacity(desk.plan.arrivals.len());
    let mut coming = events(&desk.plan.outage).into_iter().peekable();
    let mut steps_shown = 0;
    let mut tick = TICK;
    loop {
        let shown = calls.len();
        let open = receive_until(desk.clock, tick, reports, &mut calls);

        let mut events = Vec::new();
        while let Some(event) = coming.next_if(|event| event.at <= tick) {
            events.push(event);
        }
        if let Some((_, tape)) = guard {
            let steps = tape.steps();
            events.extend(steps[steps_shown..].iter().map(Event::from));
            steps_shown = steps.len();
        }
        events.sort_by_key(|event| event.at);

        let arrived = desk.plan.arrivals.partition_point(|&due| due <= desk.clock.now());
        let finished = desk.finished.load(Ordering::Relaxed);
        let started = desk.started.load(Ordering::Relaxed);
        screen.tick(
            &events,
            &Row {
                at: tick.min(desk.clock.now()),
                calls: &calls[shown..],
                in_flight: started.saturating_sub(finished),
                waiting: arrived.saturating_sub(started),
                state: guard.map(|(breaker, _)| breaker.state()),
                fault: desk.plan.outage.iter().find(|phase| phase.covers(tick)).map(|phase| phase.fault),
            },
        );
        if !open {
            return calls;
        }
        tick += TICK;
    }
}

/// Whether there still are callers.
fn receive_until(clock: Clock, end: Duration, reports: &Receiver<Call>, calls: &mut Vec<Call>) -> bool {
    loop {
        match reports.recv_timeout(end.saturating_sub(clock.now())) {
            Ok(call) => calls.push(call),
            Err(RecvTimeoutError::Timeout) => return true,
            Err(RecvTimeoutError::Disconnected) => return false,
        }
    }
}

fn events(outage: &[Phase]) -> Vec<Event> {
    let end = outage.last().map(|phase| Event { at: phase.until, text: "the server works again".into() });
    outage
        .iter()
        .map(|phase| Event { at: phase.from, text: format!("the server {}", phase.fault) })
        .chain(end)
        .collect()
}

#[derive(Clone, Copy)]
struct Clock(Instant);

impl Clock {
    fn start() -> Self {
        Self(Instant::now())
    }

    fn now(self) -> Duration {
        self.0.elapsed()
    }

    fn sleep_until(self, time: Duration) {
        thread::sleep(time.saturating_sub(self.now()));
    }
}

/// Where the breaker's observer writes and the watcher reads.
struct Tape {
    clock: Clock,
    steps: Mutex<Vec<Step>>,
    rejected: AtomicU64,
}

impl Tape {
    fn steps(&self) -> Vec<Step> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Observer for Tape {
    fn on_transition(&self, transition: &Transition) {
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        let mut step = Step { at: self.clock.now(), transition: *transition };
        // Two threads may report two transitions in either order. The numbers
        // wrap, hence the sign of the difference.
        let earlier =
            |other: &Step| other.transition.turn().wrapping_sub(transition.turn()).cast_signed() < 0;
        let place = steps.iter().rposition(earlier).map_or(0, |last| last + 1);
        if let Some(next) = steps.get(place) {
            step.at = step.at.min(next.at);
        }
        steps.insert(place, step);
    }

    fn on_rejected(&self, _: &Rejected) {
        self.rejected.fetch_add(1, Ordering::Relaxed);
    }
}
