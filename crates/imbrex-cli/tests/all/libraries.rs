//! The libraries of others in the programs: a bill that names each, from where one may come, under which license, and no
//! library twice.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use spdx::{Expression, LicenseReq, ParseMode};

/// Where all come from.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn toml(name: &str) -> toml::Table {
    std::fs::read_to_string(root().join(name)).unwrap().parse().unwrap()
}

/// A list of deny.toml.
fn listed(table: &str, key: &str) -> Vec<String> {
    toml("deny.toml")[table][key].clone().try_into().unwrap()
}

/// Whether one of the licenses that are offered is allowed.
fn may_be_passed_on(license: &str) -> bool {
    let allowed = listed("licenses", "allow");
    let is_allowed = |wanted: &LicenseReq| allowed.contains(&wanted.to_string());
    Expression::parse_mode(license, ParseMode::LAX).is_ok_and(|offered| offered.evaluate(is_allowed))
}

#[test]
fn every_library_in_the_programs_is_on_their_bill() {
    let output =
        Command::new("packaging/sbom.py").args(["imbrex-cli", "imbrex-nbdkit"]).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let bill: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&bill["bomFormat"], &bill["specVersion"]), (&"CycloneDX".into(), &"1.5".into()));
    let components = bill["components"].as_array().unwrap();
    let named = |name: &str| components.iter().find(|one| one["name"] == name);
    // Of the program, of the plugin alone, and none of this project or of what only builds it.
    assert!(named("clap").is_some() && named("nbdkit").is_some());
    assert!(named("imbrex-core").is_none() && named("syn").is_none() && named("proptest").is_none());
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let mut versions: BTreeMap<&str, u32> = BTreeMap::new();
    for one in components {
        let [name, version] = ["name", "version"].map(|key| one[key].as_str().unwrap());
        let checksum = one["hashes"][0]["content"].as_str().unwrap();
        let locked =
            format!("name = \"{name}\"\nversion = \"{version}\"\nsource = \"{REGISTRY}\"\nchecksum = \"{checksum}\"");
        assert!(lock.contains(&locked), "{name} {version} is not what Cargo.lock has");
        let license = one["licenses"][0]["expression"].as_str().unwrap();
        assert!(may_be_passed_on(license), "{name} {version} is under {license}");
        *versions.entry(name).or_default() += 1;
    }
    let excepted = listed("bans", "skip");
    let locked_twice = |name: &String| lock.matches(&format!("name = \"{name}\"\n")).count() > 1;
    assert!(excepted.iter().all(locked_twice), "an exception of deny.toml is for nothing: {excepted:?}");
    let twice = versions.into_iter().filter(|(_, count)| *count > 1).map(|(name, _)| name);
    let twice: Vec<&str> = twice.filter(|name| !excepted.iter().any(|one| one == name)).collect();
    assert!(twice.is_empty(), "in several versions: {twice:?}");
    let dependencies = bill["dependencies"].as_array().unwrap();
    assert_eq!(dependencies.len(), components.len());
    assert!(dependencies.iter().any(|one| one["ref"].as_str().unwrap().starts_with("pkg:cargo/clap@")
        && !one["dependsOn"].as_array().unwrap().is_empty()));
}

#[test]
fn what_the_library_builds_is_as_much_as_is_said() {
    let options =
        "tree --locked --package imbrex --no-default-features --edges normal,build --prefix none --format {p}";
    let output = Command::new(env!("CARGO")).args(options.split(' ')).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let packages = String::from_utf8(output.stdout).unwrap();
    let named = packages.lines().filter_map(|line| line.split(' ').next());
    let others: BTreeSet<&str> = named.filter(|name| !name.is_empty() && !name.starts_with("imbrex")).collect();
    let document = std::fs::read_to_string(root().join("docs/install.md")).unwrap();
    let said = format!("builds {} libraries of others", others.len());
    assert!(document.contains(&said), "it {said}, and docs/install.md says something else");
}

/// Those that only build or test it, too.
#[test]
fn all_libraries_come_from_one_registry() {
    let lock = toml("Cargo.lock");
    let from = |one: &toml::Value| one.get("source").and_then(|source| source.as_str().map(str::to_owned));
    let sources: Vec<String> = lock["package"].as_array().unwrap().iter().filter_map(from).collect();
    assert!(sources.len() > 100 && sources.iter().all(|source| source == REGISTRY));
}

#[test]
fn a_license_that_asks_for_more_is_noticed() {
    assert!(may_be_passed_on("MIT/Apache-2.0") && may_be_passed_on("GPL-3.0-only OR MIT"));
    assert!(may_be_passed_on("Apache-2.0 WITH LLVM-exception"));
    assert!(
        !may_be_passed_on("GPL-3.0-only") && !may_be_passed_on("MIT AND GPL-2.0-only") && !may_be_passed_on("its own")
    );
}
