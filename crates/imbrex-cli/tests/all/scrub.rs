//! Checksums of data: what is damaged in an image is named by its logical block, offline and by a server.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use assert_cmd::Command;
use imbrex::block::Pba;
use imbrex_live::image::Image;
use imbrex_live::service::{EventKind, EventLevel, Service, ServiceOptions};
use serde_json::{Value, json};

const BLOCK: usize = 4096;
const BLOCKS: u64 = 600;

fn imbrex(folder: &Path, arguments: &str) -> assert_cmd::assert::Assert {
    Command::cargo_bin("imbrex").unwrap().args(arguments.split_whitespace()).current_dir(folder).assert()
}

fn rows(assert: &assert_cmd::assert::Assert) -> Vec<Value> {
    serde_json::from_slice(&assert.get_output().stdout).unwrap()
}

fn said(assert: &assert_cmd::assert::Assert) -> String {
    String::from_utf8(assert.get_output().stderr.clone()).unwrap()
}

/// The volume on an image, served within this program.
fn served(image: &Path) -> Arc<Service> {
    let mut options = ServiceOptions { control: Some(image.with_extension("control")), ..ServiceOptions::default() };
    options.stores.push(image.to_owned());
    options.engine.idle_after = Duration::from_secs(3600);
    Arc::new(Service::start(&options).unwrap())
}

/// A volume in which the first blocks are written, some of them twice.
fn written(folder: &Path, format: &str) -> PathBuf {
    imbrex(folder, &format!("format a.img {format}")).success();
    let image = folder.join("a.img");
    let service = served(&image);
    for block in 0..BLOCKS {
        service.engine().write_bytes(0, block * BLOCK as u64, &[block as u8; BLOCK]).unwrap();
    }
    for block in 0..20 {
        service.engine().write_bytes(0, block * BLOCK as u64, &[7; BLOCK]).unwrap();
    }
    service.stop().unwrap();
    image
}

/// Where the blocks lie in the file.
fn places(folder: &Path) -> Vec<(u64, u64)> {
    let runs = rows(&imbrex(folder, "dump a.img --map --format json").success());
    let image = Image::open(File::open(folder.join("a.img")).unwrap()).unwrap();
    let number = |row: &Value, key: &str| row[key].as_u64().unwrap();
    let of = |row: &Value| {
        let (lba, place) = (number(row, "lba"), number(row, "place"));
        (0..number(row, "blocks")).map(|i| (lba + i, image.offset(Pba::disk(place + i)))).collect::<Vec<_>>()
    };
    runs.iter().flat_map(of).collect()
}

fn flip(image: &Path, offset: u64) {
    let file = File::options().read(true).write(true).open(image).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset).unwrap();
    file.write_all_at(&[byte[0] ^ 16], offset).unwrap();
}

const FORMATS: [&str; 4] = [
    "--drive small-zoned --capacity 128MiB --layer fifo-log --checksums",
    "--drive small-zoned --capacity 128MiB --layer log-greedy --checksums",
    "--drive tiny-conventional --capacity 64MiB --layer conventional --checksums",
    "--drive imrsim --capacity 256MiB --layer seagate --checksums",
];

#[test]
fn what_is_damaged_is_named_and_nothing_else() {
    for format in FORMATS {
        let folder = tempfile::tempdir().unwrap();
        let run = |arguments: &str| imbrex(folder.path(), arguments);
        let image = written(folder.path(), format);
        let sound = &rows(&run("scrub a.img --format json").success())[0];
        assert!(sound["verified_blocks"].as_u64().unwrap() >= BLOCKS, "{format}: {sound}");
        assert_eq!((&sound["damaged"], &sound["unsettled_blocks"]), (&json!([]), &json!(0)), "{format}");
        let places = places(folder.path());
        for (lba, offset) in places.iter().filter(|(lba, _)| matches!(lba, 5 | 100..103 | 599)) {
            flip(&image, offset + lba % 7 * 512 + 3);
        }
        let before = std::fs::read(&image).unwrap();
        let scrubbed = run("scrub a.img --format json").code(4);
        let named = json!([{ "first": 5, "blocks": 1 }, { "first": 100, "blocks": 3 }, { "first": 599, "blocks": 1 }]);
        assert_eq!(rows(&scrubbed)[0]["damaged"], named, "{format}");
        assert!(said(&scrubbed).contains("5 blocks of the volume are damaged"), "{}", said(&scrubbed));
        assert!(run("scrub a.img").code(4).get_output().stdout.windows(17).any(|text| text == b"blocks 100 to 102"));
        assert!(std::fs::read(&image).unwrap() == before, "a scrub writes nothing");
        run("check a.img").success();
        run("check a.img --read-data").code(4);
        // Layers that keep no map have no record of what is lost.
        if format.contains("log") {
            run("check a.img --read-data --repair").code(3);
            let repaired = &rows(&run("scrub a.img --format json").success())[0];
            assert_eq!(repaired["damaged"], json!([]), "{format}: what is on record as lost is nobody's place");
        }
    }
}

