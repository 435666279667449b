//! A walk of the breaker beside the model: answers, snapshots, and what the observers hear.

use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use atomic_breaker::{
    self as real, CircuitBreaker, Config, Error, ManualClock, Observer, OwnedPermit, Rejected, State,
    Timestamp, Transition,
};

use crate::model::engine::{answer_of, real_outcome, rejection_of, state};
use crate::model::time::{Tick, WalkClock};
use crate::model::{Answer, Cause, Event, Mode, Model, Numbers, Outcome, Permit, Probe, Rejection};

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Acquire,
    /// Settles one of the permits that are held, oldest first.
    Settle(usize, Outcome),
    Drop(usize),
    /// Forgets one: it never reports.
    Leak(usize),
    Call(Outcome),
    CallAsync(Outcome),
    Tick(Tick),
    Trip,
    Reset,
    ForceOpen,
    ForceClosed,
    Reconfigure(usize),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) numbers: Numbers,
    pub(crate) shadow: bool,
    pub(crate) observed: bool,
}

/// What an observer has heard and nobody has asked for yet.
#[derive(Default)]
struct Log {
    transitions: Mutex<Vec<Transition>>,
    rejections: Mutex<Vec<Rejected>>,
}

impl Observer for Log {
    fn on_transition(&self, transition: &Transition) {
        self.transitions.lock().unwrap().push(*transition);
    }

    fn on_rejected(&self, rejected: &Rejected) {
        self.rejections.lock().unwrap().push(*rejected);
    }
}

type Held = (OwnedPermit<ManualClock>, Option<Permit>);

pub(crate) struct BreakerWalk {
    setups: Vec<Setup>,
    /// One for each setup, so that it shows who is told.
    logs: Vec<Arc<Log>>,
    present: usize,
    breaker: Arc<CircuitBreaker<ManualClock>>,
    manual: ManualClock,
    clock: WalkClock,
    model: Model,
    /// Events of the present step that are still to be compared.
    pending: Vec<Event>,
    held: Vec<Held>,
    leaked: Vec<Held>,
}

const NAME: &str = "walk";

impl BreakerWalk {
    pub(crate) fn new(setups: &[Setup], start: u64) -> Self {
        let logs: Vec<_> = setups.iter().map(|_| Arc::new(Log::default())).collect();
        let manual = ManualClock::at(Duration::from_nanos(start));
        let breaker = CircuitBreaker::with_clock(config(&setups[0], &logs[0], NAME), manual.clone());
        Self {
            setups: setups.to_vec(),
            logs,
            present: 0,
            breaker: Arc::new(breaker),
            manual,
            clock: WalkClock { nanos: start, lag: 0 },
            model: Model::new(setups[0].numbers),
            pending: Vec::new(),
            held: Vec::new(),
            leaked: Vec::new(),
        }
    }

    pub(crate) fn step(&mut self, op: &Op) {
        let at = self.clock.moment();
        match *op {
            Op::Acquire => self.acquire(),
            Op::Settle(which, outcome) => {
                if let Some((real, permit)) = self.pick(which) {
                    let settled = answer_of(real.record(real_outcome(outcome)));
                    self.expect_settled(settled, permit, outcome);
                }
            }
            Op::Drop(which) => {
                if let Some((real, permit)) = self.pick(which) {
                    drop(real);
                    self.expect_dropped(permit);
                }
            }
            Op::Leak(which) => {
                let leaked = self.pick(which);
                self.leaked.extend(leaked);
            }
            Op::Call(outcome) => {
                let result = self.breaker.call_with(|_| real_outcome(outcome), || Ok::<_, ()>(()));
                self.expect_call(result, outcome);
            }
            Op::CallAsync(outcome) => {
                let call = self.breaker.call_async_with(|_| real_outcome(outcome), async { Ok::<_, ()>(()) });
                let Poll::Ready(result) = pin!(call).poll(&mut Context::from_waker(Waker::noop())) else {
                    panic!("the inner future is ready");
                };
                self.expect_call(result, outcome);
            }
            Op::Tick(tick) => {
                self.clock.tick(tick, &self.model);
                self.manual.set(Duration::from_nanos(self.clock.nanos));
            }
            Op::Trip => {
                self.breaker.trip();
                self.model.trip(at);
            }
            Op::Reset => {
                self.breaker.reset();
                self.model.reset(at);
            }
            Op::ForceOpen => {
                self.breaker.force_open();
                self.model.force(Mode::ForcedOpen, at);
            }
            Op::ForceClosed => {
                self.breaker.force_closed();
                self.model.force(Mode::ForcedClosed, at);
            }
            Op::Reconfigure(which) => self.reconfigure(which),
        }
        self.expect_events();
        self.compare();
    }

