//! The picture of both runs.

use std::error::Error;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use atomic_breaker::State;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::client::TIMEOUT;
use crate::figures::Figures;
use crate::panels;
use crate::plan::{Fault, Phase, Plan};
use crate::run::Run;
use crate::screen::span;
use crate::series::{self, Bin, Crowd};

pub(crate) type Canvas<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(crate) type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

pub(crate) struct Side {
    pub(crate) run: Run,
    pub(crate) figures: Figures,
}

/// Writes the picture as an SVG file.
pub(crate) fn draw(path: &Path, plan: &Plan, threads: u32, without: &Side, with: &Side) -> Result {
    let root = SVGBackend::new(path, (WIDTH, HEIGHT)).into_drawing_area();
    root.fill(&WHITE)?;

    label(&root, (LEFT, 22), &title(&without.figures, &with.figures), 34, INK, true)?;
    let lines = [
        format!(
            "Both runs: the same {} calls, {} a second, made by {threads} threads that give up on a call after {}.",
            grouped(plan.arrivals.len()),
            grouped(plan.rate as usize),
            span(TIMEOUT),
        ),
        format!(
            "The server {} for {:.1} s, then works again.",
            faults(plan),
            outage_length(plan).as_secs_f64()
        ),
    ];
    for (line, y) in lines.iter().zip([58, 77]) {
        label(&root, (LEFT, y), line, 18, FAINT, false)?;
    }

    let sides = [without, with].map(|side| Drawn {
        side,
        bins: series::bins(&side.run, plan.length),
        crowd: series::crowd(&side.run, plan.length),
    });
    let scale = Scale::new(plan, &sides);
    for (drawn, (top, name)) in
        sides.iter().zip([(112, "Without the breaker"), (112 + BLOCK, "With the breaker")])
    {
        let block = Block { root: &root, top, scale: &scale, drawn };
        block.draw(name)?;
    }
    root.present()?;
    Ok(())
}

const WIDTH: u32 = 1220;
const HEIGHT: u32 = 1136;
/// The plots reach from here to there; the numbers stand to the right.
pub(crate) const LEFT: i32 = 78;
pub(crate) const RIGHT: i32 = 960;
const NUMBERS: i32 = 994;
const BLOCK: i32 = 516;

pub(crate) const INK: RGBColor = RGBColor(0x22, 0x2b, 0x36);
pub(crate) const FAINT: RGBColor = RGBColor(0x5d, 0x69, 0x78);
pub(crate) const GRID: RGBColor = RGBColor(0xdf, 0xe3, 0xe8);
const OUTAGE: RGBColor = RGBColor(0xf6, 0xf0, 0xee);
pub(crate) const OK: RGBColor = RGBColor(0x43, 0xa0, 0x83);
pub(crate) const FAILED: RGBColor = RGBColor(0xcf, 0x4a, 0x3c);
pub(crate) const REJECTED: RGBColor = RGBColor(0xf2, 0xc1, 0x56);
/// The green of `OK`, dark enough for text.
const GOOD: RGBColor = RGBColor(0x1d, 0x75, 0x59);
const CLOSED: (&str, RGBColor) = ("closed", OK);
const OPEN: (&str, RGBColor) = ("open", REJECTED);
const HALF_OPEN: (&str, RGBColor) = ("half-open", RGBColor(0x7d, 0x5b, 0xa6));
const SERVER_WORKS: RGBColor = RGBColor(0xd9, 0xec, 0xe4);
const SERVER_FAILS: [RGBColor; 3] =
    [RGBColor(0x6f, 0x4a, 0x4e), RGBColor(0x8a, 0x5f, 0x62), RGBColor(0xa4, 0x76, 0x78)];

fn title(without: &Figures, with: &Figures) -> String {
    if with.waited < without.waited * 4 / 5 {
        let [after, before] = [with, without].map(|figures| seconds(figures.waited));
        format!("With the breaker, callers wait {after} in all instead of {before}")
    } else {
        format!(
            "The breaker keeps {} of {} calls off the failing server",
            grouped(without.sent_to_failing.saturating_sub(with.sent_to_failing)),
            grouped(without.sent_to_failing),
        )
    }
}

fn faults(plan: &Plan) -> String {
    let faults: Vec<_> = plan.outage.iter().map(|phase| phase.fault.to_string()).collect();
    match faults.as_slice() {
        [others @ .., last] if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        faults => faults.concat(),
    }
}

fn outage_length(plan: &Plan) -> Duration {
    plan.outage.iter().map(Phase::length).sum()
}

pub(crate) struct Drawn<'a> {
    side: &'a Side,
    pub(crate) bins: Vec<Bin>,
    pub(crate) crowd: Vec<Crowd>,
}

