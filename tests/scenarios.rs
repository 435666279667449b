//! Replays the scenario files, and any others that are named in `ATOMIC_BREAKER_SCENARIOS` (files, separated as in
//! `PATH`). Their answers come from an independent model of the rules; `scenarios/README.md` describes the format.

#![cfg(feature = "std")]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{env, fs};

use atomic_breaker::{
    CircuitBreaker, Config, ManualClock, Observer, Outcome, OwnedPermit, Reason, Rejected, Settled, Snapshot,
    Transition, Window,
};
use serde_json::{Value, json};

macro_rules! files {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            replay(&scenario_dir().join(concat!(stringify!($name), ".json")));
        }
    )*};
}

files!(backoff control late lost machine reconfigure time window);

#[test]
#[cfg_attr(miri, ignore = "the file takes Miri minutes to read")]
fn random() {
    replay(&scenario_dir().join("random.json"));
}

#[test]
fn every_file_is_replayed() {
    let mut names: Vec<_> = fs::read_dir(scenario_dir())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    assert_eq!(
        names,
        ["backoff", "control", "late", "lost", "machine", "random", "reconfigure", "time", "window"]
    );
}

#[test]
fn files_named_in_the_environment() {
    for path in env::split_paths(&env::var_os("ATOMIC_BREAKER_SCENARIOS").unwrap_or_default()) {
        if !path.as_os_str().is_empty() {
            replay(&path);
        }
    }
}

fn scenario_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios")
}

fn replay(path: &Path) {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let scenarios: Vec<Value> = serde_json::from_str(&text).unwrap();
    let mut replayed = 0;
    for scenario in &scenarios {
        let mut player = Player::new(scenario);
        for (index, step) in scenario["steps"].as_array().unwrap().iter().enumerate() {
            player.play(step, &format!("{}: {}: step {index}", path.display(), scenario["name"]));
        }
        replayed += 1;
    }
    println!("{}: {replayed} replayed", path.display());
    assert!(replayed > 0);
}

struct Player {
    clock: ManualClock,
    now: u64,
    breaker: Arc<CircuitBreaker<ManualClock>>,
    permits: HashMap<String, OwnedPermit<ManualClock>>,
    windowed: bool,
    transitions: Arc<Log>,
}

impl Player {
    fn new(scenario: &Value) -> Self {
        let now = scenario["start_ms"].as_u64().unwrap_or(100_000);
        let clock = ManualClock::at(Duration::from_millis(now));
        let transitions = Arc::new(Log::default());
        let config = config(&scenario["config"], &transitions);
        let breaker = Arc::new(CircuitBreaker::with_clock(config, clock.clone()));
        let windowed = scenario["config"]["policy"].is_object();
        Self { clock, now, breaker, permits: HashMap::new(), windowed, transitions }
    }

    fn play(&mut self, step: &Value, place: &str) {
        if step["op"] == "repeat" {
            for _ in 0..step["times"].as_u64().unwrap() {
                for inner in step["steps"].as_array().unwrap() {
                    self.play(inner, place);
                }
            }
            return;
        }
        let answer = self.carry_out(step);
        let (Some(answer), Some(expected)) = (answer, step.get("expect")) else {
            return;
        };
        let agrees = match expected.as_object() {
            Some(expected) => expected.iter().all(|(key, value)| {
                // The model counts consecutive failures only, the snapshot those in the window as well.
                self.windowed && key == "failures" || answer.get(key) == Some(value)
            }),
            None => answer == *expected,
        };
        assert!(agrees, "{place}: {step}: got {answer}; {:?}", self.breaker);
    }

    /// Carries a step out and returns what `expect` may be compared with.
    fn carry_out(&mut self, step: &Value) -> Option<Value> {
        let permit = || step["permit"].as_str().unwrap();
        let ms = || step["ms"].as_u64().unwrap();
        match step["op"].as_str().unwrap() {
            "acquire" => {
                let acquired = self.breaker.try_acquire_owned();
                let answer = verdict(acquired.as_ref().map(drop).map_err(|rejected| *rejected));
                if let Ok(permit) = acquired {
                    let name = step["as"].as_str().unwrap().to_owned();
                    if let Some(older) = self.permits.insert(name, permit) {
                        std::mem::forget(older);
                    }
                }
                return Some(answer);
            }
            "success" => return Some(self.settle(permit(), Outcome::Success, step)),
            "failure" => return Some(self.settle(permit(), Outcome::Failure, step)),
            "ignore" => return Some(self.settle(permit(), Outcome::Ignored, step)),
            "drop" => drop(self.permits.remove(permit()).unwrap()),
            "forget" => std::mem::forget(self.permits.remove(permit()).unwrap()),
            "advance" => self.set_clock(self.now + ms()),
            "at" => self.set_clock(ms()),
            "peek" => return Some(verdict(self.breaker.peek())),
            "state" => return Some(json!(self.breaker.state().to_string())),
            "snapshot" => return Some(snapshot(&self.breaker.snapshot())),
            "transitions" => return Some(json!(*self.transitions.0.lock().unwrap())),
            "trip" => self.breaker.trip(),
            "reset" => self.breaker.reset(),
            "force_open" => self.breaker.force_open(),
            "force_closed" => self.breaker.force_closed(),
            "reconfigure" => {
                self.breaker.reconfigure(config(&step["config"], &self.transitions)).unwrap();
            }
            other => panic!("unknown op {other}"),
        }
        None
    }

