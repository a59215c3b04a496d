//! What shells are told to complete, asked for as their scripts do, and once in each shell that is there.

use std::env;
use std::path::Path;
use std::process::{Command, Output};

use assert_cmd::cargo::cargo_bin;
use imbrex::layers;

/// What bash is offered for the last of `words`.
fn offered(words: &[&str]) -> Vec<String> {
    let output = Command::new(cargo_bin("imbrex"))
        .envs([("COMPLETE", "bash"), ("_CLAP_IFS", "\n"), ("_CLAP_COMPLETE_COMP_TYPE", "9")])
        .env("_CLAP_COMPLETE_INDEX", words.len().to_string())
        .args(["--", "imbrex"])
        .args(words)
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

fn has(words: &[&str], expected: &[&str]) {
    let offered = offered(words);
    let missing: Vec<_> = expected.iter().filter(|word| !offered.iter().any(|other| other == *word)).collect();
    assert!(missing.is_empty(), "{words:?}: {missing:?} are not in {offered:?}");
}

#[test]
fn the_fields_of_a_layer_are_offered() {
    let fields = layers::find("fifo-log").unwrap().fields;
    let mut expected: Vec<String> = fields.iter().map(|field| format!("fifo-log.{}=", field.key)).collect();
    expected.push("fifo-log.preset=paper".to_owned());
    for command in [["replay", "zipf", "--set"], ["format", "disk.img", "--set"], ["bench", "--quick", "--set"]] {
        let words = |value| [&command[..], &[value]].concat();
        assert_eq!(offered(&words("fifo-log.")), expected);
        assert_eq!(offered(&words("fifo-log.sp")), ["fifo-log.spare_zones="]);
        // Where one layer is left, its fields are what comes next.
        assert_eq!(offered(&words("fifo")), expected);
        has(&words("log-"), &["log-greedy.", "log-fifo."]);
        assert!(offered(&words("no-layer.")).is_empty());
    }
    assert_eq!(offered(&["compare", "--set", ""]).len(), layers::ALL.len());
}

#[test]
fn names_are_offered_where_they_are_taken() {
    let layers: Vec<&str> = layers::ALL.iter().map(|info| info.name).collect();
    for command in [["replay", "zipf", "--layer"], ["format", "disk.img", "--layer"], ["bench", "--quick", "--layer"]] {
        has(&[&command[..], &[""]].concat(), &layers);
    }
    has(&["explore", ""], &layers);
    has(&["compare", "--layers", "sepbit,track-f"], &["sepbit,track-flipping"]);
    has(&["compare", "--drive", "exos"], &["exos-x18z"]);
    has(&["advise", "--disk", "exos"], &["exos-x18z"]);
    has(&["probe", "--simulated", "st8"], &["st8000as0002"]);
    for command in [&["compare"][..], &["advise"], &["bound"], &["trace", "stat"], &["trace", "generate"]] {
        has(&[command, &["h"]].concat(), &["hm_0", "hot-cold"]);
    }
    has(&["compare", "--trace-format", "sys"], &["systor17"]);
    has(&["compare", "--family", "s"], &["shingled", "ssd"]);
    has(&["help", "s"], &["serve", "sweep", "sepbit"]);
    has(&["list", "drives", "exos"], &["exos-x18z"]);
    has(&["se"], &["serve"]);
    has(&["serve", "--lo"], &["--lock-memory", "--log"]);
}

#[test]
fn files_are_offered_beside_names() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["hm_trace.csv", "exos.toml", "disk.img"] {
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    let path = |name: &str| folder.path().join(name).display().to_string();
    for (words, start, whole) in [
        (&["compare"][..], "hm_", "hm_trace.csv"),
        (&["compare", "--drive"], "exos", "exos.toml"),
        (&["serve"], "di", "disk.img"),
    ] {
        has(&[words, &[&path(start)]].concat(), &[&path(whole)]);
    }
}

/// As of a program with layers of somebody else's.
#[test]
fn a_program_of_another_name_is_completed_under_that() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("of-somebody-else");
    std::os::unix::fs::symlink(cargo_bin("imbrex"), &other).unwrap();
    let output = Command::new(other).env("COMPLETE", "bash").output().unwrap();
    let script = String::from_utf8(output.stdout).unwrap();
    assert!(script.contains("-F _clap_complete_imbrex of-somebody-else\n"), "{script}");
}

fn is_there(shell: &str) -> bool {
    let found = env::split_paths(&env::var_os("PATH").unwrap()).any(|folder| folder.join(shell).is_file());
    if !found {
        test_material::left_out(&format!("completion in {shell}"), &format!("{shell} is not installed"));
    }
    found
}

/// What a shell says to a script, with the program on its path.
fn said(shell: &str, arguments: &[&str]) -> String {
    let program = cargo_bin("imbrex");
    let folders = [program.parent().map(Path::to_owned).unwrap()];
    let path = env::join_paths(folders.into_iter().chain(env::split_paths(&env::var_os("PATH").unwrap()))).unwrap();
    let Output { status, stdout, stderr } = Command::new(shell).args(arguments).env("PATH", path).output().unwrap();
    let stdout = String::from_utf8(stdout).unwrap();
    assert!(status.success(), "{shell}: {stdout}{}", String::from_utf8_lossy(&stderr));
    stdout
}

#[test]
fn bash_completes() {
    if is_there("bash") {
        let script = "source <(COMPLETE=bash imbrex); complete -p imbrex >/dev/null || exit 1
            COMP_WORDS=(imbrex replay zipf --set fifo-log.sp); COMP_CWORD=4; COMP_TYPE=9
            _clap_complete_imbrex imbrex fifo-log.sp --set; printf '%s\\n' \"${COMPREPLY[@]}\"";
        assert_eq!(said("bash", &["--norc", "-c", script]), "fifo-log.spare_zones=\n");
    }
}

#[test]
fn fish_completes() {
    if is_there("fish") {
        let script = "COMPLETE=fish imbrex | source; complete -C 'imbrex replay zipf --set fifo-log.sp'";
        let said = said("fish", &["--no-config", "-c", script]);
        // The meaning stands behind it.
        assert!(said.starts_with("fifo-log.spare_zones=\t") && said.lines().count() == 1, "{said}");
    }
}

#[test]
fn zsh_takes_the_script() {
    if is_there("zsh") {
        let script = "autoload -Uz compinit; compinit -D -u; source <(COMPLETE=zsh imbrex); print $_comps[imbrex]";
        assert_eq!(said("zsh", &["-f", "-c", script]), "_clap_dynamic_completer_imbrex\n");
    }
}
