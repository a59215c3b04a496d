//! Volumes of logs of which a server has a part of the map in memory.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use assert_cmd::Command;
use imbrex::perform::pages::{PageHeader, encode_page};
use imbrex_live::service::{Service, ServiceOptions};
use imbrex_live::store_path;
use imbrex_live::volume::Volume;
use serde_json::Value;

/// Bytes of a page in memory, with what it takes beside.
const PAGE: u64 = 4096 + 256;
/// Blocks that are written, all over the volume: more pages than are in memory.
const BLOCKS: u64 = 3000;

fn rows(folder: &Path, arguments: &str) -> Vec<Value> {
    let words = arguments.split_whitespace().chain(["--format", "json"]);
    let ran = Command::cargo_bin("imbrex").unwrap().args(words).current_dir(folder).assert().success();
    serde_json::from_slice(&ran.get_output().stdout).unwrap()
}

/// Serves the volume with so much of the map in memory, and ends it in order.
fn served(image: &Path, map_memory: Option<u64>, work: impl FnOnce(&Service)) {
    let options = ServiceOptions { stores: vec![image.to_owned()], map_memory, ..ServiceOptions::default() };
    let service = Arc::new(Service::start(&options).unwrap());
    work(&service);
    service.stop().unwrap();
}

#[test]
fn a_log_is_served_and_looked_at_with_a_part_of_its_map_in_memory() {
    for layer in ["log-greedy", "sepbit", "cold-weight", "log-cost-benefit"] {
        let folder = tempfile::tempdir().unwrap();
        let run = |arguments: &str| rows(folder.path(), arguments).remove(0);
        let memory = 40 * PAGE;
        let drive = "--drive small-zoned --capacity 16GiB";
        let formatted = run(&format!("format a.img --layer {layer} {drive} --map-memory {memory}B"));
        let whole = run(&format!("format b.img --layer {layer} {drive}"));
        let member = &formatted["members"][0];
        let map_blocks = member["map_blocks"].as_u64().unwrap();
        assert!(member["map_memory"] == memory && map_blocks > 0 && map_blocks % 2 == 0, "{member}");
        let maps = |of: &Value| {
            let parts = of["memory"]["parts"].as_array().unwrap();
            parts.iter().find(|part| part["name"] == "maps").unwrap()["most_bytes"].as_u64().unwrap()
        };
        assert!(maps(&formatted) < maps(&whole), "{formatted} {whole}");
        let superblock = run("dump a.img --superblock");
        assert!(superblock["own"]["map_memory"] == memory && superblock["own"]["map_blocks"] == map_blocks);
        let capacity = formatted["capacity_bytes"].as_u64().unwrap() / 4096;
        let written: BTreeMap<u64, u8> = (0..BLOCKS).map(|turn| (turn * 104_729 % capacity, turn as u8 | 1)).collect();
        let image = folder.path().join("a.img");
        served(&image, None, |service| {
            for (block, byte) in &written {
                service.engine().write_bytes(0, block * 4096, &[*byte; 4096]).unwrap();
            }
            service.engine().flush(0).unwrap();
        });
        let reads_back = |service: &Service| {
            for (block, byte) in &written {
                let mut read = [0; 4096];
                service.engine().read_bytes(0, block * 4096, &mut read).unwrap();
                assert!(read == [*byte; 4096], "{layer}, block {block} holds {}", read[0]);
            }
        };
        served(&image, Some(4 * PAGE), reads_back);
        served(&image, Some(4000 * PAGE), reads_back);
        let checked = run("check a.img --read-data");
        assert!(checked["problems"] == Value::Array(Vec::new()), "{checked}");
        assert_eq!(checked["mapped_blocks"], written.len());
        let inspected = &run("inspect a.img")["layers"][0];
        assert_eq!(inspected["mapped_blocks"], written.len());
        assert!(inspected["map_memory"] == memory && inspected["map_blocks"] == map_blocks, "{inspected}");
        let map = rows(folder.path(), "dump a.img --map");
        let blocks: u64 = map.iter().map(|run| run["blocks"].as_u64().unwrap()).sum();
        assert_eq!(blocks, written.len() as u64);
    }
}

#[test]
fn a_map_that_may_be_large_has_pages_on_the_drive_unless_all_of_it_is_to_be_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let made = |name: &str, more: &str| {
        let command = format!("format {name} --layer log-greedy --drive exos-x18z --any-memory {more}");
        rows(folder.path(), &command).remove(0)["members"][0]["map_memory"].clone()
    };
    assert_eq!(made("large.img", "--capacity 1TB"), 1u64 << 30);
    assert_eq!(made("all.img", "--capacity 1TB --map-memory all"), Value::Null);
    assert_eq!(made("small.img", "--capacity 64GiB"), Value::Null);
    let words = "format said.img --layer log-greedy --drive exos-x18z --capacity 1TB".split_whitespace();
    let ran = Command::cargo_bin("imbrex").unwrap().args(words).current_dir(folder.path()).assert().success();
    let said = String::from_utf8_lossy(&ran.get_output().stdout).into_owned();
    assert!(said.contains("1 GiB of the map is in memory; --map-memory SIZE sets another limit, or all"), "{said}");
}

#[test]
fn a_forged_page_of_a_map_is_told_and_ends_no_program_in_a_panic() {
    let folder = tempfile::tempdir().unwrap();
    rows(folder.path(), "format a.img --layer log-greedy --drive small-zoned --capacity 1GiB --map-memory 40KiB");
    let image = folder.path().join("a.img");
    served(&image, None, |service| {
        service.engine().write_bytes(0, 0, &[7; 4096]).unwrap();
        service.engine().flush(0).unwrap();
    });
    let volume = Volume::open(vec![store_path::open(&image).unwrap()]).unwrap();
    let header = PageHeader { identity: volume.superblocks[0].identity, page: 0, version: u64::MAX, epoch: 1 };
    // All entries are of a place far beyond the drive.
    let content = [0xfe, 0xff, 0xff, 0xff, 0xff].repeat(4032 / 5);
    let home = volume.setup().unwrap().top.map_home.unwrap().at.first(1);
    volume.members[0].write(home, &encode_page(header, &content, 4096)).unwrap();
    drop(volume);
    let check = Command::cargo_bin("imbrex").unwrap().args(["check", "a.img"]).current_dir(folder.path()).assert();
    let ran = check.code(4).get_output().clone();
    let told = String::from_utf8([ran.stdout, ran.stderr].concat()).unwrap();
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("page 0 of the map puts block 0 at place 1099511627774 of the bands"), "{told}");
    let options = ServiceOptions { stores: vec![image], ..ServiceOptions::default() };
    let service = Arc::new(Service::start(&options).unwrap());
    // What is under way when the service ends has failed; what comes behind it hears why.
    let write = |_| service.engine().write_bytes(0, 0, &[7; 4096]).unwrap_err().to_string();
    let [_, why] = [0, 1].map(write);
    assert!(why.contains("page 0 of the map puts block 0 at place 1099511627774 of the bands"), "{why}");
}
