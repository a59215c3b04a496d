//! The commands for volumes that nobody serves, on images.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;

use assert_cmd::Command;
use bytes::Bytes;
use imbrex::block::{Extent, Lba};
use imbrex::drive::DrivePreset;
use imbrex::perform::Request;
use imbrex_live::service::{Service, ServiceOptions};
use imbrex_live::solo::Solo;
use imbrex_live::store_path;
use imbrex_live::volume::Volume;
use serde_json::Value;

/// Bytes of a block of the drives that are emulated.
const BLOCK: usize = 4096;

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
    let formatted = &rows(&run("format a.img --drive small-zoned --capacity 64MiB --layer fifo-log --format json"))[0];
    let memory = |key: &str| formatted["memory"][key].as_u64().unwrap();
    let member = &formatted["members"][0];
    assert!(member["map_memory"].is_null() && member["map_blocks"] == 0, "{member}");
    assert!(memory("most_bytes") > memory("empty_bytes") && memory("empty_bytes") > 1 << 20, "{formatted}");
    let inspected = &rows(&run("inspect a.img --format json").success())[0];
    assert_eq!((&inspected["schema"], &inspected["layer"]), (&"imbrex.inspected/1".into(), &"fifo-log".into()));
    let layer = &inspected["layers"][0];
    assert!(layer["mapped_blocks"] == 0 && layer["map_memory"].is_null() && layer["map_blocks"] == 0, "{layer}");
    let superblock = &rows(&run("dump a.img --superblock --format json").success())[0];
    assert_eq!(superblock["own"]["layer"], "fifo-log");
    // Whoever may only read it; root may do anything.
    let image = folder.path().join("a.img");
    let permissions = |mode| std::fs::set_permissions(&image, std::fs::Permissions::from_mode(mode)).unwrap();
    permissions(0o444);
    for shown in ["inspect a.img", "dump a.img", "dump a.img --map", "dump a.img --journal --format csv", "check a.img"]
    {
        run(shown).success();
    }
    permissions(0o644);
    // The first copy of the image's header.
    File::options().write(true).open(folder.path().join("a.img")).unwrap().write_all_at(b"X", 100).unwrap();
    let before = std::fs::read(folder.path().join("a.img")).unwrap();
    let checked = run("check a.img --read-data --format json").code(4);
    assert!(rows(&checked)[0]["problems"][0].as_str().unwrap().contains("copy 0 of the image's header"));
    assert!(said(&checked).contains("--repair"), "{}", said(&checked));
    assert_eq!(std::fs::read(folder.path().join("a.img")).unwrap(), before, "a check writes nothing");
    let repaired = run("check a.img --repair").code(3);
    assert!(said(&repaired).contains("is repaired"), "{}", said(&repaired));
    run("check a.img --read-data").success();
}

#[test]
fn a_volume_in_use_and_no_volume_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &str| imbrex(folder.path(), arguments);
    run("format a.img --drive tiny-conventional --capacity 16MiB --layer conventional").success();
    let path = folder.path().join("a.img");
    let store = store_path::open(&path).unwrap();
    for command in ["check", "inspect", "dump"] {
        let told = said(&run(&format!("{command} a.img")).code(1));
        assert!(told.contains("in use") && !told.contains("imbrex status"), "{told}");
        assert!(said(&run(&format!("{command} b.img")).code(1)).contains("b.img"));
    }
    drop(store);
    let control = Some(folder.path().join("a.img.sock.control"));
    let options = ServiceOptions { control, stores: vec![path], ..ServiceOptions::default() };
    let service = Arc::new(Service::start(&options).unwrap());
    let answering = service.answer(&options).unwrap();
    let told = said(&run("check a.img").code(1));
    assert!(told.contains("in use") && told.contains("imbrex status a.img"), "a server can be asked: {told}");
    drop(answering);
    service.stop().unwrap();
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
        ("a.img --drive small-zoned --layer log-greedy --map-memory 8KiB --force", "13056 bytes"),
        ("a.img --drive small-zoned --layer fifo-log --map-memory 1MiB --force", "map"),
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

