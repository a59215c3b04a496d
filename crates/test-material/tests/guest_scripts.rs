//! What a guest runs has all that it calls. Parts of the guest checks run together and one by one, and a part that leans on
//! what another one sources ends at once when it is alone.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use test_material::repository;

/// What every script of a guest begins with.
const BEFORE: &str = "guest-functions.sh";
/// What scripts may source, as `/NAME.sh`.
const SHARED: [&str; 4] = ["serving", "life", "members", "ublk"];

/// A file of the checks.
fn read(path: &str) -> String {
    fs::read_to_string(repository().join("checks").join(path)).unwrap()
}

fn shared(name: &str) -> String {
    read(&format!("device/{name}.sh"))
}

/// The names of the functions that a script defines.
fn defined(script: &str) -> BTreeSet<&str> {
    script.lines().filter_map(|line| line.split_once("() {").map(|(name, _)| name)).collect()
}

/// The first words of the script's commands.
fn called(script: &str) -> BTreeSet<&str> {
    let lines = script.lines().filter(|line| !line.trim_start().starts_with('#'));
    let commands = lines.flat_map(|line| line.split([';', '|', '&', '(', ')', '{', '}', '!']));
    let is_called = |word: &&str| !["do", "else", "if", "then", "until", "while"].contains(word);
    commands.filter_map(|command| command.split_whitespace().find(is_called)).collect()
}

/// A script with all that it sources, directly or not, and the names of that.
fn whole(script: &str) -> (String, Vec<&'static str>) {
    let (mut all, mut sourced, mut left) = (script.to_owned(), Vec::new(), SHARED.to_vec());
    while let Some(at) = left.iter().position(|name| all.lines().any(|line| line == format!(". /{name}.sh"))) {
        sourced.push(left.swap_remove(at));
        all += &shared(sourced[sourced.len() - 1]);
    }
    (all, sourced)
}

/// What a script calls of all that is shared, and does not have.
fn missing(script: &str) -> Vec<String> {
    let whole = whole(script).0 + &read(BEFORE);
    let everything = SHARED.map(shared).concat();
    let known = defined(&everything);
    let own = defined(&whole);
    called(&whole).into_iter().filter(|word| known.contains(word) && !own.contains(word)).map(str::to_owned).collect()
}

#[test]
fn each_part_sources_what_it_calls() {
    let parts = fs::read_dir(repository().join("checks")).unwrap().map(|entry| entry.unwrap().path());
    let parts: Vec<PathBuf> = parts.filter(|path| path.join("part.sh").exists()).collect();
    assert!(parts.len() >= 6, "{parts:?}");
    for part in parts {
        let script = fs::read_to_string(part.join("guest.sh")).unwrap();
        assert_eq!(missing(&script), [""; 0], "{}", part.display());
        let copies = read("guests.sh") + &fs::read_to_string(part.join("part.sh")).unwrap();
        for name in whole(&script).1 {
            assert!(
                copies.contains(&format!("device/{name}.sh ")),
                "{name}.sh gets into no guest of {}",
                part.display()
            );
        }
    }
}

#[test]
fn a_part_that_leans_on_another_is_found() {
    let script = read("raid/guest.sh");
    let alone = script.replace(". /members.sh", "");
    assert_ne!(alone, script);
    assert_eq!(missing(&alone), ["end_member", "make_members", "media", "serve_member", "written_for_each"]);
}
