//! The commands for volumes that nobody serves, on images.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

fn imbrex(folder: &Path, arguments: &str) -> assert_cmd::assert::Assert {
    Command::cargo_bin("imbrex").unwrap().args(arguments.split_whitespace()).current_dir(folder).assert()
}

fn rows(assert: &assert_cmd::assert::Assert) -> Vec<Value> {
    serde_json::from_slice(&assert.get_output().stdout).unwrap()
}

fn said(assert: &assert_cmd::assert::Assert) -> String {
    String::from_utf8(assert.get_output().stderr.clone()).unwrap()
}

#[test]
fn a_volume_is_inspected_damaged_checked_and_repaired() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &str| imbrex(folder.path(), arguments);
    run("format a.img --drive small-zoned --capacity 64MiB --layer fifo-log").success();
    let inspected = &rows(&run("inspect a.img --format json").success())[0];
    assert_eq!((&inspected["schema"], &inspected["layer"]), (&"imbrex.inspected/1".into(), &"fifo-log".into()));
    assert_eq!(inspected["layers"][0]["mapped_blocks"], 0);
    let superblock = &rows(&run("dump a.img --superblock --format json").success())[0];
    assert_eq!(superblock["own"]["layer"], "fifo-log");
    for shown in ["inspect a.img", "dump a.img", "dump a.img --map", "dump a.img --journal --format csv", "check a.img"]
    {
        run(shown).success();
    }
    // The first copy of the image's header.
    File::options().write(true).open(folder.path().join("a.img")).unwrap().write_all_at(b"X", 100).unwrap();
    let before = std::fs::read(folder.path().join("a.img")).unwrap();
    let checked = run("check a.img --read-data --format json").code(1);
    assert!(rows(&checked)[0]["problems"][0].as_str().unwrap().contains("copy 0 of the image's header"));
    assert!(said(&checked).contains("--repair"), "{}", said(&checked));
    assert_eq!(std::fs::read(folder.path().join("a.img")).unwrap(), before, "a check writes nothing");
    let repaired = run("check a.img --repair").code(1);
    assert!(said(&repaired).contains("is repaired"), "{}", said(&repaired));
    run("check a.img --read-data").success();
}

#[test]
fn a_volume_in_use_and_no_volume_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &str| imbrex(folder.path(), arguments);
    run("format a.img --drive tiny-conventional --capacity 16MiB --layer conventional").success();
    let store = imbrex_live::place::open(&folder.path().join("a.img")).unwrap();
    for command in ["check", "inspect", "dump"] {
        assert!(said(&run(&format!("{command} a.img")).code(1)).contains("in use"));
        assert!(said(&run(&format!("{command} b.img")).code(1)).contains("b.img"));
    }
    drop(store);
    std::fs::write(folder.path().join("c.img"), vec![7; 1 << 20]).unwrap();
    assert!(said(&run("check c.img").code(1)).contains("header"));
}

#[test]
fn what_cannot_be_formatted_destroys_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &str| imbrex(folder.path(), arguments);
    run("format a.img --drive tiny-conventional --capacity 16MiB --layer conventional").success();
    let before = std::fs::read(folder.path().join("a.img")).unwrap();
    for (arguments, reason) in [
        ("a.img --drive tiny-conventional --layer conventional", "--force"),
        ("a.img --drive small-zoned --layer seagate --force", "interlaced"),
        ("a.img --drive small-zoned --layer fifo-log --buffer 90% --force", "--buffer"),
        ("a.img --layer conventional --force", "--drive"),
        (
            "a.img b.img --drive ssd-pore --drive small-zoned --capacity 256MiB --layer lru-cache --force",
            "lru-cache.disk_layer",
        ),
        ("a.img --drive small-zoned --drive small-zoned --layer fifo-log --force", "2 times for 1 images"),
    ] {
        let refused = run(&format!("format {arguments}")).code(1);
        assert!(said(&refused).contains(reason), "{arguments}: {}", said(&refused));
    }
    assert!(std::fs::read(folder.path().join("a.img")).unwrap() == before && !folder.path().join("b.img").exists());
    run("check a.img").success();
}

#[test]
fn a_cache_is_looked_at_whole() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &str| imbrex(folder.path(), arguments);
    let drives = "--drive ssd-pore --drive small-banded --capacity 512MiB --capacity 64MiB";
    run(&format!("format flash.img disk.img {drives} --layer lru-cache")).success();
    let inspected = &rows(&run("inspect flash.img disk.img --format json").success())[0];
    assert_eq!(inspected["layers"].as_array().unwrap().len(), 3);
    run("check flash.img disk.img --read-data").success();
    assert!(said(&run("check flash.img").code(1)).contains("2 members"));
    let drives = "--drive tiny-conventional --drive small-zoned --capacity 256MiB --capacity 512MiB";
    let layers = "--set lru-cache.flash_layer=\"conventional\" --set lru-cache.disk_layer=\"log-greedy\"";
    run(&format!("format ssd.img zoned.img {drives} --layer lru-cache {layers}")).success();
    run("check ssd.img zoned.img").success();
}