/// A disk with few conventional zones is refused with what takes the room there.
#[test]
fn a_drive_without_room_for_a_journal_is_refused_with_what_takes_it() {
    let folder = roomy();
    let (_, text) = DrivePreset::built_in().iter().find(|(name, _)| *name == "exos-x18z").unwrap();
    let text = text.replace("conventional_zones = 720", "conventional_zones = 4");
    std::fs::write(folder.path().join("few.toml"), text).unwrap();
    let arguments = "--drive few.toml --layer log-greedy";
    let run = |command: &str| said(&imbrex(folder.path(), &format!("{command} {arguments}")).code(1));
    for refused in [run("format a.img --any-memory"), run("replay uniform --requests 10 --as-live")] {
        assert_eq!(refused.lines().count(), 1, "{refused}");
        assert!(refused.contains("leave nothing of the 262144 conventional blocks"), "{refused}");
        assert!(refused.contains("for checkpoints of a map of up to"), "{refused}");
        assert!(refused.trim_end().ends_with("Choose a smaller drive or buffer"), "{refused}");
    }
}

/// A folder in which files may be as long as a drive.
fn roomy() -> tempfile::TempDir {
    let shared = Path::new("/dev/shm");
    if shared.is_dir() { tempfile::tempdir_in(shared).unwrap() } else { tempfile::tempdir().unwrap() }
}

/// The layer of a volume on one store, for a single caller.
fn served(image: &Path) -> Solo {
    Volume::open(vec![store_path::open(image).unwrap()]).unwrap().solo().unwrap()
}

fn block(at: u64) -> Extent<Lba> {
    Extent::new(Lba(at), 1)
}

/// What a block holds that says who it is.
fn content(at: u64) -> Bytes {
    at.to_le_bytes().repeat(BLOCK / 8).into()
}

/// Whole drives as they are sold or published. Of a log, there is no room for the map of the whole drive, as records of
/// 21 bytes, twice, in two copies; on an interlaced one, none on the few conventional tracks.
#[test]
fn a_whole_drive_is_formatted_and_recovered_in_little_room() {
    let logs = [("log-greedy", ""), ("sepbit", "--capacity 16GiB"), ("log-greedy", "--capacity 1TiB --map-memory all")];
    let tracks = [("tracklace", "imr-tracklace"), ("seagate", "imr-tracklace"), ("track-mapping", "imrsim")];
    let logs = logs.map(|(layer, size)| (layer, "exos-x18z", size));
    for (layer, drive, size) in logs.into_iter().chain(tracks.map(|(layer, drive)| (layer, drive, ""))) {
        let folder = roomy();
        let image = folder.path().join("a.img");
        let formatted =
            imbrex(folder.path(), &format!("format a.img --layer {layer} --drive {drive} {size} --any-memory"));
        let refused = said(&formatted);
        if refused.contains("no files of") {
            return test_material::left_out("a whole drive", "the file system has no files that long");
        }
        let printed = String::from_utf8_lossy(&formatted.get_output().stdout).into_owned();
        if drive != "exos-x18z" {
            assert!(printed.contains("top tracks stay empty"), "{layer}: {printed}");
        }
        formatted.success();
        let mut solo = served(&image);
        let capacity = solo.stack.top().layer().unwrap().capacity();
        let places: Vec<u64> = (0..300).map(|i| i * 7919 % 300 * (capacity / 300)).collect();
        places.iter().for_each(|at| drop(solo.call(Request::Write(block(*at), content(*at))).unwrap()));
        solo.call(Request::Flush).unwrap();
        drop(solo);
        let mut solo = served(&image);
        for at in places {
            assert!(solo.call(Request::Read(block(at))).unwrap() == content(at), "{layer} {size}: block {at}");
            assert!(solo.call(Request::Read(block(at + 1))).unwrap().iter().all(|byte| *byte == 0));
        }
        let progress = solo.stack.progress();
        // The journal holds the whole map, or what is newer than its pages.
        let has_pages = printed.contains("of the map is in memory");
        assert!(progress[0].journal_used < 6000 && (has_pages || progress[0].journal_blocks > 10_000));
        drop(solo);
        imbrex(folder.path(), "check a.img").success();
        let taken = std::fs::metadata(&image).unwrap().blocks() * 512;
        // Of a write to a track, the whole track may move.
        let most = if drive == "exos-x18z" { 160 << 20 } else { 512 << 20 };
        assert!(taken < most, "{layer} {size} takes {taken} bytes of the host");
    }
}