    fn acquire(&mut self) {
        let real = self.breaker.try_acquire_owned();
        let answer = real.as_ref().map(drop).map_err(|rejected| *rejected);
        let permit = self.expect_admission(answer);
        if let Ok(real) = real {
            self.held.push((real, permit));
        }
    }

    fn expect_call(&mut self, result: Result<(), Error<()>>, outcome: Outcome) {
        let answer = result.map_err(|error| *error.rejected().expect("the call itself succeeds"));
        let permit = self.expect_admission(answer);
        if answer.is_ok() {
            // One call can half-open the circuit and decide it.
            self.pending.extend(self.model.event.take());
            if let Some(permit) = permit {
                self.model.settle(permit, outcome, self.clock.moment());
            }
        }
    }

    /// Compares an admission or a rejection; a permit of shadow mode counts nothing and so is none to the model.
    fn expect_admission(&mut self, real: Result<(), Rejected>) -> Option<Permit> {
        let Setup { shadow, observed, .. } = self.setups[self.present];
        match self.model.acquire(self.clock.moment()) {
            Ok(permit) => {
                assert_eq!(real, Ok(()), "{:?}", self.model);
                Some(permit)
            }
            Err(rejection) => {
                if shadow {
                    assert_eq!(real, Ok(()), "{:?}", self.model);
                } else {
                    assert_rejected(real.unwrap_err(), rejection);
                }
                let told = std::mem::take(&mut *self.logs[self.present].rejections.lock().unwrap());
                assert_eq!(told.len(), usize::from(observed));
                for rejected in told {
                    assert_rejected(rejected, rejection);
                    assert!(shadow || real == Err(rejected), "observer and caller hear the same");
                }
                None
            }
        }
    }

    fn expect_settled(&mut self, settled: Answer, permit: Option<Permit>, outcome: Outcome) {
        let expected = match permit {
            Some(permit) => self.model.settle(permit, outcome, self.clock.moment()),
            None => Answer::Stale,
        };
        assert_eq!(settled, expected, "{:?}", self.model);
    }

    fn expect_dropped(&mut self, permit: Option<Permit>) {
        if let Some(permit) = permit {
            self.model.settle(permit, Outcome::Ignored, self.clock.moment());
        }
    }

    fn reconfigure(&mut self, which: usize) {
        self.present = which % self.setups.len();
        let config = config(&self.setups[self.present], &self.logs[self.present], "another name");
        self.breaker.reconfigure(config).unwrap();
        self.model.numbers = self.setups[self.present].numbers;
        self.model.event = None;
        assert_eq!(self.breaker.config().name(), NAME, "the name stays");
    }

    /// What the observer in force was told in this step is what the model has to report, and nobody else was told.
    fn expect_events(&mut self) {
        self.model.draw = self.draw();
        let mut expected = std::mem::take(&mut self.pending);
        expected.extend(self.model.event.take());
        expected.retain(|_| self.setups[self.present].observed);
        for (index, log) in self.logs.iter().enumerate() {
            let told = std::mem::take(&mut *log.transitions.lock().unwrap());
            let expected = if index == self.present { &expected[..] } else { &[] };
            assert_eq!(told.len(), expected.len(), "{told:?}, expected {expected:?}");
            for (told, event) in told.iter().zip(expected) {
                self.assert_told(told, event);
            }
            assert!(log.rejections.lock().unwrap().is_empty());
        }
    }

