//! The command line.

use std::error::Error;
use std::fmt::Display;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use lexopt::prelude::*;

pub(crate) const HELP: &str = "\
Drives a real HTTP server through an outage, once without and once with a
circuit breaker, and shows what the breaker saved.

Usage: outage [OPTIONS]

Options:
  --fault KIND    how the server fails: refuse, hang, error500, or mixed,
                  which is all three in turn          [default: mixed]
  --seconds N     length of each of the two runs      [default: 7]
  --threads N     threads that make the calls         [default: 48]
  --rate N        calls per second, of all threads    [default: 8 per thread,
                                                       at most 800]
  --seed N        seed of the workload                [default: 1]
  --output PATH   where to write the picture (SVG)    [default: outage.svg,
                                                       in target/ if there is one]
  --help          show this help

Exit status: 0 when every call is accounted for, 1 when not or when something
else went wrong, 2 when an option is not understood.
";

pub(crate) struct Options {
    pub(crate) fault: FaultKind,
    pub(crate) length: Duration,
    pub(crate) threads: u32,
    pub(crate) rate: u32,
    pub(crate) seed: u64,
    pub(crate) output: PathBuf,
}

#[derive(Clone, Copy)]
pub(crate) enum FaultKind {
    Refuse,
    Hang,
    Error500,
    Mixed,
}

/// The options given, or `None` if what was asked for is the help text.
pub(crate) fn parse(mut arguments: lexopt::Parser) -> Result<Option<Options>, Box<dyn Error>> {
    let mut fault = FaultKind::Mixed;
    let mut seconds = 7.0;
    let mut threads = 48;
    let mut rate = None;
    let mut seed = 1;
    let mut output = None;

    while let Some(argument) = arguments.next()? {
        match argument {
            Long("fault") => fault = value(&mut arguments, "--fault")?,
            Long("seconds") => seconds = value(&mut arguments, "--seconds")?,
            Long("threads") => threads = value(&mut arguments, "--threads")?,
            Long("rate") => rate = Some(value(&mut arguments, "--rate")?),
            Long("seed") => seed = value(&mut arguments, "--seed")?,
            Long("output") | Short('o') => {
                output = Some(PathBuf::from(arguments.value()?));
            }
            Long("help") | Short('h') => return Ok(None),
            other => return Err(other.unexpected().into()),
        }
    }

    if !(2.0..=300.0).contains(&seconds) {
        return Err(format!("--seconds must be from 2 to 300, not {seconds}").into());
    }
    // Each thread costs a socket at either end, and both ends live here.
    if !(1..=256).contains(&threads) {
        return Err(format!("--threads must be from 1 to 256, not {threads}").into());
    }
    let rate = rate.unwrap_or((8 * threads).min(800));
    let most = (40 * threads).min(2000);
    if !(1..=most).contains(&rate) {
        return Err(format!(
            "--rate must be from 1 to {most}, not {rate}: more is too much for {threads} threads, even with a \
             healthy server"
        )
        .into());
    }

    let output = output.unwrap_or_else(default_output);
    // Better to hear of it now than after both runs. An earlier picture stays.
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(&output)
        .map_err(|error| format!("cannot write --output {}: {error}", output.display()))?;

    Ok(Some(Options { fault, length: Duration::from_secs_f64(seconds), threads, rate, seed, output }))
}

impl FromStr for FaultKind {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "refuse" => Ok(Self::Refuse),
            "hang" => Ok(Self::Hang),
            "error500" => Ok(Self::Error500),
            "mixed" => Ok(Self::Mixed),
            _ => Err("must be refuse, hang, error500 or mixed"),
        }
    }
}

fn value<T>(arguments: &mut lexopt::Parser, flag: &str) -> Result<T, Box<dyn Error>>
where
    T: FromStr<Err: Display>,
{
    let text = arguments.value()?;
    let text = text.to_string_lossy();
    text.parse().map_err(|error| format!("{flag} {text}: {error}").into())
}

fn default_output() -> PathBuf {
    let target = Path::new("target");
    if target.is_dir() { target.join("outage.svg") } else { PathBuf::from("outage.svg") }
}
