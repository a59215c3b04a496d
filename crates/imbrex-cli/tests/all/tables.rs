//! No table is wider than 100 columns in a pipe, whatever prints it.

use std::fs;
use std::path::Path;
use std::process::Output;

use assert_cmd::Command;

/// Columns of text.
const WIDTH: usize = 100;

/// Every subcommand with what makes it print its widest tables.
const SHOWN: [&str; 36] = [
    "compare --requests 300",
    "compare --family all --requests 200",
    "compare uniform zipf LONG/other/two.csv LONG/one/two.csv --requests 200",
    "advise LONG/one/two.csv zipf --trials 1 --requests 200",
    "bound LONG/one/two.csv zipf uniform --requests 300 --buffer 1MiB --capacity 1TiB",
    "bound zipf --layers log-greedy,sepbit --drive small-zoned --requests 300 --beyond wrap",
    "compare zipf LONG/one/two.csv --layers lru-cache,sac --drive small-banded --queue-depth 1 --beyond wrap --bound --requests 300",
    "replay zipf --layer amphisbaena --buffer 8MiB --capacity 20GiB --requests 2000 --verify",
    "replay zipf --layer lru-cache --drive st8000as0002 --requests 300",
    "replay LONG/one/two.csv --layer conventional",
    "replay zipf --layer log-greedy --capacity 1GiB --beyond wrap --map-memory 64KiB --requests 200",
    "compare zipf --layers log-greedy,sepbit --capacity 1GiB --beyond wrap --map-memory 64KiB --requests 200",
    "replay zipf --layer zone-alloy --drive zonealloy --requests 2000 --extend 1GiB@10%",
    "reproduce amphisbaena --requests 100 --seeds 2 --output figures",
    "reproduce frontier --requests 300 --trials 3 --table interlaced-80 --table logs --workload hm_0 --output rows",
    "trace stat hm_0 LONG/one/two.csv LONG/other/two.csv zipf uniform --requests 300",
    "list layers",
    "list layers --all",
    "help seagate-two-phase",
    "list drives",
    "list workloads",
    "list formats",
    "explore fifo-log --cuts 20",
    "explore log-cost-benefit --cuts 20",
    "format LONG/a.img --drive small-zoned --layer fifo-log",
    "inspect LONG/a.img",
    "dump LONG/a.img",
    "dump LONG/a.img --map",
    "check LONG/a.img",
    "attach LONG/f.img LONG/a.img --layer lru-cache --drive ssd-pore --capacity 256MiB",
    "detach LONG/f.img LONG/a.img",
    "format LONG/b.img --drive small-zoned --layer fifo-log --checksums",
    "scrub LONG/b.img",
    "probe --simulated small-banded --write",
    "bench --layer amphisbaena,page-ftl --set amphisbaena.hot_most=0.5 --quick",
    "bench --layer conventional --quick --against earlier.json",
];

/// What takes long and is run once for all that it prints: [`the_mechanics_are_validated`].
const ONCE: &str = "validate";

/// Subcommands that print no table: a page is no terminal, Python prints what a sweep does, pages of a manual are files, and the others serve, or need somebody who does.
const OTHERS: [&str; 9] = ["manual", "report", "sweep", "serve", "web", "status", "top", "clean", "grow"];

fn imbrex(folder: &Path, arguments: &str) -> Output {
    Command::cargo_bin("imbrex").unwrap().args(arguments.split_whitespace()).current_dir(folder).output().unwrap()
}

/// The names of the subcommands, as the program lists them.
fn subcommands(folder: &Path) -> Vec<String> {
    let help = String::from_utf8(imbrex(folder, "--help").stdout).unwrap();
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    listed.filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect()
}

fn fits(command: &str, text: &str) {
    let wide: Vec<_> = text.lines().filter(|line| line.chars().count() > WIDTH).collect();
    assert!(wide.is_empty(), "imbrex {command}:\n{}", wide.join("\n"));
}

#[test]
fn no_table_is_wider_than_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let long = "a-folder-with-a-name/that-is-no-shorter-than-those/which-people-keep-their-traces-in".to_owned();
    for file in ["one", "other"] {
        fs::create_dir_all(folder.path().join(&long).join(file)).unwrap();
        let path = folder.path().join(&long).join(file).join("two.csv");
        fs::write(path, "128166372003061629,hm,0,Write,8192,4096,100\n128166372003071629,hm,0,Read,4096,4096,9\n")
            .unwrap();
    }
    let earlier = imbrex(folder.path(), "bench --layer conventional --quick --format json").stdout;
    fs::write(folder.path().join("earlier.json"), earlier).unwrap();
    for command in SHOWN {
        let output = imbrex(folder.path(), &command.replace("LONG", &long));
        assert!(output.status.success(), "imbrex {command}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.lines().count() >= 2, "imbrex {command} printed no table:\n{text}");
        // A command that a note names stays in its line, to be copied.
        let is_command = |line: &&str| line.starts_with("  imbrex ");
        let text: String = text.lines().filter(|line| !is_command(line)).map(|line| format!("{line}\n")).collect();
        fits(command, &text);
        if command.contains("one/two.csv LONG") || command.contains("other/two.csv LONG") {
            assert!(text.contains("one/two.csv") && text.contains("other/two.csv"), "{text}");
            assert!(!text.contains("shorter-than"), "{text}");
        }
    }
}

#[test]
fn the_mechanics_are_validated() {
    let command = format!("{ONCE} --disksim {}", test_material::disksim().display());
    let output = imbrex(Path::new("."), &command);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("111 passed, 0 failed, 13 skipped"), "{text}");
    fits(&command, &text);
    // The last line sums up.
    let rows = || text.lines().rev().skip(1);
    let rows = [" pass", " skipped"].map(|verdict| rows().filter(|row| row.ends_with(verdict)).count());
    assert_eq!(rows, [111, 13], "{text}");
}

#[test]
fn every_subcommand_is_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let names = subcommands(folder.path());
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        let is_shown = SHOWN.iter().any(|command| command.split(' ').next() == Some(&name));
        assert!(is_shown || name == ONCE || OTHERS.contains(&name.as_str()), "imbrex {name} is not looked at");
    }
}
