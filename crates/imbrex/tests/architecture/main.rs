//! The rooms of the project: no circles among modules, and who may know whom as docs/architecture.md says it.
//!
//! Both are read from the source: every import and every path in the code is followed to the module that defines what
//! it names. Methods and fields are not looked up, and what only tests use does not count.

mod circles;
mod made_up;
mod source;
mod table;
mod uses;

use std::fs;
use std::path::{Path, PathBuf};

use circles::Circle;
use source::Sources;
use uses::Use;

const CRATES: [&str; 4] = ["imbrex", "imbrex-live", "imbrex-nbdkit", "imbrex-cli"];

/// Circles that are there and shall not be. Whoever undoes one takes it out.
const TEMPORARILY_KNOWN_CIRCLES: &[&str] = &[
    "imbrex::explore: disks, shape",
    "imbrex::perform: commit, numbering, operation, recover, request, running",
    "imbrex::replay: device, in_flight, journaled, lookahead, machine, options, outcome, scheduled, series, setup, \
     simulation, sizing, stack",
    "imbrex_cli: row, setup",
    "imbrex_cli::trace: published, stat",
    "imbrex_live: solo, volume",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The sources of all crates, and their uses.
fn project() -> (Sources, Vec<Use>) {
    let mut sources = Sources::default();
    for name in CRATES {
        sources.add_crate(&name.replace('-', "_"), &root().join("crates").join(name).join("src"));
    }
    let uses = uses::all(&sources);
    (sources, uses)
}

/// What is wrong about the `circles`, of which some are `known`.
fn complaints(circles: &[Circle], known: &[&str], sources: &Sources) -> Vec<String> {
    let new = circles.iter().filter(|circle| !known.contains(&circle.name.as_str()));
    let gone = known.iter().filter(|known| circles.iter().all(|circle| circle.name != **known));
    let gone = gone.map(|known| format!("this circle is undone, take it out of the list: {known}"));
    new.map(|circle| format!("a circle in {}", circle.describe(sources))).chain(gone).collect()
}

#[test]
fn no_modules_form_a_circle() {
    let (sources, uses) = project();
    let wrong = complaints(&circles::all(&uses), TEMPORARILY_KNOWN_CIRCLES, &sources);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn who_knows_whom_is_as_the_architecture_says() {
    let (sources, uses) = project();
    let document = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let wrong = table::disagreements(&document, &sources, &uses);
    assert!(wrong.is_empty(), "docs/architecture.md, \"Where things live\":\n{}", wrong.join("\n"));
}
