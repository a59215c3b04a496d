//! The `imbrex` program: compares translation layers on workloads, and shows why its numbers can be believed.
//!
//! It is a library so that another program can be made of it: [`run_with`] is the whole program with layers of somebody
//! else's, and its `main` is that line.
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod bands;
mod baselines;
mod bound;
mod compare;
mod comparison;
mod completion;
mod examples;
mod explore;
mod help;
mod list;
mod manual;
mod replay;
mod report;
mod story;
mod sweep;
mod trace;
mod validate;
mod watch_disk;

use std::env;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Error, Result};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::CompleteEnv;
use imbrex::layers::LayerInfo;
use imbrex_terminal::{say, stop};

/// Translation layers for overlapped-track hard disks, compared on workloads
#[derive(Parser)]
#[command(name = "imbrex", version, disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Compare(compare::Compare),
    Advise(imbrex_advice::Advise),
    Bound(bound::Bound),
    Replay(replay::Replay),
    Reproduce(imbrex_papers::Reproduce),
    Report(report::ReportCommand),
    Sweep(sweep::Sweep),
    Trace(trace::Trace),
    List(list::List),
    Validate(validate::Validate),
    Explore(explore::Explore),
    Format(imbrex_volumes::format::Format),
    Serve(imbrex_volumes::serve::Serve),
    #[cfg(feature = "web")]
    Web(imbrex_volumes::web::Web),
    Status(imbrex_volumes::status::Show),
    Top(imbrex_volumes::top::Top),
    Clean(imbrex_volumes::clean::Clean),
    Grow(imbrex_volumes::grow::Grow),
    Check(imbrex_volumes::check::Check),
    Scrub(imbrex_volumes::scrub::Scrub),
    Probe(imbrex_probe::command::Probe),
    Inspect(imbrex_volumes::inspect::Inspect),
    Dump(imbrex_volumes::dump::Dump),
    /// Measure lookups, replays, memory and trace decoding in one run
    Bench(imbrex_bench::Args),
    Manual(manual::Manual),
    Help(help::Help),
}

/// The library that the program is made from, so that a layer needs no other dependency.
pub use imbrex;

/// The program, with `layers` beside those that it comes with: everything that goes by the name of a layer knows them.
///
/// A layer that has the name of another one is refused before anything else.
#[must_use]
pub fn run_with(layers: &[&'static LayerInfo]) -> ExitCode {
    let taken = layers.iter().try_for_each(|layer| imbrex::layers::add(layer));
    exit_code(taken.map_err(Error::from).and_then(|()| run()))
}

/// Does what the command line says, or what a shell asks that completes one.
fn run() -> Result<()> {
    // With layers of somebody else's the program has another name, under which shells know it.
    let path = env::args_os().next().map(PathBuf::from).unwrap_or_default();
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    CompleteEnv::with_factory(program).bin(name).complete();
    let read = Arguments::from_arg_matches(&program().get_matches());
    read.unwrap_or_else(|wrong| wrong.exit()).command.run()
}

/// The program's commands and options.
fn program() -> clap::Command {
    examples::shown(completion::with_names(Arguments::command()))
}

impl Command {
    fn run(self) -> Result<()> {
        match self {
            Self::Compare(command) => command.run(),
            Self::Advise(command) => command.run(),
            Self::Bound(command) => command.run(),
            Self::Replay(command) => command.run(),
            Self::Reproduce(command) => command.run(),
            Self::Report(command) => command.run(),
            Self::Sweep(command) => command.run(),
            Self::Trace(command) => command.run(),
            Self::List(command) => command.run(),
            Self::Validate(command) => command.run(),
            Self::Explore(command) => command.run(),
            Self::Format(command) => command.run(),
            Self::Serve(command) => command.run(),
            #[cfg(feature = "web")]
            Self::Web(command) => command.run(),
            Self::Status(command) => command.run(),
            Self::Top(command) => command.run(),
            Self::Clean(command) => command.run(),
            Self::Grow(command) => command.run(),
            Self::Check(command) => command.run(),
            Self::Scrub(command) => command.run(),
            Self::Probe(command) => command.run(),
            Self::Inspect(command) => command.run(),
            Self::Dump(command) => command.run(),
            Self::Bench(args) => imbrex_bench::run(&args),
            Self::Manual(command) => command.run(program()),
            Self::Help(help) => help.run(program()),
        }
    }
}

fn exit_code(done: Result<()>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) if stop::is_asked_for() => {
            say::note("error: stopped");
            ExitCode::from(stop::status())
        }
        // The reader of the output has seen enough.
        Err(e) if e.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe) => {
            ExitCode::SUCCESS
        }
        Err(e) => {
            say::note(format_args!("error: {}", say::one_line(&e.to_string())));
            e.downcast_ref::<imbrex_volumes::check::Found>().map_or(ExitCode::FAILURE, |found| found.status.into())
        }
    }
}
