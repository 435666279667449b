//! Races: actors with scripts, let loose on one circuit.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use atomic_breaker::engine::{AtomicU64, Ticket, Word};
use atomic_breaker::{Outcome, Timestamp};

use crate::finish::Finish;
use crate::op::{Deed, Name, Op, Told};
use crate::order;
use crate::story::Situation;
use crate::tally::Tally;
use crate::time::{Pace, Recorder, Time};

/// A race to be explored.
#[derive(Clone, Debug)]
pub struct Race {
    situation: Arc<Situation>,
    /// What the actors do. The first one is the main thread.
    scripts: Vec<Vec<Step>>,
    pace: Pace,
    /// The number of preemptions explored, `None` if all.
    preemptions: Option<usize>,
}

/// An operation, with the ticket that it settles.
#[derive(Clone, Copy, Debug)]
enum Step {
    Do(Op),
    Settle(Name, u64, Outcome),
}

/// What an actor did, and what came of it.
#[derive(Clone, Debug)]
pub struct Event {
    /// What the actor did.
    pub deed: Deed,
    /// What the actor was told.
    pub told: Told,
    /// What the clock said, lost attempts included.
    pub readings: Vec<Timestamp>,
}

/// The names of the tickets that one actor is granted in a race begin here.
const OWN_NAMES: Name = 16;
/// The most tickets that one actor can be granted in a race.
const NAMES_PER_ACTOR: Name = 8;

impl Race {
    /// A race of actors that each have a script. `None` if more tickets of a kind would be settled than are out.
    #[must_use]
    pub fn new(situation: &Arc<Situation>, scripts: &[&[Op]]) -> Option<Self> {
        let mut grants: Vec<_> = situation.grants.iter().copied().enumerate().collect();
        let mut resolve = |op: &Op| match *op {
            Op::Settle(held, outcome) => {
                let next = grants.iter().position(|(_, (is_held, _))| *is_held == held)?;
                let (name, (_, bits)) = grants.remove(next);
                Some(Step::Settle(name as Name, bits, outcome))
            }
            op => Some(Step::Do(op)),
        };
        let scripts = scripts.iter().map(|script| script.iter().map(&mut resolve).collect());
        let scripts = scripts.collect::<Option<_>>()?;
        Some(Self { situation: Arc::clone(situation), scripts, pace: Pace::Still, preemptions: None })
    }

    /// The clock runs.
    #[must_use]
    pub fn pace(self, pace: Pace) -> Self {
        Self { pace, ..self }
    }

    /// Explores only the executions with at most so many preemptions.
    #[must_use]
    pub fn preemptions(self, bound: usize) -> Self {
        Self { preemptions: Some(bound), ..self }
    }

    /// Explores the race. Each execution must be one of its sequential orders.
    pub fn explore(self, tally: &Tally) {
        self.explore_and(tally, |_| ());
    }

    /// Explores the race. Each execution must be one of its sequential orders, and satisfy `verdict`.
    ///
    /// # Panics
    ///
    /// If one is not.
    pub fn explore_and(self, tally: &Tally, verdict: impl Fn(&Finish) + Send + Sync + 'static) {
        let mut builder = loom::model::Builder::new();
        // `LOOM_MAX_PREEMPTIONS` explores more of what is bounded, and never less.
        builder.preemption_bound =
            self.preemptions.map(|bound| bound.max(builder.preemption_bound.unwrap_or(0)));
        let _shown = ShownOnPanic(&self);
        let (race, count) = (Arc::new(self.clone()), tally.model());
        builder.check(move || {
            count();
            let (logs, end) = race.run();
            match order::find(&race.situation, &logs, end) {
                Ok(order) => {
                    let finish = Finish { logs, order };
                    let _shown = ShownOnPanic(&finish);
                    verdict(&finish);
                }
                Err(unexplained) => panic!("{unexplained}"),
            }
        });
    }

    /// Once.
    fn run(self: &Arc<Self>) -> (Vec<Vec<Event>>, Word) {
        let world = Arc::new(World::new(self));
        let others: Vec<_> = (1..self.scripts.len())
            .map(|actor| {
                let (race, world) = (Arc::clone(self), Arc::clone(&world));
                loom::thread::spawn(move || race.act(actor, &world))
            })
            .collect();
        let mut logs = vec![self.act(0, &world)];
        logs.extend(others.into_iter().map(|other| other.join().expect("an actor panicked")));
        let end = Word::from_bits(world.word.load(Ordering::Relaxed));
        (logs, end)
    }

