//! `imbrex probe` says what a disk is, describes it for `compare`, and refuses what it cannot probe.

use std::fs;
use std::path::Path;
use std::process::Output;

use assert_cmd::Command;
use serde_json::Value;

fn imbrex(folder: &Path, arguments: &[&str]) -> Output {
    Command::cargo_bin("imbrex").unwrap().args(arguments).current_dir(folder).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What an impossible probe says; it prints nothing else.
fn refusal(folder: &Path, arguments: &[&str]) -> String {
    let output = imbrex(folder, arguments);
    assert!(!output.status.success() && output.stdout.is_empty(), "{arguments:?}: {}", text(&output.stdout));
    text(&output.stderr)
}

#[test]
fn a_file_is_timed_and_nothing_is_said_of_it_that_is_not_known() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.img");
    fs::write(&file, vec![1; 4 << 20]).unwrap();
    let output = imbrex(folder.path(), &["probe", "a.img", "--format", "json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("a.img is a file: the system says nothing of it"));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let found = &found[0];
    assert_eq!((&found["schema"], &found["facts"]["bytes"]), (&"imbrex.probe/1".into(), &(4 << 20).into()));
    assert!(found["facts"]["model"].is_null() && found["facts"]["rotational"].is_null() && found["writes"].is_null());
    assert!(found["reads"]["random_ms"].as_f64().unwrap() > 0.0);
    let named = imbrex(folder.path(), &["probe", "a.img", "--model", "a file of mine"]);
    assert!(text(&named.stdout).contains("a file of mine"), "{}", text(&named.stdout));
    assert_eq!(fs::read(&file).unwrap(), vec![1; 4 << 20], "it was only read");
}

#[test]
fn what_cannot_be_probed_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("a.img"), vec![0; 2 << 20]).unwrap();
    fs::write(path.join("few"), [0; 8192]).unwrap();
    assert!(refusal(path, &["probe", "nowhere"]).contains("error: cannot open nowhere: "));
    assert!(refusal(path, &["probe", "."]).contains("error: . is neither a block device nor a file; name the disk"));
    assert!(refusal(path, &["probe", "a.img", "--write"]).contains("leave --write out"));
    assert!(refusal(path, &["probe", "few"]).contains("error: 8192 bytes are too few to be timed"));
    assert!(refusal(path, &["probe"]).contains("DEVICE"));
    assert!(refusal(path, &["probe", "a.img", "--force"]).contains("--write"));
    assert!(refusal(path, &["probe", "--simulated", "tiny-disk"]).contains("error: no drive is called tiny-disk"));
    let setting = ["probe", "--simulated", "small-banded", "--set", "fifo-log.spare_zones=2"];
    assert!(refusal(path, &setting).contains("layer fifo-log takes no part"));
    // What is not known is not described.
    let read_only = ["probe", "--simulated", "small-banded", "--drive", "x.toml"];
    assert!(refusal(path, &read_only).contains("--write finds out"));
    let hybrid = ["probe", "--simulated", "small-hybrid", "--drive", "x.toml"];
    assert!(refusal(path, &hybrid).contains("no drive can be described: which zones of a hybrid disk"));
    assert!(!path.join("x.toml").exists());
}

/// What probing the drive of the document gives, as it is shown there.
#[test]
fn the_document_shows_what_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let document = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/probe.md")).unwrap();
    let output = imbrex(folder.path(), &["probe", "--simulated", "st8000as0002", "--write"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    assert!(document.contains(&shown), "docs/probe.md does not show this:\n{shown}");
}

/// Every name of a field of an object, and of those in it.
fn fields(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Object(object) => object.iter().for_each(|(name, value)| {
            names.push(name.clone());
            fields(value, names);
        }),
        Value::Array(values) => values.iter().for_each(|value| fields(value, names)),
        _ => {}
    }
}

#[test]
fn a_drive_that_was_described_is_one_to_compare_layers_on() {
    let folder = tempfile::tempdir().unwrap();
    let json = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md")).unwrap();
    let (_, section) = json.split_once("## `imbrex.probe/1`").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    for (drive, layer) in [("small-banded", "skylight"), ("small-zoned", "log-greedy"), ("tiny-flash", "page-ftl")] {
        let arguments =
            format!("probe --simulated {drive} --capacity 256MiB --write --drive own.toml --output found.json");
        let output = imbrex(folder.path(), &arguments.split(' ').collect::<Vec<_>>());
        assert!(output.status.success(), "{drive}: {}", text(&output.stderr));
        let (mut names, found) = (Vec::new(), fs::read(folder.path().join("found.json")).unwrap());
        let found = serde_json::from_slice(&found).unwrap();
        fields(&found, &mut names);
        assert!(names.len() > 10);
        for name in names {
            assert!(section.contains(&name), "{name} is not in docs/json.md");
        }
        let arguments =
            ["compare", "uniform", "--layers", layer, "--drive", "own.toml", "--requests", "2000", "--beyond", "wrap"];
        let output = imbrex(folder.path(), &arguments);
        assert!(output.status.success(), "{drive}: {}", text(&output.stderr));
    }
}
