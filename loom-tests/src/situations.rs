//! Every kind of state.

use atomic_breaker::Outcome;

use crate::op::Held;
use crate::story::{LEASE, Setting, Situation, Story, WAIT};

/// All of them.
#[must_use]
pub fn all() -> Vec<Situation> {
    [closed(), open(), half_open(), forced()].concat()
}

/// Closed circuits.
#[must_use]
pub fn closed() -> Vec<Situation> {
    vec![
        calls(Story::begin(Setting::new())).end("closed, nothing ever happened"),
        calls(Story::with_a_past(Setting::new())).end("closed, fresh"),
        calls(Story::with_a_past(Setting::new()).fail(1)).end("closed, two below the threshold"),
        one_below_the_threshold(),
    ]
}

/// Closed, and the next failure opens.
#[must_use]
pub fn one_below_the_threshold() -> Situation {
    calls(Story::with_a_past(Setting::new()).fail(2)).end("closed, one below the threshold")
}

/// Open circuits.
#[must_use]
pub fn open() -> Vec<Situation> {
    vec![
        Story::open(Setting::new()).end("open, in the millisecond of its opening"),
        Story::open(Setting::new()).almost(WAIT).end("open, in the last millisecond of the wait"),
        Story::open(Setting::new()).exactly(WAIT).end("open, due from this moment on"),
        due(1),
        due(2),
        Story::due(Setting::new().unlimited()).end("open, due, unlimited"),
        reopened().end("open, due, with back-off and jitter"),
    ]
}

/// Open, and the next call is a probe.
#[must_use]
pub fn due(slots: u32) -> Situation {
    Story::due(Setting::new().slots(slots)).end(match slots {
        1 => "open, due, one slot",
        2 => "open, due, two slots",
        _ => "open, due, three slots",
    })
}

/// Half-open circuits.
#[must_use]
pub fn half_open() -> Vec<Situation> {
    let slots = |slots| Setting::new().slots(slots);
    vec![
        idle(1),
        written_off_and_idle(),
        probes(slots(2), 1).end("half-open, one slot of two is free"),
        probes(slots(1), 1).end("half-open, full, one slot"),
        probes(slots(2), 2).almost(LEASE).end("half-open, full, two slots, last millisecond of the lease"),
        probes(slots(1), 1).exactly(LEASE).end("half-open, full, overdue from this moment on"),
        probes(slots(2).without_lease(), 2).wait(LEASE).end("half-open, full, leases never end"),
        overdue(1),
        overdue(2),
        overdue_with_back_off(),
        written_off(),
        written_off_beside_a_free_slot(),
        one_success_short(),
        one_success(slots(2).successes(2), 2).end("half-open, full, two slots, one success short"),
        one_success(slots(1).successes(2), 0).end("half-open, idle, one success short"),
        probes(Setting::new().unlimited(), 2).end("half-open, unlimited"),
        one_success(Setting::new().unlimited().successes(2), 2)
            .end("half-open, unlimited, one success short"),
    ]
}

/// Half-open, no probe in flight.
#[must_use]
pub fn idle(slots: u32) -> Situation {
    let mut story = Story::due(Setting::new().slots(slots));
    let probe = story.admit();
    story.settle(probe, Outcome::Ignored).end(match slots {
        1 => "half-open, idle, one slot",
        2 => "half-open, idle, two slots",
        _ => "half-open, idle, three slots",
    })
}

/// Half-open, all slots taken by probes whose lease is over.
#[must_use]
pub fn overdue(slots: u32) -> Situation {
    probes(Setting::new().slots(slots), slots as usize).wait(LEASE).end(match slots {
        1 => "half-open, overdue, one slot",
        2 => "half-open, overdue, two slots",
        _ => "half-open, overdue, three slots",
    })
}

/// Half-open; the probe that was written off and the one that did it are both out, and one success does not close.
#[must_use]
pub fn written_off() -> Situation {
    let mut story = probes(Setting::new().successes(2), 1).wait(LEASE).written_off();
    let newer = story.admit();
    story.out(Held::Current, &[newer]).end("half-open, full, a written-off probe is out")
}

/// Half-open with one success; the next one closes.
#[must_use]
pub fn one_success_short() -> Situation {
    one_success(Setting::new().successes(2), 1).end("half-open, full, one success short")
}

/// Forced circuits, and a retired one.
#[must_use]
pub fn forced() -> Vec<Situation> {
    let past = || Story::with_a_past(Setting::new());
    vec![
        past().force_open().end("forced open"),
        calls(past().force_closed()).end("forced closed"),
        calls(past().retire()).end("retired"),
    ]
}

fn written_off_and_idle() -> Situation {
    let mut story = probes(Setting::new(), 1).wait(LEASE).written_off();
    let newer = story.admit();
    story.settle(newer, Outcome::Ignored).end("half-open, idle, a written-off probe is out")
}

fn written_off_beside_a_free_slot() -> Situation {
    let mut story = probes(Setting::new().slots(2).successes(3), 2).wait(LEASE).written_off();
    let newer = story.admit();
    story
        .out(Held::Current, &[newer])
        .end("half-open, one slot of two is free, two written-off probes are out")
}

fn overdue_with_back_off() -> Situation {
    let mut story = reopened();
    let probe = story.admit();
    story.out(Held::Current, &[probe]).wait(4 * WAIT).end("half-open, overdue, with back-off and jitter")
}

/// Open for the second time since it last closed, and due.
fn reopened() -> Story {
    let mut story = Story::due(Setting::new().backing_off());
    let probe = story.admit();
    story.settle(probe, Outcome::Failure).wait(4 * WAIT)
}

/// Three admitted calls are out.
fn calls(mut story: Story) -> Story {
    let tickets = [story.admit(), story.admit(), story.admit()];
    story.out(Held::Current, &tickets)
}

/// So many probes are out, in one lease.
fn probes(setting: Setting, probes: usize) -> Story {
    let mut story = Story::due(setting);
    let tickets: Vec<u64> = (0..probes).map(|_| story.admit()).collect();
    story.out(Held::Current, &tickets)
}

/// One probe was a success, and so many others are out.
fn one_success(setting: Setting, others: usize) -> Story {
    let mut story = Story::due(setting);
    let probe = story.admit();
    let mut story = story.settle(probe, Outcome::Success);
    let tickets: Vec<u64> = (0..others).map(|_| story.admit()).collect();
    story.out(Held::Current, &tickets)
}
