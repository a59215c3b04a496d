//! The `imbrex` program: compares translation layers on workloads, and shows why its numbers can be believed.
#![forbid(unsafe_code)]

mod bands;
mod bench;
mod compare;
mod comparison;
mod duration;
mod explore;
mod families;
mod list;
mod live;
mod names;
mod new_file;
mod new_folder;
mod output;
mod parallel;
#[cfg(feature = "pictures")]
mod pictures;
mod progress;
mod replay;
mod reproduce;
mod row;
mod series;
mod setup;
mod stop;
mod story;
mod table;
mod trace;
mod trace_file;
mod validate;
mod values;
mod workload;

use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Translation layers for overlapped-track hard disks, compared on workloads
#[derive(Parser)]
#[command(name = "imbrex", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Compare(compare::Compare),
    Replay(replay::Replay),
    Reproduce(reproduce::Reproduce),
    Trace(trace::Trace),
    List(list::List),
    Validate(validate::Validate),
    Explore(explore::Explore),
    Format(live::format::Format),
    Serve(live::serve::Serve),
    Status(live::status::Show),
    Clean(live::clean::Clean),
    Check(live::check::Check),
    Inspect(live::inspect::Inspect),
    Dump(live::dump::Dump),
    /// Measure lookups, replays, memory and trace decoding in one run
    Bench(bench::Args),
}

/// What a program that Ctrl-C ended leaves: 128 and the number of the signal.
const STOPPED: u8 = 130;

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Compare(command) => command.run(),
        Command::Replay(command) => command.run(),
        Command::Reproduce(command) => command.run(),
        Command::Trace(command) => command.run(),
        Command::List(command) => command.run(),
        Command::Validate(command) => command.run(),
        Command::Explore(command) => command.run(),
        Command::Format(command) => command.run(),
        Command::Serve(command) => command.run(),
        Command::Status(command) => command.run(),
        Command::Clean(command) => command.run(),
        Command::Check(command) => command.run(),
        Command::Inspect(command) => command.run(),
        Command::Dump(command) => command.run(),
        Command::Bench(args) => bench::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) if stop::is_asked_for() => {
            eprintln!("error: stopped");
            ExitCode::from(STOPPED)
        }
        // Whoever read the output has seen enough.
        Err(e) if e.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe) => {
            ExitCode::SUCCESS
        }
        Err(e) => {
            eprintln!("error: {}", one_line(&e.to_string()));
            ExitCode::FAILURE
        }
    }
}

/// A message without the excerpt that TOML errors draw: the place and the reason remain.
fn one_line(message: &str) -> String {
    let is_excerpt = |line: &str| line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(" |");
    let lines = message.lines().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with('|'));
    lines.filter(|line| !is_excerpt(line)).collect::<Vec<_>>().join(": ")
}
