//! Loom models of the engine.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test -p loom-tests --profile loom -- --nocapture
//! ```
//!
//! A [`Race`] lets actors, each with a script of [`Op`]s, loose on one circuit in some [`Situation`]. Loom runs it in
//! every execution that the memory model allows: two actors in all of them, three and four with a bounded number of
//! preemptions. What the actors were told and the word that they left must then be what *some* sequential order of
//! the same deeds, each done alone by the pure transitions, would have told and left. That finds whatever is wrong with
//! the loop around the transitions. What is wrong with the transitions themselves, both sides of the comparison share;
//! so each order also has to satisfy laws that know the tickets by name and look at no bits to tell them apart.
//!
//! Each mistake below was made on purpose in a copy of the crate, and found:
//!
//! | mistake | hunted by |
//! |---|---|
//! | the swap is a store; it is not repeated, or repeated on an old word | pairs, triples, sequences, races |
//! | a change is handed to the loser, to nobody, or names another word | pairs, sequences; races `every_change_of_state_is_handed_out_once` |
//! | more probes than slots | races `callers_..._get_the_slots_and_no_more` |
//! | the clock is read before the word, or not again after a lost swap | clock |
//! | a probe flies early, a rejection tells a wrong time | law `admission`, law `rejection`: any test |
//! | the load, or either side of the swap, is relaxed | ordering |
//! | a written-off probe gives back the slot of another | law `slots`; races `an_overdue_report_frees_no_slot_...` |
//! | a transition that does not turn; an old outcome that counts | law `turn`, law `staleness`; races `a_late_drop_...` |
//! | a circuit is retired while armed, or twice | retire |
//!
//! Loom's weak swap never fails for nothing, and `SeqCst` is no more than `AcqRel` to it. Miri sees to the first, and
//! the engine does without the second.

#![cfg(loom)]

mod finish;
mod laws;
mod op;
mod order;
mod race;
pub mod situations;
mod story;
mod tally;
mod time;

pub use self::{
    finish::Finish,
    op::{Deed, Held, Name, Op, Told},
    order::Order,
    race::{Event, PUBLISHED, Race},
    story::{LEASE, MOMENT, Setting, Situation, Story, WAIT},
    tally::Tally,
    time::Pace,
};