    fn assert_told(&self, told: &Transition, event: &Event) {
        assert_eq!((told.from(), told.to()), (state(event.from), state(event.to)));
        assert_eq!(told.cause(), cause(event.cause));
        assert_eq!(told.at(), Timestamp::from_nanos(event.at));
        assert_eq!(
            (told.failures(), told.probe_successes(), told.reopens(), u64::from(told.turn())),
            (event.failures, event.probe_successes, event.reopens, event.turn)
        );
        let wait = (event.to == Mode::Open).then(|| Duration::from_millis(self.model.wait_ms()));
        assert_eq!(told.wait(), wait);
        assert_eq!(told.circuit(), NAME);
    }

    fn compare(&self) {
        let (model, at) = (&self.model, self.clock.moment());
        let snapshot = self.breaker.snapshot();
        assert_eq!(snapshot.state(), state(model.mode), "{snapshot:?} {model:?}");
        assert_eq!(
            (
                snapshot.failures(),
                snapshot.probes_in_flight(),
                snapshot.probe_successes(),
                snapshot.reopens()
            ),
            (model.failures, model.in_flight, model.successes, model.reopens),
            "{snapshot:?} {model:?}"
        );
        let effective = state(model.effective(at));
        assert_eq!((self.breaker.state(), snapshot.effective_state()), (effective, effective));
        assert_eq!(snapshot.is_probe_due(), model.mode == Mode::Open && effective == State::HalfOpen);
        let peeked = model.peek(at);
        let left = peeked.err().and_then(|rejection| rejection.retry_after_ms);
        assert_eq!(snapshot.retry_after(), left.map(Duration::from_millis));
        match peeked {
            Err(rejection) if !self.setups[self.present].shadow => {
                assert_rejected(self.breaker.peek().unwrap_err(), rejection);
            }
            _ => assert_eq!(self.breaker.peek(), Ok(())),
        }
    }

    /// Nobody is told the draw but a reader of the word.
    fn draw(&self) -> u64 {
        let shown = format!("{:?}", self.breaker);
        let Some((_, draw)) = shown.split_once("draw: ") else {
            return 0;
        };
        draw.split(' ').next().unwrap().parse().unwrap()
    }

    fn pick(&mut self, which: usize) -> Option<Held> {
        (!self.held.is_empty()).then(|| self.held.remove(which % self.held.len()))
    }
}

fn assert_rejected(rejected: Rejected, expected: Rejection) {
    assert_eq!(rejection_of(&rejected), expected);
    assert_eq!(rejected.circuit(), NAME);
}

fn config(setup: &Setup, log: &Arc<Log>, name: &'static str) -> Config {
    let Numbers { failures, recovery, slots, successes, probe, backoff, jitter } = setup.numbers;
    let mut builder = Config::builder()
        .name(name)
        .failure_threshold(failures)
        .recovery_timeout(recovery)
        .success_threshold(successes)
        .jitter(jitter)
        .shadow(setup.shadow);
    builder = match slots {
        Some(slots) => builder.half_open_max_calls(slots),
        None => builder.half_open_unlimited(),
    };
    builder = match probe {
        Probe::Wait => builder,
        Probe::After(timeout) => builder.probe_timeout(timeout),
        Probe::Never => builder.probe_timeout_never(),
    };
    if let Some((multiplier, max)) = backoff {
        builder = builder.backoff(multiplier, max);
    }
    if setup.observed {
        builder = builder.observer(Arc::clone(log));
    }
    builder.build().expect("the numbers are legal")
}

fn cause(cause: Cause) -> real::Cause {
    match cause {
        Cause::Failures => real::Cause::Failures,
        Cause::ProbeFailed => real::Cause::ProbeFailed,
        Cause::ProbesSucceeded => real::Cause::ProbesSucceeded,
        Cause::WaitOver => real::Cause::WaitOver,
        Cause::Trip => real::Cause::Trip,
        Cause::Reset => real::Cause::Reset,
        Cause::Force => real::Cause::Force,
    }
}
