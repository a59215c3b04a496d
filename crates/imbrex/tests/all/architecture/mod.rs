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
use std::sync::LazyLock;

use circles::Circle;
use source::Sources;
use uses::Use;

const CRATES: [&str; 24] = [
    "imbrex",
    "imbrex-core",
    "imbrex-bounds",
    "imbrex-layers",
    "imbrex-trace",
    "imbrex-engine",
    "imbrex-explorer",
    "imbrex-simulation",
    "imbrex-derive",
    "imbrex-live",
    "imbrex-nbdkit",
    "imbrex-ublk",
    "imbrex-vhost",
    "imbrex-page",
    "imbrex-terminal",
    "imbrex-pictures",
    "imbrex-runs",
    "imbrex-papers",
    "imbrex-volumes",
    "imbrex-advice",
    "imbrex-bench",
    "imbrex-probe",
    "imbrex-cli",
    "imbrex-python",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The sources of all crates, and their uses, read once.
static PROJECT: LazyLock<(Sources, Vec<Use>)> = LazyLock::new(|| {
    let mut sources = Sources::default();
    for name in CRATES {
        sources.add_crate(&name.replace('-', "_"), &root().join("crates").join(name).join("src"));
    }
    let uses = uses::all(&sources);
    (sources, uses)
});

/// What is wrong about the `circles`.
fn complaints(circles: &[Circle], sources: &Sources) -> Vec<String> {
    circles.iter().map(|circle| format!("a circle in {}", circle.describe(sources))).collect()
}

#[test]
fn no_modules_form_a_circle() {
    let (sources, uses) = &*PROJECT;
    let wrong = complaints(&circles::all(uses), sources);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn who_knows_whom_is_as_the_architecture_says() {
    let (sources, uses) = &*PROJECT;
    let document = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let wrong = table::disagreements(&document, sources, uses);
    assert!(wrong.is_empty(), "docs/architecture.md, \"Where things live\":\n{}", wrong.join("\n"));
}
