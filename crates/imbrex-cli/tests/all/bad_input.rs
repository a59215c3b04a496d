//! Bad input is one clear line on standard error and no output.

use std::fs;
use std::path::Path;

use crate::program::imbrex;

/// Each wrong command of a comparison, its exit code, and what the message must say.
const WRONG: &[(&str, i32, &str)] = &[
    ("--layers fifo-logg", 2, "there is no layer 'fifo-logg'; known are conventional, in-place, fifo-log"),
    ("--buffer much", 2, "'much' is no buffer size"),
    ("--buffer 64", 2, "64 of what? write 64MiB, 64GiB or 64blocks, or 64B for bytes"),
    (
        "--buffer 64B",
        1,
        "--buffer: 64B is less than a block, which has 4096 bytes here; write 1blocks, or a larger size",
    ),
    ("--buffer 200%", 2, "200% is more than the whole address range; write at most 100%, or a size as 64GiB"),
    ("--buffer 1.5blocks", 2, "a whole number of blocks as 4096blocks"),
    ("--capacity 5blocks", 2, "write a size such as 64GiB or 2TB"),
    ("--zone-size 5%", 2, "write a size such as 64GiB or 2TB"),
    ("--conventional-zones some", 2, "'some' is no number of zones"),
    ("--warm-up 0", 2, "write a number of requests such as 10000 or 10k, or a time such as"),
    ("--warm-up 3days", 2, "write a number of requests such as 10000 or 10k, or a time such as"),
    ("--capacity 5%", 2, "write a size such as 64GiB or 2TB"),
    ("--queue-depth 0", 2, "0 is not in 1..=65536"),
    ("--scheduler scan", 2, "fcfs, c-look, sptf"),
    ("--map-memory much", 2, "write a size such as 64GiB or 2TB"),
    ("--map-memory 64KiB --as-live", 2, "'--map-memory <SIZE>' cannot be used with '--as-live'"),
    ("--map-memory 64KiB --scheduler sptf", 2, "'--map-memory <SIZE>' cannot be used with '--scheduler <SCHEDULER>'"),
    ("--map-memory 60KiB --layers log-greedy", 1, "map_memory: 61440 bytes are too little; choose at least 65536"),
    (
        "--map-memory 64KiB --layers log-greedy --conventional-zones 0",
        1,
        "blocks, and the drive has 0; choose more conventional zones",
    ),
    ("--map-memory 64KiB --layers fifo-log", 1, "map_memory: the layer's maps stay in memory and take up to"),
    ("--map-memory 64KiB --layers fifo-log", 1, "bytes, more than 65536; choose more, or a smaller buffer"),
    ("--scheduler sptf --scheduler-depth 1025", 2, "1025 is not in 1..=1024"),
    ("--prefill 7", 2, "write a number from 0 to 1"),
    ("--prefill NaN", 2, "write a number from 0 to 1"),
    ("--trimmed 1.5", 2, "write a number from 0 to 1, or a percentage such as 50%"),
    ("--prefill 101%", 2, "or a percentage such as 50%"),
    ("--requests 0", 2, "write a number of requests such as 20000, 20k or 1.5M"),
    ("--requests many", 2, "write a number of requests such as 20000, 20k or 1.5M"),
    ("--jobs 0", 2, "non-zero"),
    ("--set spare_zones=1", 2, "LAYER.FIELD=VALUE"),
    ("--set fifo-log.spare=1", 2, "layer fifo-log has no field spare; its fields are: spare_zones"),
    ("--set logg.spare_zones=1", 2, "there is no layer 'logg'"),
    ("--set fifo-log.spare_zones=many", 1, "layer fifo-log: spare_zones is \"many\": invalid type"),
    ("--set fifo-log.step_blocks=0", 1, "layer fifo-log: step_blocks must be at least 1"),
    ("--family banded --set log-greedy.spare_fraction=2", 1, "layer log-greedy: step_blocks and compact_bands must be"),
    ("--layers conventional --set fifo-log.spare_zones=1", 1, "layer fifo-log takes no part"),
    ("--drive exos", 1, "no drive is called exos; the built-in ones are"),
    ("--drive none.toml", 1, "cannot read drive none.toml: No such file"),
    ("--capacity 1B", 1, "drive exos-x18z: capacity: 0 blocks are too few"),
    ("--capacity 64", 2, "write a size such as 64GiB or 2TB, or fit"),
    ("--zone-size 1000B", 1, "zone size: 1000 bytes are no number of blocks of 4096 bytes; give a multiple"),
    ("--capacity 1GiB --zone-size 2GiB", 1, "too few; give room for"),
    ("--capacity 1GiB --conventional-zones 4", 1, "leave at least one sequential zone"),
    ("--drive st8000as0002 --zone-size 1GiB", 1, "no sequential zones to change; choose a zoned drive"),
    ("--family shingled --zone-size 1GiB", 2, "cannot be used with"),
    ("--requests 500 --warm-up 500", 1, "warm_up: it covers the whole trace of 500 requests; choose a shorter one"),
    ("--requests 500 --warm-up 9999h", 1, "warm_up: it covers the whole trace of 500 requests; choose a shorter one"),
    ("--capacity 1e30B", 1, "blocks are too many"),
    ("--drive conventional-7200", 1, "layer in-place does not fit the drive: it needs sequential zones"),
    ("--buffer 1e30B", 1, "blocks must be at least 1 and fit the"),
    ("--buffer 4TiB", 1, "a buffer of 1073741824 blocks must be at least 1 and fit the"),
    ("--layers pore --drive small-banded --buffer 1GiB", 1, "blocks is larger than the disk behind it, which has"),
    ("--drive tiny-zoned --layers log-greedy --set log-greedy.buffer_bands=1000", 1, "= 1000, and the drive has"),
    ("--drive tiny-zoned", 1, "ends beyond the layer's capacity"),
    ("--drive tiny-zoned", 1, "(--capacity fit, --dense or --beyond wrap)"),
    ("--drive tiny-zoned --as-live --beyond wrap", 1, "superblocks of"),
    ("nonsense", 1, "there is no file and no built-in workload nonsense"),
    ("missing.csv", 1, "cannot open missing.csv: No such file"),
    ("missing.csv --seed 1", 1, "--seed: missing.csv is no synthetic workload"),
    ("--seed -1", 2, "unexpected argument"),
    ("--trace-format yaml", 2, "there is no trace format \"yaml\"; the formats are msr, vscsi1"),
    ("--event C", 2, "write Q (queued) or D (issued)"),
    ("zipf --volume 0", 1, "--trace-format, --volume, --event: zipf is no trace file"),
    ("--format yaml", 2, "possible values: table, json, csv"),
];