    fn act(&self, actor: usize, world: &World) -> Vec<Event> {
        let mut events = Vec::with_capacity(self.scripts[actor].len());
        let mut own = None;
        let mut names = (0..NAMES_PER_ACTOR).map(|n| OWN_NAMES + actor as Name * NAMES_PER_ACTOR + n);
        let mut perform = |deed: Deed| {
            let event = world.perform(deed, &self.situation);
            let told = event.told;
            events.push(event);
            told
        };
        for step in &self.scripts[actor] {
            match *step {
                Step::Settle(name, bits, outcome) => {
                    perform(Deed::Settle { name, bits, outcome });
                }
                Step::Do(Op::Acquire) => {
                    let name = names.next().expect("scripts are short");
                    if let Told::Acquired(Ok((bits, _))) = perform(Deed::Acquire(name)) {
                        own = Some((name, bits));
                    }
                }
                Step::Do(Op::Report(outcome)) => {
                    if let Some((name, bits)) = own.take() {
                        perform(Deed::Settle { name, bits, outcome });
                    }
                }
                Step::Do(Op::Retire) => {
                    if let Told::Word(word) = perform(Deed::Read) {
                        perform(Deed::Retire(word));
                    }
                }
                Step::Do(op) => {
                    perform(plain(op));
                }
            }
        }
        events
    }
}

/// The deed of an operation that needs no ticket.
fn plain(op: Op) -> Deed {
    match op {
        Op::Peek => Deed::Peek,
        Op::Read => Deed::Read,
        Op::Trip => Deed::Trip,
        Op::Reset => Deed::Reset,
        Op::ForceOpen => Deed::ForceOpen,
        Op::ForceClosed => Deed::ForceClosed,
        Op::Tick(by) => Deed::Tick(by),
        Op::Publish => Deed::Publish,
        Op::Look => Deed::Look,
        Op::Acquire | Op::Settle(..) | Op::Report(_) | Op::Retire => {
            unreachable!("{op:?} takes more than a deed")
        }
    }
}

/// What the actors share.
struct World {
    word: AtomicU64,
    time: Time,
    data: AtomicU64,
}

impl World {
    fn new(race: &Race) -> Self {
        Self {
            word: AtomicU64::new(race.situation.word.to_bits()),
            time: Time::new(race.pace, race.situation.now),
            data: AtomicU64::new(0),
        }
    }

    fn perform(&self, deed: Deed, situation: &Situation) -> Event {
        let clock = Recorder::of(&self.time);
        let told = match deed {
            Deed::Tick(by) => {
                self.time.tick(by);
                Told::Nothing
            }
            // Relaxed: nothing but the word's promise may order the data.
            Deed::Publish => {
                self.data.store(PUBLISHED, Ordering::Relaxed);
                Told::Nothing
            }
            Deed::Look => Told::Data(self.data.load(Ordering::Relaxed)),
            _ => deed.on_cell(&self.word, &situation.limits, &clock),
        };
        Event { deed, told, readings: clock.into_readings() }
    }
}

/// The published data.
pub const PUBLISHED: u64 = 1;

impl Event {
    /// Whether the word has no part in this.
    #[must_use]
    pub(crate) const fn is_beside_the_word(&self) -> bool {
        matches!(self.deed, Deed::Tick(_) | Deed::Publish | Deed::Look)
    }
}

/// Prints what it holds while a panic passes.
struct ShownOnPanic<'a, T: fmt::Display>(&'a T);

impl<T: fmt::Display> Drop for ShownOnPanic<'_, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.0);
        }
    }
}

impl fmt::Display for Race {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Situation { name, word, now, grants, .. } = &*self.situation;
        writeln!(f, "race from: {name}, {word:?}, at {now}")?;
        for (name, (held, bits)) in grants.iter().enumerate() {
            writeln!(f, "  ticket {name}, {held:?}: {:?}", Ticket::from_bits(*bits))?;
        }
        for (actor, script) in self.scripts.iter().enumerate() {
            writeln!(f, "  actor {actor}: {script:?}")?;
        }
        write!(f, "  clock: {:?}, preemptions: {:?}", self.pace, self.preemptions)
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} -> {:?}", self.deed, self.told)?;
        if !self.readings.is_empty() {
            write!(f, ", clock said")?;
        }
        self.readings.iter().try_for_each(|reading| write!(f, " {reading}"))
    }
}
