//! The three charts in each half of the picture.

use std::ops::Range;

use plotters::coord::ranged1d::Ranged;
use plotters::coord::types::RangedCoordf64;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use crate::client::TIMEOUT;
use crate::picture::{
    Block, FAILED, FAINT, GRID, LEFT, OK, REJECTED, RIGHT, Result, anchored, key, style, write,
};
use crate::series::{Bin, Crowd};

type Plot<'a> = DrawingArea<SVGBackend<'a>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

const IN_FLIGHT: RGBColor = RGBColor(0x3f, 0x74, 0xb5);
const WAITING: RGBColor = RGBColor(0xa9, 0xc6, 0xe8);
const P50: RGBColor = RGBColor(0x4a, 0x55, 0x63);
const P99: RGBColor = RGBColor(0xb0, 0x3a, 0x85);

/// What became of the calls, as stacked areas.
pub(crate) fn outcomes(block: &Block<'_, '_>, y: i32) -> Result {
    let keys = [("ok", OK), ("failed", FAILED), ("rejected by the breaker", REJECTED)];
    heading(block, y, "what became of the calls that arrived, per second", &keys)?;
    let plot = plot(block, y + HEADING, 112, 0.0..block.scale.rate, |value| format!("{value:.0}"))?;
    let bins = &block.drawn.bins;
    let steps = |height: fn(&Bin) -> f64| {
        bins.iter()
            .flat_map(move |bin| [bin.time.start, bin.time.end].map(|time| (time, height(bin))))
            .collect::<Vec<_>>()
    };
    let layers = [
        steps(|_| 0.0),
        steps(|bin| bin.ok),
        steps(|bin| bin.ok + bin.failed),
        steps(|bin| bin.ok + bin.failed + bin.rejected),
    ];
    stack(&plot, &layers, &keys.map(|(_, colour)| colour))
}

/// How many callers were stuck in a call or queueing for a thread.
pub(crate) fn crowd(block: &Block<'_, '_>, y: i32) -> Result {
    let keys = [("call in flight", IN_FLIGHT), ("waiting for a free thread", WAITING)];
    heading(block, y, "callers kept busy", &keys)?;
    let plot = plot(block, y + HEADING, 92, 0.0..block.scale.crowd, |value| format!("{value:.0}"))?;
    let line = |height: fn(&Crowd) -> f64| {
        block.drawn.crowd.iter().map(|crowd| (crowd.time, height(crowd))).collect::<Vec<_>>()
    };
    let in_flight = line(|crowd| crowd.in_flight);
    let layers = [line(|_| 0.0), in_flight.clone(), line(|crowd| crowd.in_flight + crowd.waiting)];
    stack(&plot, &layers, &keys.map(|(_, colour)| colour))?;
    // A handful of calls is less than a pixel high.
    plot.draw(&PathElement::new(in_flight, IN_FLIGHT.stroke_width(1)))?;
    Ok(())
}

/// What the callers felt, on a logarithmic scale.
pub(crate) fn latency(block: &Block<'_, '_>, y: i32) -> Result {
    let keys = [("p50", P50), ("p99", P99)];
    heading(block, y, "time until the caller had an answer, from its arrival on", &keys)?;
    let range = block.scale.latency.start.log10()..block.scale.latency.end.log10();
    let bottom = range.start;
    let plot = plot(block, y + HEADING, 100, range, |value| match 10_f64.powf(value) {
        seconds if seconds < 9e-4 => format!("{:.1} ms", seconds * 1e3),
        seconds if seconds < 0.9 => format!("{:.0} ms", seconds * 1e3),
        seconds => format!("{seconds:.0} s"),
    })?;

    let timeout = TIMEOUT.as_secs_f64().log10();
    let ends = [(0.0, timeout), (block.scale.length, timeout)];
    plot.draw(&DashedPathElement::new(ends, 4, 4, FAINT.stroke_width(1)))?;
    let (x, at) = plot.map_coordinate(&(block.scale.length, timeout));
    let note = anchored(&style(13, FAINT, false), HPos::Right, VPos::Bottom);
    write(block.root, (x - 4, at - 1), "timeout", note)?;

    let p50 = |bin: &Bin| bin.p50;
    let p99 = |bin: &Bin| bin.p99;
    for (colour, value) in [(P99, p99 as fn(&Bin) -> _), (P50, p50)] {
        let steps: Vec<_> = block
            .drawn
            .bins
            .iter()
            .filter_map(|bin| Some((&bin.time, value(bin)?.log10().max(bottom))))
            .flat_map(|(time, value)| [(time.start, value), (time.end, value)])
            .collect();
        plot.draw(&PathElement::new(steps, colour.stroke_width(2)))?;
    }
    time_axis(block, &plot)
}

const HEADING: i32 = 24;

/// The title of a chart, followed by the key to its colours.
fn heading(block: &Block<'_, '_>, y: i32, title: &str, keys: &[(&str, RGBColor)]) -> Result {
    let y = block.top + y + 15;
    write(block.root, (LEFT, y), title, anchored(&style(15, FAINT, false), HPos::Left, VPos::Center))?;

    key(block, y, keys)
}

/// An empty chart with its grid and the labels of its y axis.
fn plot<'a>(
    block: &Block<'_, 'a>,
    y: i32,
    height: i32,
    values: Range<f64>,
    format: fn(f64) -> String,
) -> Result<Plot<'a>> {
    let pixels = (LEFT..RIGHT, block.top + y + height..block.top + y);
    let spec = Cartesian2d::<RangedCoordf64, RangedCoordf64>::new(0.0..block.scale.length, values, pixels);
    let plot = block.root.clone().apply_coord_spec(spec);
    for time in times(block) {
        let ends = [(time, plot.get_y_range().start), (time, plot.get_y_range().end)];
        plot.draw(&PathElement::new(ends, GRID.stroke_width(1)))?;
    }
    for value in plot.as_coord_spec().y_spec().key_points(5_usize) {
        let ends = [(0.0, value), (block.scale.length, value)];
        plot.draw(&PathElement::new(ends, GRID.stroke_width(1)))?;
        let (_, at) = plot.map_coordinate(&(0.0, value));
        let right = anchored(&style(14, FAINT, false), HPos::Right, VPos::Center);
        write(block.root, (LEFT - 8, at), &format(value), right)?;
    }
    Ok(plot)
}

fn time_axis(block: &Block<'_, '_>, plot: &Plot<'_>) -> Result {
    for time in times(block) {
        let (x, y) = plot.map_coordinate(&(time, plot.get_y_range().start));
        let centre = anchored(&style(14, FAINT, false), HPos::Center, VPos::Top);
        write(block.root, (x, y + 5), &format!("{time} s"), centre)?;
    }
    Ok(())
}

fn times(block: &Block<'_, '_>) -> Vec<f64> {
    RangedCoordf64::from(0.0..block.scale.length).key_points(11_usize)
}

/// Fills the space between each layer and the next.
fn stack(plot: &Plot<'_>, layers: &[Vec<(f64, f64)>], colours: &[RGBColor]) -> Result {
    for (pair, colour) in layers.windows(2).zip(colours) {
        let outline: Vec<_> = pair[1].iter().chain(pair[0].iter().rev()).copied().collect();
        plot.draw(&Polygon::new(outline, colour.filled()))?;
    }
    Ok(())
}
