//! What shells complete: beside commands and options, the names of layers, drives, workloads and formats, and the fields
//! that `--set` takes.
//!
//! A shell's script asks the program itself, so what it offers is what the program knows, layers that were added
//! included. With `COMPLETE=bash` in its environment, or another shell's name, the program writes that script.

use std::env;
use std::ffi::OsStr;
use std::path::PathBuf;

use clap::{Arg, Command};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter};
use imbrex::config::PRESET;
use imbrex::drive::DrivePreset;
use imbrex::layers::{self, LayerInfo};
use imbrex::trace::profiles::Profile;
use imbrex::trace::workloads::built_in;
use imbrex::trace::{FORMATS, Workload};
use imbrex_runs::families::Families;

/// Answers a shell that completes a command line of `program`, and ends there.
pub fn complete(program: impl Fn() -> Command) {
    // With layers of somebody else's the program has another name, under which shells know it.
    let path = env::args_os().next().map(PathBuf::from).unwrap_or_default();
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    CompleteEnv::with_factory(|| with_names(program())).bin(name).complete();
}

/// `program` with values that are known completed.
fn with_names(program: Command) -> Command {
    program.mut_args(with_values).mut_subcommands(with_names)
}

/// An argument is known by its name in all commands.
fn with_values(arg: Arg) -> Arg {
    let completer = match arg.get_id().as_str() {
        "layer" | "layers" => ArgValueCompleter::new(layers_named),
        "settings" => ArgValueCompleter::new(settings),
        "drive" | "drives" | "disk" | "disks" | "simulated" => ArgValueCompleter::new(drives_and_files),
        "workload" | "workloads" => ArgValueCompleter::new(workloads_and_files),
        "trace_format" => ArgValueCompleter::new(formats),
        "about" => ArgValueCompleter::new(about),
        "names" => ArgValueCompleter::new(|start: &OsStr| {
            [layers_named(start), drives(start), workloads(start), formats(start)].into_iter().flatten().collect()
        }),
        _ => return arg,
    };
    arg.add(completer)
}

/// What of `all`, names and what they mean, begins with `start`.
fn beginning<N: AsRef<str>>(start: &OsStr, all: impl Iterator<Item = (N, String)>) -> Vec<CompletionCandidate> {
    // Nothing that is known has a name that is not UTF-8.
    let Some(start) = start.to_str() else { return Vec::new() };
    let begins = all.filter(|(name, _)| name.as_ref().starts_with(start));
    begins.map(|(name, help)| CompletionCandidate::new(name.as_ref()).help(Some(help.into()))).collect()
}

fn layers_named(start: &OsStr) -> Vec<CompletionCandidate> {
    let layer =
        |info: &'static LayerInfo| (info.name, format!("{}: {}", Families::of(info.family).name(), info.summary));
    beginning(start, layers::known().map(layer))
}

fn drives(start: &OsStr) -> Vec<CompletionCandidate> {
    let described = |(name, text): &(&'static str, &str)| {
        (*name, DrivePreset::parse(name, text).map(|drive| drive.description).unwrap_or_default())
    };
    beginning(start, DrivePreset::built_in().iter().map(described))
}

fn workloads(start: &OsStr) -> Vec<CompletionCandidate> {
    let synthetic = built_in().iter().map(|workload| workload.name);
    let described = |name: &'static str| (name, description(name).unwrap_or_default());
    beginning(start, synthetic.chain(Profile::names()).map(described))
}

fn description(workload: &'static str) -> Option<String> {
    match Workload::named(workload).ok()? {
        Workload::Synthetic(spec) => Some(spec.description),
        Workload::Profile(profile) => Some(profile.description),
        _ => None,
    }
}

fn formats(start: &OsStr) -> Vec<CompletionCandidate> {
    beginning(start, FORMATS.iter().map(|info| (info.key, info.holds.to_owned())))
}

fn drives_and_files(start: &OsStr) -> Vec<CompletionCandidate> {
    [drives(start), PathCompleter::any().complete(start)].into_iter().flatten().collect()
}

fn workloads_and_files(start: &OsStr) -> Vec<CompletionCandidate> {
    [workloads(start), PathCompleter::any().complete(start)].into_iter().flatten().collect()
}

/// What `imbrex help` takes.
fn about(start: &OsStr) -> Vec<CompletionCandidate> {
    let program = crate::program();
    let commands = program.get_subcommands().filter(|command| !command.is_hide_set());
    let command =
        |command: &Command| (command.get_name().to_owned(), command.get_about().unwrap_or_default().to_string());
    [beginning(start, commands.map(command)), layers_named(start)].into_iter().flatten().collect()
}

/// What `--set` takes: layers, and as soon as there is one layer left, its fields.
fn settings(start: &OsStr) -> Vec<CompletionCandidate> {
    let of_layer = |info: &'static LayerInfo| {
        let field = |field: &layers::Field| {
            (format!("{}.{}=", info.name, field.key), format!("{}; {} unless it is set", field.meaning, field.default))
        };
        let preset = (format!("{}.{PRESET}=paper", info.name), "as its source has it".to_owned());
        info.fields.iter().map(field).chain([preset])
    };
    let text = start.to_str().unwrap_or_default();
    if let Some((layer, _)) = text.split_once('.') {
        return beginning(start, layers::known().filter(|info| info.name == layer).flat_map(of_layer));
    }
    let of_layers: Vec<_> = layers::known().filter(|info| info.name.starts_with(text)).collect();
    match *of_layers {
        [layer] => beginning(start, of_layer(layer)),
        _ => beginning(start, of_layers.iter().map(|info| (format!("{}.", info.name), info.summary.to_owned()))),
    }
}