#[test]
fn a_copy_that_nobody_needs_is_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let image = written(folder.path(), FORMATS[0]);
    // Block 3 was written twice; its old copy lies in the buffer still.
    let bytes = std::fs::read(&image).unwrap();
    let old = bytes.chunks(BLOCK).position(|block| block.iter().all(|byte| *byte == 3)).unwrap();
    flip(&image, (old * BLOCK) as u64);
    let scrubbed = &rows(&imbrex(folder.path(), "scrub a.img --format json").success())[0];
    assert_eq!((&scrubbed["damaged"], scrubbed["unneeded"].as_array().unwrap().len()), (&json!([]), 1), "{scrubbed}");
}

#[test]
fn a_server_names_the_same_while_it_is_written_to() {
    for format in FORMATS {
        let folder = tempfile::tempdir().unwrap();
        let image = written(folder.path(), format);
        let places = places(folder.path());
        let (_, offset) = places.iter().find(|(lba, _)| *lba == 300).unwrap();
        flip(&image, *offset);
        let service = served(&image);
        let mut options = ServiceOptions { control: Some(folder.path().join("c")), ..ServiceOptions::default() };
        options.stores.push(image.clone());
        let answering = service.answer(&options).unwrap();
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for block in (0..200_u64).cycle().take_while(|_| !ended.load(Ordering::Relaxed)) {
                    service.engine().write_bytes(1, block * BLOCK as u64, &[block as u8; BLOCK]).unwrap();
                }
            });
            let scrubbed = imbrex(folder.path(), "scrub c --throttle 100 --format json").code(4);
            ended.store(true, Ordering::Relaxed);
            let report = &rows(&scrubbed)[0];
            assert_eq!(report["damaged"], json!([{ "first": 300, "blocks": 1 }]), "{format}: {report}");
            assert_eq!(report["served"], true);
        });
        let scrub = service.status().scrub.unwrap();
        assert!(scrub.began_at_ms > 0 && scrub.ended_at_ms.is_some(), "{format}: {scrub:?}");
        let events = service.events();
        let ended = events.iter().find(|event| event.event == EventKind::ScrubEnded).unwrap();
        assert_eq!(
            (ended.level, ended.text.as_str()),
            (EventLevel::Warning, "Scrub ended: 1 damaged block"),
            "{format}"
        );
        let mut content = [0; BLOCK];
        assert!(service.engine().read_bytes(1, 300 * BLOCK as u64, &mut content).is_err(), "{format}");
        let sums = service.status().checksums.unwrap();
        assert!(sums.damaged_blocks > 0 && service.metrics().contains("checksum_damaged_blocks"), "{format}: {sums:?}");
        service.engine().write_bytes(1, 300 * BLOCK as u64, &[9; BLOCK]).unwrap();
        service.engine().read_bytes(1, 300 * BLOCK as u64, &mut content).unwrap();
        assert_eq!(content, [9; BLOCK]);
        drop(answering);
        service.stop().unwrap();
        drop(service);
        imbrex(folder.path(), "scrub a.img").success();
    }
}

#[test]
fn what_cannot_have_checksums_is_refused_and_what_has_none_is_not_scrubbed() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &str| imbrex(folder.path(), arguments);
    let drive = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../imbrex-core/drives/small-zoned.toml"))
        .unwrap();
    std::fs::write(folder.path().join("s.toml"), drive.replace("conventional_zones = 8", "conventional_zones = 0"))
        .unwrap();
    let refused = said(&run("format a.img --drive s.toml --layer log-greedy --checksums").code(1));
    assert!(refused.contains("and 0 are left") && refused.contains("leave --checksums out"), "{refused}");
    assert!(!folder.path().join("a.img").exists());
    run("format a.img --drive small-zoned --capacity 128MiB --layer fifo-log").success();
    assert!(said(&run("scrub a.img").code(1)).contains("--checksums"));
}