/// A whole conventional zone is the least that `dm-zoned` can do with, and a small drive has none left.
#[test]
fn a_drive_that_is_too_small_is_refused_with_a_size_that_is_not() {
    let folder = roomy();
    let format = |size: &str| {
        imbrex(folder.path(), &format!("format a.img --layer dm-zoned --drive exos-x18z --capacity {size}"))
    };
    let refused = said(&format("16GiB").code(1));
    let named = refused.split("--capacity ").nth(1).and_then(|text| text.split("GiB").next());
    let gib: u64 = named.unwrap_or_else(|| panic!("{refused}")).parse().unwrap();
    assert!(said(&format(&format!("{}GiB", gib - 1)).code(1)).contains(&format!("{gib}GiB is enough")));
    format(&format!("{gib}GiB")).success();
}

/// What 20 single blocks of a volume of format version 1 hold, and 48 that follow each other.
fn is_as_it_was(solo: &mut Solo) {
    let mut holds = |at: u64, byte: u8| {
        let read = solo.call(Request::Read(block(at))).unwrap();
        assert!(read.iter().all(|read| *read == byte), "block {at} holds {}", read[0]);
    };
    (0..20).for_each(|i| holds(37 * i, i as u8 + 1));
    (2048..2064).for_each(|at| holds(at, 0));
    (2064..2112).for_each(|at| holds(at, 77));
}

/// The image was made and written to by the last program that knew version 1 only, and its server was killed.
#[test]
fn a_volume_of_format_version_1_is_read_and_written_on() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("old.img");
    let mut old = Vec::new();
    liblzma::read::XzDecoder::new(&include_bytes!("volumes/version-1.img.xz")[..]).read_to_end(&mut old).unwrap();
    std::fs::write(&image, &old).unwrap();
    let mut solo = served(&image);
    is_as_it_was(&mut solo);
    (3000..6000).for_each(|at| drop(solo.call(Request::Write(block(at), content(at))).unwrap()));
    solo.call(Request::Flush).unwrap();
    solo.stack.checkpoint();
    solo.settle();
    drop(solo);
    imbrex(folder.path(), "check old.img --read-data").success();
    let mut solo = served(&image);
    is_as_it_was(&mut solo);
    (3000..6000).for_each(|at| assert!(solo.call(Request::Read(block(at))).unwrap() == content(at)));
    drop(solo);
    let written = std::fs::read(&image).unwrap();
    let holds = |magic: &[u8]| written.chunks(BLOCK).filter(|block| block.starts_with(magic)).count();
    assert!(holds(b"IMBREXJ1") > 50 && holds(b"IMBREXJ2") == 0, "the older program can go on with it");
    // A version that nobody knows yet.
    for at in (0..old.len()).step_by(BLOCK).filter(|at| old[*at..].starts_with(b"IMBREXS1")).collect::<Vec<_>>() {
        old[at + 8] = 4;
    }
    std::fs::write(&image, &old).unwrap();
    let refused = said(&imbrex(folder.path(), "inspect old.img").code(1));
    assert!(refused.contains("its format version is 4, and this program knows versions up to 3"), "{refused}");
}