    fn settle(&mut self, permit: &str, outcome: Outcome, step: &Value) -> Value {
        let permit = self.permits.remove(permit).unwrap();
        let settled = match step["took_ms"].as_u64() {
            Some(took) => permit.record_after(outcome, Duration::from_millis(took)),
            None => permit.record(outcome),
        };
        json!(match settled {
            Settled::Applied => "applied",
            Settled::Opened => "opened",
            Settled::Closed => "closed",
            Settled::Stale => "stale",
        })
    }

    fn set_clock(&mut self, ms: u64) {
        self.now = ms;
        self.clock.set(Duration::from_millis(ms));
    }
}

#[derive(Default)]
struct Log(Mutex<Vec<String>>);

impl Observer for Log {
    fn on_transition(&self, transition: &Transition) {
        self.0.lock().unwrap().push(format!("{}>{}", transition.from(), transition.to()));
    }
}

fn verdict(answer: Result<(), Rejected>) -> Value {
    let Err(rejected) = answer else {
        return json!("granted");
    };
    let reason = match rejected.reason() {
        Reason::Open => "open",
        Reason::HalfOpen => "half_open",
        Reason::ForcedOpen => "forced_open",
    };
    let retry_after = rejected.retry_after().map(|left| u64::try_from(left.as_millis()).unwrap());
    json!({ "rejected": reason, "retry_after_ms": retry_after })
}

fn snapshot(snapshot: &Snapshot) -> Value {
    json!({
        "state": snapshot.state().to_string(),
        "failures": snapshot.failures(),
        "probes_in_flight": snapshot.probes_in_flight(),
        "probe_successes": snapshot.probe_successes(),
        "reopens": snapshot.reopens(),
    })
}

fn config(given: &Value, log: &Arc<Log>) -> Config {
    let number = |key: &str| given[key].as_u64().map(|number| u32::try_from(number).unwrap());
    let mut config = Config::builder().observer(Arc::clone(log));
    if let Some(failures) = number("failure_threshold") {
        config = config.failure_threshold(failures);
    }
    if let Some(ms) = given["recovery_timeout_ms"].as_u64() {
        config = config.recovery_timeout(Duration::from_millis(ms));
    }
    if let Some(slots) = number("half_open_max_calls") {
        config = config.half_open_max_calls(slots);
    } else if given["half_open_max_calls"] == "unlimited" {
        config = config.half_open_unlimited();
    }
    if let Some(successes) = number("success_threshold") {
        config = config.success_threshold(successes);
    }
    if let Some(ms) = given["probe_timeout_ms"].as_u64() {
        config = config.probe_timeout(Duration::from_millis(ms));
    } else if given["probe_timeout_ms"] == "never" {
        config = config.probe_timeout_never();
    }
    let backoff = &given["backoff"];
    if let Some(multiplier) = backoff["multiplier"].as_f64() {
        config = config.backoff(multiplier, Duration::from_millis(backoff["max_ms"].as_u64().unwrap()));
    }
    let policy = &given["policy"];
    if policy.is_object() {
        let window = &policy["window"];
        let number = |value: &Value| u32::try_from(value.as_u64().unwrap()).unwrap();
        let shape = if window["count"].is_u64() {
            Window::Calls(number(&window["count"]))
        } else {
            let length = Duration::from_millis(window["time_ms"].as_u64().unwrap());
            Window::Time { length, buckets: number(&window["buckets"]) }
        };
        let rate = policy["failure_rate"].as_f64().unwrap();
        config = config.failure_rate(rate, number(&policy["min_calls"]), shape);
        if let Some(ms) = policy["slow_call_ms"].as_u64() {
            let rate = policy["slow_call_rate"].as_f64().unwrap();
            config = config.slow_calls(Duration::from_millis(ms), rate);
        }
    }
    config.build().unwrap()
}
