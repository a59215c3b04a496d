//! Small sources made up to show that what is forbidden is found.

use std::path::Path;

use super::source::Sources;
use super::{circles, complaints, table, uses};

/// Modules by their paths, with their code.
fn sources(modules: &[(&str, &str)]) -> Sources {
    let mut sources = Sources::default();
    for (path, text) in modules {
        let path: Vec<String> = path.split("::").map(str::to_owned).collect();
        sources.add_text(&path, Path::new("made_up.rs"), text);
    }
    sources
}

fn circles(modules: &[(&str, &str)]) -> Vec<String> {
    let uses = uses::all(&sources(modules));
    circles::all(&uses).into_iter().map(|circle| circle.name).collect()
}

const NONE: [&str; 0] = [];

#[test]
fn two_siblings_that_use_each_other_are_a_circle() {
    let one = ("k::one", "use super::two::Two; pub struct One(Two);");
    assert_eq!(circles(&[one, ("k::two", "pub struct Two; use crate::one::One;")]), ["k: one, two"]);
    assert_eq!(circles(&[one, ("k::two", "pub struct Two; fn f() -> super::one::One { todo!() }")]), ["k: one, two"]);
    assert_eq!(circles(&[one, ("k::two", "pub struct Two; fn f() { assert!(crate::one::f(1)) }")]), ["k: one, two"]);
    assert_eq!(circles(&[one, ("k::two", "pub struct Two;")]), NONE);
}

#[test]
fn a_circle_goes_through_what_lies_below_siblings() {
    let a = ("k::a::deep", "use crate::b::B;");
    assert_eq!(circles(&[("k::a", "pub struct A;"), a, ("k::b", "pub struct B; use crate::a::A;")]), ["k: a, b"]);
    let three = [("k::a", "use crate::b::B; pub struct A;"), ("k::b", "use crate::c::C; pub struct B;")];
    assert_eq!(circles(&[three[0], three[1], ("k::c", "use crate::a::A; pub struct C;")]), ["k: a, b, c"]);
    assert_eq!(circles(&[three[0], three[1], ("k::c", "pub struct C;")]), NONE);
}

#[test]
fn parents_and_children_may_use_each_other() {
    let parent = ("k::p", "use one::One; pub struct P;");
    assert_eq!(circles(&[parent, ("k::p::one", "use super::P; pub struct One;")]), NONE);
}

#[test]
fn a_re_export_leads_to_what_it_exports() {
    let parent = ("k::p", "pub use two::Two; pub use one::*;");
    let one = ("k::p::one", "use super::Two; pub struct One;");
    assert_eq!(circles(&[parent, one, ("k::p::two", "pub struct Two; use crate::p::One;")]), ["k::p: one, two"]);
    let renamed = ("k::p::two", "pub struct Two; use crate::p as q; fn f(_: q::One) {}");
    assert_eq!(circles(&[parent, one, renamed]), ["k::p: one, two"]);
    assert_eq!(circles(&[parent, one, ("k::p::two", "pub struct Two;")]), NONE);
}

#[test]
fn what_only_tests_use_does_not_count() {
    let one = ("k::one", "use super::two::Two; pub struct One;");
    let two = "pub struct Two; #[cfg(test)] mod tests { use crate::one::One; } #[cfg(test)] use crate::one::One;";
    assert_eq!(circles(&[one, ("k::two", two)]), NONE);
    let two = "pub struct Two; impl Two { #[cfg(test)] fn f() { crate::one::g() } }";
    assert_eq!(circles(&[one, ("k::two", two)]), NONE);
    let two = "pub struct Two; #[cfg(not(test))] use crate::one::One;";
    assert_eq!(circles(&[one, ("k::two", two)]), ["k: one, two"]);
}

#[test]
fn the_way_around_a_circle_is_said() {
    let sources = sources(&[("k::one", "use super::two::B;"), ("k::two", "pub struct B; use super::one;")]);
    let said = complaints(&circles::all(&uses::all(&sources)), &sources);
    assert_eq!(said.len(), 1);
    assert!(said[0].contains("k: one, two\n    made_up.rs:1: super::two::B\n    made_up.rs:1: super::one"), "{said:?}");
}

/// What is wrong about three modules of which `layers` has this code, in a table with these rows.
fn wrong(layers: &str, rows: &[&str]) -> Vec<String> {
    let sources = sources(&[
        ("imbrex_core", "pub mod block; pub mod media;"),
        ("imbrex_core::block", "pub struct Lba;"),
        ("imbrex_core::media", "use crate::block::Lba; pub struct Media;"),
        ("imbrex_layers::one", layers),
        ("imbrex", "pub use imbrex_core::media; pub use imbrex_layers as layers;"),
        ("imbrex_live", "use imbrex::media::Media;"),
    ]);
    let document = format!(
        "# A\n\n| no | table | of rooms |\n\n## Where things live\n\n| place | what | may know |\n|---|---|---|\n{}\n\n## B\n",
        rows.join("\n")
    );
    table::disagreements(&document, &sources, &uses::all(&sources))
}

const ROWS: [&str; 5] = [
    "| `block` | the vocabulary; read first | each other |",
    "| `media/` | what is allowed | vocabulary |",
    "| `one/` | one folder a layer | vocabulary |",
    "| `imbrex` | all of it | the library |",
    "| `imbrex-live` | images and disks | the library |",
];

#[test]
fn a_forbidden_use_is_found() {
    assert_eq!(wrong("use imbrex_core::block::Lba;", &ROWS), NONE);
    let said = ["imbrex_layers::one may not know imbrex_core::media, but imbrex_layers::one line 2 does"];
    assert_eq!(wrong("use imbrex_core::block::Lba;\nfn f(_: imbrex::media::Media) {}", &ROWS), said);
    let said = ["imbrex_layers::one may not know imbrex_live, but imbrex_layers::one line 1 does"];
    assert_eq!(wrong("use imbrex_live::serve;", &ROWS), said);
}

#[test]
fn every_module_is_in_one_row_and_every_row_means_something() {
    let with = |row: usize, text: &'static str| {
        let mut rows = ROWS;
        rows[row] = text;
        wrong("use imbrex_core::block::Lba;", &rows)
    };
    assert_eq!(
        wrong("", &[ROWS[0], ROWS[1], ROWS[3], ROWS[4]]),
        ["imbrex_layers::one is in 0 rows of the table, not in one"]
    );
    let said = ["imbrex_core::media is in 2 rows of the table, not in one"];
    assert_eq!(wrong("", &[ROWS[0], ROWS[1], ROWS[1], ROWS[2], ROWS[3], ROWS[4]]), said);
    assert_eq!(with(0, "| `block`, `gone` | the vocabulary | each other |"), ["there is no gone"]);
    assert_eq!(with(2, "| `one/` | layers | `block` |"), NONE);
    assert_eq!(with(2, "| `one/` | layers | all above |"), NONE);
    assert_eq!(with(2, "| `one/` | layers | vocabulary, much |"), ["imbrex_layers::one: what is 'much'?"]);
    let said = ["imbrex_layers::one may know `media`, but does not"];
    assert_eq!(with(2, "| `one/` | layers | vocabulary, `media` |"), said);
    assert_eq!(with(1, "| `media/` | media | nothing |").len(), 1);
}