fn refused(arguments: &str, code: i32, message: &str) {
    let output = imbrex(arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "imbrex {arguments}: {error}");
    assert!(error.starts_with("error: ") && error.contains(message), "imbrex {arguments}: {error}");
    assert!(code == 2 || error.trim_end().lines().count() == 1, "imbrex {arguments}: {error}");
    assert!(output.stdout.is_empty(), "imbrex {arguments} prints something");
}

#[test]
fn wrong_options_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("out.json");
    for (arguments, code, message) in WRONG {
        refused(&format!("compare {arguments} --format json -o {}", target.display()), *code, message);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "imbrex compare {arguments} leaves a file");
    }
}

#[test]
fn what_would_harm_somebody_is_not_served() {
    for (arguments, code, message) in [
        ("serve a.img --http 0.0.0.0:8080", 1, "--insecure"),
        ("serve a.img --metrics [::]:9100", 1, "--insecure"),
        ("serve a.img --port 10809 --address 192.0.2.1", 1, "--insecure"),
        ("serve a.img --port 10809 --address 192.0.2.1 --tls on", 1, "--tls require"),
        ("serve a.img --threads 0", 2, "1..=256"),
        ("serve a.img --threads 100000", 2, "1..=256"),
        ("serve a.img --pidfile Cargo.toml", 1, "holds no process number; take it away, or name another --pidfile"),
        ("web a.img", 1, "say where: --http PORT"),
        ("web a.img --http 0", 1, "no server answers there"),
    ] {
        refused(arguments, code, message);
    }
}

