//! The check that every call is accounted for.

use std::collections::HashMap;

use atomic_breaker::{State, Transition};

use crate::client::Failure;
use crate::run::{BreakerLog, Call, Run, Verdict};
use crate::server::Reply;

/// One statement that must hold for the numbers to be believed.
pub(crate) struct Check {
    pub(crate) holds: bool,
    pub(crate) text: String,
}

/// Compares the callers' account with the server's, call by call.
pub(crate) fn check(run: &Run, arrivals: usize) -> Vec<Check> {
    let mut checks = callers_and_server(run, arrivals);
    if let Some(log) = &run.breaker {
        checks.extend(breaker(run, log));
    }
    checks
}

fn callers_and_server(run: &Run, arrivals: usize) -> Vec<Check> {
    let mut replies: HashMap<usize, Vec<Reply>> = HashMap::new();
    for seen in &run.ledger.seen {
        replies.entry(seen.id).or_default().push(seen.reply);
    }
    let replies_to = |call: &Call| replies.get(&call.id).map_or(&[][..], Vec::as_slice);

    let of = |verdict: Verdict| run.calls.iter().filter(move |call| call.verdict == verdict);
    let failed = |failure| of(Verdict::Failed(failure)).count();
    let (ok, rejected) = (of(Verdict::Ok).count(), of(Verdict::Rejected).count());
    let (refused, cut) = (failed(Failure::Refused), failed(Failure::Cut));
    let (timed_out, status_500) = (failed(Failure::TimedOut), failed(Failure::Status500));
    let count = |reply| run.ledger.seen.iter().filter(|seen| seen.reply == reply).count();
    let (sent_200, sent_500) = (count(Reply::Status200), count(Reply::Status500));
    let (unanswered, read) = (count(Reply::Nothing), run.ledger.read);

    let mut checks = Vec::new();
    let mut claim = |holds, text| checks.push(Check { holds, text });

    let failures = refused + timed_out + cut + status_500;
    claim(
        run.calls.iter().map(|call| call.id).eq(0..arrivals) && ok + failures + rejected == arrivals,
        format!(
            "{arrivals} arrivals = {ok} ok + {failures} failed + {rejected} rejected, each attempted once"
        ),
    );
    let sent = run.calls.iter().filter(|call| call.sent.is_some()).count();
    claim(
        sent == ok + failures,
        format!(
            "{sent} calls sent = {ok} ok + {timed_out} timed out + {refused} refused + {cut} cut off + \
             {status_500} status 500"
        ),
    );
    claim(
        read == sent_200 + sent_500 + unanswered,
        format!(
            "{read} read by the server = {sent_200} answered 200 + {sent_500} answered 500 + {unanswered} unanswered"
        ),
    );
    claim(
        of(Verdict::Ok).all(|call| replies_to(call) == [Reply::Status200]),
        format!("{ok} ok: each was read once by the server and answered 200"),
    );
    claim(
        of(Verdict::Failed(Failure::Status500)).all(|call| replies_to(call) == [Reply::Status500]),
        format!("{status_500} status 500: each was read once by the server and answered 500"),
    );
    claim(
        of(Verdict::Rejected)
            .chain(of(Verdict::Failed(Failure::Refused)))
            .all(|call| replies_to(call).is_empty()),
        format!("{rejected} rejected, {refused} refused: none of them reached the server"),
    );
    // One that the caller gave up on may have reached the server or not.
    let lost = |failure| of(Verdict::Failed(failure)).map(replies_to);
    let unheard: usize = lost(Failure::TimedOut).chain(lost(Failure::Cut)).map(<[_]>::len).sum();
    claim(
        read == ok + status_500 + unheard && replies.values().all(|replies| replies.len() == 1),
        format!(
            "{read} read by the server = {ok} ok + {status_500} status 500 + {unheard} of {} timed out or cut off",
            timed_out + cut
        ),
    );
    checks
}

fn breaker(run: &Run, log: &BreakerLog) -> [Check; 3] {
    let rejected = run.calls.iter().filter(|call| call.verdict == Verdict::Rejected).count();
    let transitions: Vec<_> = log.steps.iter().map(|step| step.transition).collect();
    let starts = [State::Closed].into_iter().chain(transitions.iter().map(Transition::to));
    let ends = transitions.iter().map(Transition::from).chain([log.last.state()]);
    let numbered = transitions.windows(2).all(|pair| pair[1].turn() == pair[0].turn().wrapping_add(1));
    [
        Check {
            holds: log.rejected == rejected as u64,
            text: format!(
                "{} rejections reported by the breaker = {rejected} met by the callers",
                log.rejected
            ),
        },
        Check {
            holds: starts.eq(ends) && numbered,
            text: format!(
                "{} transitions reported: one chain, from closed to {}",
                transitions.len(),
                log.last.state()
            ),
        },
        Check {
            holds: log.last.probes_in_flight() == 0,
            text: format!("{} probes still hold a slot after the last call", log.last.probes_in_flight()),
        },
    ]
}