#[test]
fn stores_that_are_no_volume_together_are_refused_for_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &str| imbrex(folder.path(), arguments);
    let cache = "--layer lru-cache --drive ssd-pore --drive small-banded --capacity 128MiB --capacity 64MiB";
    run(&format!("format s.img d.img {cache}")).success();
    run(&format!("format s2.img d2.img {cache}")).success();
    run("format a.img --drive small-zoned --capacity 64MiB --layer fifo-log").success();
    let copy = |from: &str, to: &str| std::fs::copy(folder.path().join(from), folder.path().join(to)).unwrap();
    copy("s.img", "copy.img");
    copy("a.img", "short.img");
    copy("a.img", "stub.img");
    let cut = |name: &str, bytes| File::options().write(true).open(folder.path().join(name)).unwrap().set_len(bytes);
    cut("short.img", 20 << 20).unwrap();
    cut("stub.img", 100).unwrap();
    let all = [
        ("s.img d2.img", "member 2 belongs to another volume"),
        ("s.img a.img", "member 2 belongs to another volume"),
        ("d.img s.img", "member 1 is the volume's member 2; name them in order"),
        ("s.img copy.img", "member 2 is the volume's member 1"),
        ("s.img s.img", "in use"),
        ("s.img", "the volume has 2 members; name all of them"),
        ("a.img d.img", "the volume has 1 members"),
        ("short.img", "its end is missing"),
        ("stub.img", "both copies of the image's header are unusable"),
    ];
    for (stores, why) in all {
        let refused = run(&format!("check {stores}")).code(1);
        assert!(said(&refused).contains(why), "{stores}: {}", said(&refused));
    }
    // A copy is as good as what it was made of, until one of the two is served.
    run("check copy.img d.img").success();
}

/// Ctrl-C may come too late on a busy machine; it never ends the program on the spot.
#[test]
fn a_cache_is_detached_again_after_an_interruption() {
    use std::os::unix::process::ExitStatusExt;

    const DIRTY: u64 = 30_000;
    let folder = tempfile::tempdir().unwrap();
    imbrex(folder.path(), "format disk.img --layer log-greedy --drive small-zoned --capacity 512MiB").success();
    let attach = "attach flash.img disk.img --layer lru-cache --drive ssd-pore --capacity 256MiB";
    imbrex(folder.path(), attach).success();
    let stores = ["flash.img", "disk.img"].map(|name| store_path::open(&folder.path().join(name)).unwrap());
    let mut solo = Volume::open(stores.into()).unwrap().solo().unwrap();
    (0..DIRTY).for_each(|at| drop(solo.call(Request::Write(block(at), content(at))).unwrap()));
    solo.call(Request::Flush).unwrap();
    drop(solo);
    let mut detach = std::process::Command::new(assert_cmd::cargo::cargo_bin("imbrex"));
    detach.args(["detach", "flash.img", "disk.img"]).current_dir(folder.path());
    let mut detach = detach.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let (mut said, mut first) = (detach.stderr.take().unwrap(), [0]);
    said.read_exact(&mut first).unwrap();
    rustix::process::kill_process(rustix::process::Pid::from_child(&detach), rustix::process::Signal::INT).unwrap();
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    let status = detach.wait().unwrap();
    assert!(rest.contains("0,000 blocks (117.2 MiB) are newer in the cache"), "{rest}");
    assert_eq!(status.signal(), None, "{rest}");
    if status.code() == Some(130) {
        assert!(rest.contains("are still newer in the cache; detach it again to go on"), "{rest}");
        imbrex(folder.path(), "detach flash.img disk.img").success();
    } else {
        assert!(status.success(), "{rest}");
    }
    let mut solo =
        Volume::open(vec![store_path::open(&folder.path().join("disk.img")).unwrap()]).unwrap().solo().unwrap();
    assert!((0..DIRTY).step_by(97).all(|at| solo.call(Request::Read(block(at))).unwrap() == content(at)));
}