/// What the axes of both blocks must share for a fair comparison.
pub(crate) struct Scale {
    pub(crate) length: f64,
    pub(crate) rate: f64,
    pub(crate) crowd: f64,
    pub(crate) latency: Range<f64>,
}

impl Scale {
    fn new(plan: &Plan, sides: &[Drawn<'_>]) -> Self {
        let bins = || sides.iter().flat_map(|side| &side.bins);
        let crowds = sides.iter().flat_map(|side| &side.crowd);
        let rate = bins().map(|bin| bin.ok + bin.failed + bin.rejected).fold(0.0, f64::max);
        let crowd = crowds.map(|crowd| crowd.in_flight + crowd.waiting).fold(10.0, f64::max);
        let latency = bins().filter_map(|bin| bin.p99).fold(0.5, f64::max);
        Self {
            length: plan.length.as_secs_f64(),
            rate: 1.08 * rate,
            crowd: 1.08 * crowd,
            latency: 5e-5..2.0 * latency,
        }
    }

    fn x(&self, time: f64) -> i32 {
        let offset = (f64::from(RIGHT - LEFT) * (time / self.length).clamp(0.0, 1.0)).round() as i32;
        LEFT + offset
    }
}

/// One run's part of the picture.
pub(crate) struct Block<'a, 'f> {
    pub(crate) root: &'a Canvas<'f>,
    pub(crate) top: i32,
    pub(crate) scale: &'a Scale,
    pub(crate) drawn: &'a Drawn<'a>,
}

impl Block<'_, '_> {
    fn draw(&self, name: &str) -> Result {
        let run = &self.drawn.side.run;
        label(self.root, (LEFT, self.top + 2), name, 25, INK, true)?;

        if run.breaker.is_some() {
            key(self, self.top + 16, &[CLOSED, OPEN, HALF_OPEN])?;
        }
        let (from, until) = (run.outage_from().as_secs_f64(), run.outage_until().as_secs_f64());
        let shade = [(self.scale.x(from), self.top + 34), (self.scale.x(until), self.top + 474)];
        self.root.draw(&Rectangle::new(shade, OUTAGE.filled()))?;

        self.server_band(34)?;
        self.breaker_band(57)?;
        panels::outcomes(self, 78)?;
        panels::crowd(self, 222)?;
        panels::latency(self, 346)?;
        self.numbers()
    }

    fn server_band(&self, y: i32) -> Result {
        let run = &self.drawn.side.run;
        self.band_name(y, "server")?;
        let whole = Duration::ZERO..Duration::from_secs_f64(self.scale.length);
        self.segment(y, &whole, SERVER_WORKS)?;
        for (phase, colour) in run.outage.iter().zip(SERVER_FAILS) {
            let text = match phase.fault {
                Fault::Refuse => "refuses",
                Fault::Hang => "hangs",
                Fault::Error500 => "answers 500",
            };
            let time = phase.from..phase.until;
            self.segment(y, &time, colour)?;
            self.segment_text(y, &time, text, WHITE)?;
        }
        self.segment_text(y, &(whole.start..run.outage_from()), "works", INK)?;
        self.segment_text(y, &(run.outage_until()..whole.end), "works", INK)
    }

    fn breaker_band(&self, y: i32) -> Result {
        self.band_name(y, "breaker")?;
        let end = Duration::from_secs_f64(self.scale.length);
        let Some(log) = &self.drawn.side.run.breaker else {
            self.segment(y, &(Duration::ZERO..end), GRID)?;
            return self.segment_text(y, &(Duration::ZERO..end), "none", FAINT);
        };
        let starts = [(Duration::ZERO, State::Closed)]
            .into_iter()
            .chain(log.steps.iter().map(|step| (step.at, step.transition.to())));
        let ends = log.steps.iter().map(|step| step.at).chain([end]);
        let mut periods: Vec<_> = starts.zip(ends).collect();
        // Last, so that the next period does not cover a probe of a millisecond.
        periods.sort_by_key(|((_, state), _)| *state == State::HalfOpen);
        for ((start, state), end) in periods {
            let ((text, colour), ink) = match state {
                State::Closed | State::ForcedClosed => (CLOSED, WHITE),
                State::Open | State::ForcedOpen => (OPEN, INK),
                State::HalfOpen => (HALF_OPEN, WHITE),
            };
            self.segment(y, &(start..end), colour)?;
            self.segment_text(y, &(start..end), text, ink)?;
        }
        Ok(())
    }

    fn band_name(&self, y: i32, name: &str) -> Result {
        let at = (LEFT - 8, self.top + y + BAND / 2);
        write(self.root, at, name, anchored(&style(15, FAINT, false), HPos::Right, VPos::Center))
    }

