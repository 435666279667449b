//! The search for an order of the deeds that explains what everybody was told.

use std::fmt;

use atomic_breaker::engine::Word;

use crate::laws::Ledger;
use crate::race::Event;
use crate::story::Situation;
use crate::time::Replay;

/// One sequential order of the deeds of a race.
#[derive(Clone, Debug)]
pub struct Order {
    /// The deeds: actor, and number in the actor's log.
    pub deeds: Vec<(usize, usize)>,
    /// The words, from the one before the first deed to the one after the last.
    pub words: Vec<Word>,
}

/// The longest beginnings of an order, and why they go no further.
#[derive(Clone, Debug)]
pub(crate) struct Unexplained(Vec<(Order, String)>);

/// Finds an order that respects each actor's own, in which each deed, done alone, is told what it was told, the last
/// word is `end`, and no law is broken.
///
/// Real time does not count: a load may find an old word, however late it comes.
///
/// # Errors
///
/// The longest beginnings of such an order.
pub(crate) fn find(situation: &Situation, logs: &[Vec<Event>], end: Word) -> Result<Order, Unexplained> {
    let mut search = Search::new(situation, logs, end, false);
    if search.run() {
        return Ok(search.order);
    }
    // Once more, this time with the reasons: a model whose orders all can be explained has no use for them.
    let mut search = Search::new(situation, logs, end, true);
    search.run();
    Err(Unexplained(search.stuck))
}

struct Search<'a> {
    situation: &'a Situation,
    logs: &'a [Vec<Event>],
    end: Word,
    order: Order,
    is_told_why: bool,
    stuck: Vec<(Order, String)>,
}

impl<'a> Search<'a> {
    fn new(situation: &'a Situation, logs: &'a [Vec<Event>], end: Word, is_told_why: bool) -> Self {
        let order = Order { deeds: Vec::new(), words: vec![situation.word] };
        Self { situation, logs, end, order, is_told_why, stuck: Vec::new() }
    }

    fn run(&mut self) -> bool {
        self.extend(&mut vec![0; self.logs.len()], Ledger::open(self.situation))
    }

    /// Whether the order so far can be completed. If so, it is.
    fn extend(&mut self, heads: &mut [usize], ledger: Ledger) -> bool {
        let before = self.order.words[self.order.deeds.len()];
        let mut is_complete = true;
        for actor in 0..heads.len() {
            let head = heads[actor];
            let Some(event) = self.logs[actor].get(head) else { continue };
            is_complete = false;
            let mut ledger = ledger;
            let Some(after) = alone(self.situation, before, event) else {
                self.give_up(|| format!("actor {actor} would be told something else here: {event}"));
                continue;
            };
            if let Err(broken) = ledger.book(self.situation, actor, before, event, after) {
                self.give_up(|| format!("{broken}: actor {actor}, {event}, makes it {after:?}"));
                continue;
            }
            heads[actor] += 1;
            self.order.deeds.push((actor, head));
            self.order.words.push(after);
            if self.extend(heads, ledger) {
                return true;
            }
            self.order.deeds.pop();
            self.order.words.pop();
            heads[actor] -= 1;
        }
        if is_complete && before != self.end {
            let end = self.end;
            self.give_up(|| format!("the circuit was left at another word: {end:?}"));
        }
        is_complete && before == self.end
    }

    fn give_up(&mut self, why: impl FnOnce() -> String) {
        if !self.is_told_why {
            return;
        }
        let longest = self.stuck.first().map_or(0, |(order, _)| order.deeds.len());
        if self.order.deeds.len() > longest {
            self.stuck.clear();
        }
        if self.order.deeds.len() >= longest {
            self.stuck.push((self.order.clone(), why()));
        }
    }
}

/// The word that the deed leaves, done alone, if it is told there what it was told.
fn alone(situation: &Situation, before: Word, event: &Event) -> Option<Word> {
    // The readings of lost attempts come first. How many belong to the last one, the deed itself tells.
    (0..=event.readings.len()).find_map(|last| {
        let clock = Replay::of(&event.readings[event.readings.len() - last..]);
        let (told, after) = event.deed.on_word(before, &situation.limits, &clock);
        (clock.is_spent() && (told == event.told || event.is_beside_the_word())).then_some(after)
    })
}

impl fmt::Display for Unexplained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "no order of the deeds explains this. The longest beginnings:")?;
        for (order, why) in &self.0 {
            writeln!(f, "  actors {:?}", order.deeds.iter().map(|(actor, _)| actor).collect::<Vec<_>>())?;
            for word in &order.words {
                writeln!(f, "    {word:?}")?;
            }
            writeln!(f, "    then {why}")?;
        }
        Ok(())
    }
}