#[test]
fn wrong_traces_and_drives_are_refused_where_they_are_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let good = "1,h,0,Write,0,4096,0\n";
    let trace = file("bad.csv", &format!("{good}2,h,0,Write,0,many,0\n"));
    refused(&format!("compare {trace}"), 1, &format!("{trace}, line 2: size is \"many\""));
    let trace = file("empty.csv", "");
    refused(&format!("compare {trace}"), 1, "holds no requests; name a trace that has some");
    let trace = file("far.csv", &format!("{good}2,h,0,Write,99999999999999999,4096,0\n"));
    refused(&format!("compare {trace}"), 1, &format!("{trace} on conventional: request 2 (4096 bytes at offset 999"));
    let trace = file("noise.bin", "this is no trace\n");
    refused(&format!("compare {trace}"), 1, "is in no trace format");
    let trace = file("numbers", "26 0 303574 8 0\n");
    refused(
        &format!("compare {trace}"),
        1,
        "in milliseconds (DiskSim), and does not tell which; say --trace-format ssdsim",
    );
    let trace = file("cut.srt", "$$TR_IOREC-1.3\n");
    refused(
        &format!("compare {trace}"),
        1,
        "cut.srt, byte 0: no text that begins with $$TR_IOREC and ends with a form feed",
    );
    let two = file("two.csv", good);
    refused(&format!("compare {two} --volume h,1"), 1, "holds no request of volume h,1; choose one it has");
    refused(&format!("compare {two} --event D"), 1, "is MSR CSV, which has no event to choose; leave out --event");
    refused(&format!("replay {two} --layer conventional --trace-format spc"), 1, ", line 1: LBA is \"h\"");
    let drive = file("drive.toml", "description = \"\"\nblock_bytes = 4096\nmedium = 1\n");
    refused(&format!("compare --drive {drive}"), 1, "TOML parse error at line");
    let workload = file("workload.toml", "name = \"x\"\nseed = -1\n");
    refused(&format!("compare {workload}"), 1, &format!("synthetic workload {workload}: TOML parse error at line 2"));
    refused(&format!("compare {}", dir.path().display()), 1, "is a directory; name one of the trace files in it");
}

#[test]
fn what_cannot_be_written_is_refused_before_the_work() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("missing/out.csv");
    refused(&format!("compare -o {}", missing.display()), 1, "missing/out.csv: ");
    refused(&format!("compare -o {}", dir.path().display()), 1, "cannot write");
    let replay = "replay uniform --layer fifo-log --requests 10";
    refused(&format!("{replay} --series {}", missing.display()), 1, "missing/out.csv: ");
    refused(&format!("{replay} -o out.parquet"), 1, "results are written as .json, .csv or .txt");
    refused(&format!("{replay} --window 60s"), 2, "--series");
    refused(&format!("{replay} --watch-disk {}", missing.with_extension("svg").display()), 1, "missing/out.svg: ");
    refused(&format!("{replay} --watch-disk disk.png"), 1, "--watch-disk disk.png: it is a picture; write it as .svg");
    refused(
        &format!("{replay} --watch-disk-at 5"),
        1,
        "--watch-disk-at: nobody watches; add --watch-disk FILE.svg or --html",
    );
    refused(&format!("{replay} --watch-disk x.svg --watch-disk-at soon"), 2, "write a percentage such as 25%");
    let late = format!("{replay} --watch-disk x.svg --watch-disk-at 10");
    refused(&late, 1, "watch_disk: it begins after the 10 requests of the trace; choose an earlier moment");
    refused(
        &format!("{replay} --watch-disk x.svg --scheduler sptf"),
        1,
        "watch_disk: a scheduler mixes the operations",
    );
    let stack = "replay uniform --layer lru-cache --drive st8000as0002 --requests 10 --watch-disk x.svg";
    refused(stack, 1, "watch_disk: the devices of a stack work at the same time; choose a layer on a single disk");
    refused(&format!("{replay} --series x --window 60parsec"), 2, "write a time such as");
    assert!(!Path::new("x").exists());
}

