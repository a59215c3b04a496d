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
#[cfg(feature = "completion")]
mod completion;
mod examples;
#[cfg(feature = "live")]
mod explore;
mod help;
mod list;
#[cfg(feature = "live")]
mod manual;
mod replay;
mod report;
mod story;
mod sweep;
mod trace;
mod validate;
mod watch_disk;

use std::io;
use std::process::ExitCode;

use anyhow::{Error, Result};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
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
    #[cfg(feature = "papers")]
    Reproduce(imbrex_papers::Reproduce),
    Report(report::ReportCommand),
    Sweep(sweep::Sweep),
    Trace(trace::Trace),
    List(list::List),
    Validate(validate::Validate),
    #[cfg(feature = "live")]
    Explore(explore::Explore),
    #[cfg(feature = "live")]
    Format(imbrex_volumes::format::Format),
    #[cfg(feature = "live")]
    Serve(imbrex_volumes::serve::Serve),
    #[cfg(feature = "web")]
    Web(imbrex_volumes::web::Web),
    #[cfg(feature = "live")]
    Status(imbrex_volumes::status::Show),
    #[cfg(feature = "live")]
    Top(imbrex_volumes::top::Top),
    #[cfg(feature = "live")]
    Clean(imbrex_volumes::clean::Clean),
    #[cfg(feature = "live")]
    Grow(imbrex_volumes::grow::Grow),
    #[cfg(feature = "live")]
    Attach(imbrex_volumes::attach::Attach),
    #[cfg(feature = "live")]
    Detach(imbrex_volumes::detach::Detach),
    #[cfg(feature = "live")]
    Check(imbrex_volumes::check::Check),
    #[cfg(feature = "live")]
    Scrub(imbrex_volumes::scrub::Scrub),
    #[cfg(feature = "live")]
    Probe(imbrex_probe::command::Probe),
    #[cfg(feature = "live")]
    Inspect(imbrex_volumes::inspect::Inspect),
    #[cfg(feature = "live")]
    Dump(imbrex_volumes::dump::Dump),
    #[cfg(feature = "bench")]
    /// Measure lookups, replays, memory and trace decoding in one run
    Bench(imbrex_bench::Args),
    #[cfg(feature = "live")]
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
    #[cfg(feature = "completion")]
    completion::complete(program);
    let read = Arguments::from_arg_matches(&program().get_matches());
    read.unwrap_or_else(|wrong| wrong.exit()).command.run()
}

/// The program's commands and options.
fn program() -> clap::Command {
    let program = examples::shown(Arguments::command());
    let parts = [
        (cfg!(feature = "live"), "volumes"),
        (cfg!(feature = "papers"), "the papers' studies"),
        (cfg!(feature = "bench"), "benchmarks"),
    ];
    let left_out: Vec<_> = parts.iter().filter(|(is_built, _)| !is_built).map(|(_, part)| *part).collect();
    if left_out.is_empty() {
        return program;
    }
    program.after_help(format!("Built without {}; a build with the default features has all.", left_out.join(", ")))
}

impl Command {
    fn run(self) -> Result<()> {
        match self {
            Self::Compare(command) => command.run(),
            Self::Advise(command) => command.run(),
            Self::Bound(command) => command.run(),
            Self::Replay(command) => command.run(),
            #[cfg(feature = "papers")]
            Self::Reproduce(command) => command.run(),
            Self::Report(command) => command.run(),
            Self::Sweep(command) => command.run(),
            Self::Trace(command) => command.run(),
            Self::List(command) => command.run(),
            Self::Validate(command) => command.run(),
            #[cfg(feature = "live")]
            Self::Explore(command) => command.run(),
            #[cfg(feature = "live")]
            Self::Format(command) => command.run(),
            #[cfg(feature = "live")]
            Self::Serve(command) => command.run(),
            #[cfg(feature = "web")]
            Self::Web(command) => command.run(),
            #[cfg(feature = "live")]
            Self::Status(command) => command.run(),
            #[cfg(feature = "live")]
            Self::Top(command) => command.run(),
            #[cfg(feature = "live")]
            Self::Clean(command) => command.run(),
            #[cfg(feature = "live")]
            Self::Grow(command) => command.run(),
            #[cfg(feature = "live")]
            Self::Attach(command) => command.run(),
            #[cfg(feature = "live")]
            Self::Detach(command) => command.run(),
            #[cfg(feature = "live")]
            Self::Check(command) => command.run(),
            #[cfg(feature = "live")]
            Self::Scrub(command) => command.run(),
            #[cfg(feature = "live")]
            Self::Probe(command) => command.run(),
            #[cfg(feature = "live")]
            Self::Inspect(command) => command.run(),
            #[cfg(feature = "live")]
            Self::Dump(command) => command.run(),
            #[cfg(feature = "bench")]
            Self::Bench(args) => imbrex_bench::run(&args),
            #[cfg(feature = "live")]
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
            failure(&e)
        }
    }
}

/// What a failed check found has a status of its own.
#[cfg(feature = "live")]
fn failure(error: &Error) -> ExitCode {
    error.downcast_ref::<imbrex_volumes::check::Found>().map_or(ExitCode::FAILURE, |found| found.status.into())
}

#[cfg(not(feature = "live"))]
fn failure(_: &Error) -> ExitCode {
    ExitCode::FAILURE
}