    fn segment(&self, y: i32, time: &Range<Duration>, colour: RGBColor) -> Result {
        let (start, end) = self.pixels(time);
        // The shortest probe is to be seen, too.
        let corners = [(start, self.top + y), (end.max(start + 3), self.top + y + BAND)];
        self.root.draw(&Rectangle::new(corners, colour.filled()))?;
        Ok(())
    }

    /// The text in the middle of the segment, if it fits in.
    fn segment_text(&self, y: i32, time: &Range<Duration>, content: &str, colour: RGBColor) -> Result {
        let (start, end) = self.pixels(time);
        let needed = 8 * i32::try_from(content.len())?;
        if end - start < needed {
            return Ok(());
        }
        let at = (i32::midpoint(start, end), self.top + y + BAND / 2);
        let style = anchored(&style(15, colour, false), HPos::Center, VPos::Center);
        write(self.root, at, content, style)
    }

    fn pixels(&self, time: &Range<Duration>) -> (i32, i32) {
        (self.scale.x(time.start.as_secs_f64()), self.scale.x(time.end.as_secs_f64()))
    }

    fn numbers(&self) -> Result {
        let figures = &self.drawn.side.figures;
        let time = |time: Option<Duration>, none: &str| match time {
            Some(time) if time < Duration::from_millis(10) => "at once".to_owned(),
            Some(time) => span(time),
            None => none.to_owned(),
        };
        let price = match figures.rejected_needlessly {
            0 => String::new(),
            rejected => format!("{} calls rejected meanwhile", grouped(rejected)),
        };
        let (ok, failed) = (grouped(figures.ok), grouped(figures.failed));
        let entries = [
            (
                "callers waited, in all",
                seconds(figures.waited),
                format!("{ok} ok, {failed} failed, {} rejected", grouped(figures.rejected)),
            ),
            (
                "of it, for calls that failed",
                seconds(figures.waited_in_vain),
                format!("1 call in 100 took over {}", span(figures.p99)),
            ),
            (
                "sent to the failing server",
                format!("{} calls", grouped(figures.sent_to_failing)),
                format!("{} callers queued at worst", grouped(figures.most_waiting)),
            ),
            ("outage noticed after", time(figures.detected, "never"), String::new()),
            ("normal service after its end", time(figures.recovered, "not seen"), price),
        ];
        let guarded = self.drawn.side.run.breaker.is_some();
        for (row, (name, number, note)) in (0..).zip(entries) {
            // The last is what the breaker costs.
            let colour = if guarded && row < 4 { GOOD } else { INK };
            let y = self.top + 36 + 90 * row;
            label(self.root, (NUMBERS, y), name, 16, FAINT, false)?;
            label(self.root, (NUMBERS, y + 17), &number, 32, colour, true)?;
            label(self.root, (NUMBERS, y + 46), &note, 14, FAINT, false)?;
        }
        Ok(())
    }
}

const BAND: i32 = 18;

pub(crate) fn style(size: i32, colour: RGBColor, bold: bool) -> TextStyle<'static> {
    let weight = if bold { FontStyle::Bold } else { FontStyle::Normal };
    ("sans-serif", size).into_font().style(weight).color(&colour)
}

fn label(
    canvas: &Canvas<'_>,
    at: (i32, i32),
    content: &str,
    size: i32,
    colour: RGBColor,
    bold: bool,
) -> Result {
    write(canvas, at, content, style(size, colour, bold))
}

pub(crate) fn anchored(style: &TextStyle<'static>, horizontal: HPos, vertical: VPos) -> TextStyle<'static> {
    style.pos(Pos::new(horizontal, vertical))
}

pub(crate) fn write(canvas: &Canvas<'_>, at: (i32, i32), content: &str, style: TextStyle<'_>) -> Result {
    canvas.draw(&Text::new(content, at, style))?;
    Ok(())
}

/// Names and colours, in a row that ends at the right edge of the charts.
pub(crate) fn key(block: &Block<'_, '_>, y: i32, entries: &[(&str, RGBColor)]) -> Result {
    // Nobody knows the font that the picture will be shown with.
    let width = |text: &str| 26 + 8 * i32::try_from(text.len()).unwrap_or(0);
    let mut x = RIGHT + 8 - entries.iter().map(|(name, _)| width(name)).sum::<i32>();
    for (name, colour) in entries {
        let swatch = [(x, y - 5), (x + 11, y + 6)];
        block.root.draw(&Rectangle::new(swatch, colour.filled()))?;
        write(block.root, (x + 16, y), name, anchored(&style(15, INK, false), HPos::Left, VPos::Center))?;
        x += width(name);
    }
    Ok(())
}

fn seconds(time: Duration) -> String {
    match time.as_secs_f64() {
        seconds if seconds < 10.0 => format!("{seconds:.1} s"),
        seconds => format!("{} s", grouped(seconds.round() as usize)),
    }
}

/// 1234567 as 1,234,567.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