#[test]
fn a_failure_leaves_the_old_file_alone() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("out.csv");
    fs::write(&target, "old").unwrap();
    refused(&format!("compare --drive tiny-zoned -o {}", target.display()), 1, "ends beyond");
    assert_eq!(fs::read_to_string(&target).unwrap(), "old");
    imbrex(&format!("compare --requests 10 -o {}", target.display()));
    assert!(fs::read_to_string(&target).unwrap().starts_with("schema,trace,"), "the ending decides");
    imbrex(&format!("compare --requests 10 --format json -o {}", target.display()));
    assert!(fs::read_to_string(&target).unwrap().starts_with('['), "what was asked for decides");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn other_commands_refuse_too() {
    refused("replay uniform", 2, "--layer");
    refused("explore nothing", 2, "there is no layer 'nothing'");
    refused("explore fifo-log --without 14", 2, "the rules are numbered from 1 to 13");
    refused("explore log-greedy --without 11", 1, "add --map-pages");
    refused("explore log-greedy --map-pages 2", 2, "2 is not in 3..");
    refused("explore fifo-log --without 6", 2, "rules 6 and 7 bind layers");
    refused("explore fifo-log --without 5", 1, "which fifo-log does not make");
    refused("explore fifo-log --cuts many", 2, "invalid digit");
    refused("check", 2, "<STORES>");
    refused("dump a.img --map --journal", 2, "cannot be used with");
    refused("list everything", 2, "possible values: layers, drives, workloads, formats");
    refused("validate --disksim missing", 1, "missing: No such file");
    refused("trace stat", 2, "<TRACE|WORKLOAD>...");
    refused("trace stat missing.csv", 1, "cannot open missing.csv: No such file");
    refused("trace stat zipf --cache 64MiB", 2, "write a percentage of the distinct offsets, such as 10%");
    refused("trace stat zipf --cache 101%", 2, "write a percentage of the distinct offsets, such as 10%");
    refused("trace stat zipf --buffer much", 2, "'much' is no buffer size");
    refused("simulate", 2, "unrecognized subcommand");
    let replay = "replay uniform --drive small-hybrid --buffer 8MiB --beyond wrap --requests 100";
    let grown = |asked: &str, message: &str| refused(&format!("{replay} --layer zone-alloy {asked}"), 1, message);
    grown("--extend 1GiB@1", "1GiB cannot be added: 76MiB are left until all realms are sequential that can be");
    grown("--extend 40MiB@1 --extend 40MiB@50", "40MiB cannot be added: 36MiB are left until");
    grown("--extend 76MiB@1 --extend 4MiB@50", "nothing can be added any more: all realms are sequential");
    grown("--extend 4MiB@1 --extend 4MiB@100", "it comes after the 100 requests of the trace");
}

#[test]
fn what_a_page_cannot_show_is_named_with_the_reason() {
    let home = tempfile::tempdir().unwrap();
    let old = home.path().join("old.csv");
    fs::write(&old, "schema,id\nimbrex.claim/0,A1\n").unwrap();
    let page = home.path().join("page.html");
    let report = format!("report {} -o {}", old.display(), page.display());
    refused(&report, 1, "old.csv: imbrex.claim/0: this program reads imbrex.claim/2; make the results again with it");
}

/// A browser that cannot be started, one that prints nothing, and none.
#[test]
fn a_page_that_cannot_be_printed_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let browsers = [
        ("IMBREX_BROWSER", "/no/such/browser", "/no/such/browser cannot be started: "),
        ("IMBREX_BROWSER", "true", "true printed nothing; name another browser in IMBREX_BROWSER, or write --html"),
        (
            "PATH",
            "/no/such/folder",
            "no browser is here that prints; install Chromium, name one like it in IMBREX_BROWSER",
        ),
    ];
    for (name, value, message) in browsers {
        let mut imbrex = assert_cmd::Command::cargo_bin("imbrex").unwrap();
        let words =
            ["compare", "--layers", "conventional", "--requests", "10", "--pdf", "out.pdf", "--html", "out.html"];
        let failed =
            imbrex.args(words).current_dir(&folder).env_remove("IMBREX_BROWSER").env(name, value).assert().code(1);
        let error = String::from_utf8_lossy(&failed.get_output().stderr).into_owned();
        assert!(error.starts_with("error: --pdf: ") && error.contains(message), "{error}");
        assert!(failed.get_output().stdout.is_empty());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "{message}");
    }
}

/// A Python that cannot be started, and one that finds nothing.
#[test]
fn a_sweep_without_its_package_is_refused() {
    for (python, message) in [
        ("/no/such/python", "cannot be started: "),
        ("false", "no package imbrex; install it in a clone of Imbrex with pip install '.[sweep]'"),
    ] {
        let mut imbrex = assert_cmd::Command::cargo_bin("imbrex").unwrap();
        let failed = imbrex.args(["sweep", "grid.toml", "-o", "sweep"]).env("IMBREX_PYTHON", python).assert().code(1);
        let error = String::from_utf8_lossy(&failed.get_output().stderr).into_owned();
        assert!(error.starts_with("error: sweeps are run by Python, and ") && error.contains(message), "{error}");
    }
}
