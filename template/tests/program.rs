//! The program knows the layer in all that goes by names of layers.
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use std::io::Read;
use std::path::Path;

use assert_cmd::Command;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::read::ZlibDecoder;

fn imbrex(folder: &Path, arguments: &str) -> String {
    let command = Command::cargo_bin("imbrex-front").unwrap().args(arguments.split(' ')).current_dir(folder).assert();
    String::from_utf8(command.success().get_output().stdout.clone()).unwrap()
}

/// What a page draws, which lies in it compressed.
fn data_of(page: &str) -> String {
    let (_, packed) = page.split_once("id=\"data\">").unwrap();
    let packed = BASE64_STANDARD.decode(packed.split_once('<').unwrap().0).unwrap();
    let mut data = String::new();
    ZlibDecoder::new(packed.as_slice()).read_to_string(&mut data).unwrap();
    data
}

#[test]
fn every_command_knows_the_layer() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &str| imbrex(folder.path(), arguments);
    for (arguments, shown) in [
        ("list layers --all", "front.step_blocks"),
        (
            "replay zipf --layer front --drive small-zoned --beyond wrap --requests 500 --verify --html run.html",
            "front",
        ),
        ("compare zipf --layers conventional,front --set front.front=0.5 --requests 200 --capacity fit", "front"),
        ("compare --family shingled --requests 200", "  front "),
        ("explore front --cuts 50", "survived"),
        ("format front.img --drive small-zoned --layer front", "front"),
        ("inspect front.img", "front"),
        ("check front.img", ""),
    ] {
        let said = run(arguments);
        assert!(said.contains(shown), "imbrex {arguments}:\n{said}");
    }
    assert!(std::fs::read_to_string(folder.path().join("run.html")).unwrap().contains("zipf on front"));
}

/// A counter that no crate of Imbrex knows is in all that shows results.
#[test]
fn what_the_layer_counts_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let replay = "replay zipf --layer front --drive small-zoned --beyond wrap --requests 500 --html run.html";
    let told = |format: &str| imbrex(folder.path(), &format!("{replay} --format {format}"));
    let key = imbrex_front::counters::ALL[0].key;
    let rows: serde_json::Value = serde_json::from_str(&told("json")).unwrap();
    let counted = rows[0]["counters"][key].as_u64().unwrap();
    assert!(0 < counted && counted < rows[0]["host_write_blocks"].as_u64().unwrap());
    let table = told("table");
    let shown = table.lines().find(|line| line.contains("front blocks")).unwrap();
    let digits: String = shown.chars().filter(char::is_ascii_digit).collect();
    assert_eq!(digits, counted.to_string());
    let csv = told("csv");
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let column = lines.next().unwrap().iter().position(|name| *name == format!("counters.{key}")).unwrap();
    assert!(column > 0);
    let page = data_of(&std::fs::read_to_string(folder.path().join("run.html")).unwrap());
    assert!(page.contains(&format!("\"{key}\":{counted}")), "the page has the counter");
    assert!(imbrex(folder.path(), "list layers --all").contains(key));
}

#[test]
fn an_unknown_layer_is_told_of_this_one() {
    let command = Command::cargo_bin("imbrex-front").unwrap().args(["explore", "fronts"]).assert().failure();
    let said = String::from_utf8_lossy(&command.get_output().stderr).into_owned();
    assert!(said.contains(", front\n"), "{said}");
}
