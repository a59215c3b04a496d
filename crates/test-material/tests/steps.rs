//! `checks/steps.py` runs what it is told, counts what was left out, and ends with what failed.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "clippy takes the helpers of an integration test for library code")]

use std::process::Command;

use test_material::{LEFT_OUT, repository};

/// What is printed after the steps when these are run, and the status that it ends with. Each has a name, a command,
/// and the step that it comes after, if any.
fn run(steps: &[(&str, &str, &str)]) -> (String, Option<i32>) {
    run_with(steps, &[])
}

/// The same, with more in the environment.
fn run_with(steps: &[(&str, &str, &str)], environment: &[(&str, &str)]) -> (String, Option<i32>) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("steps.toml");
    let step = |(name, command, after): &(&str, &str, &str)| {
        let after = if after.is_empty() { String::new() } else { format!("'{after}'") };
        format!("[\"{name}\"]\ngoals = [\"tried\"]\nafter = [{after}]\ncommand = '''\n{command}'''\n")
    };
    std::fs::write(&file, steps.iter().map(step).collect::<String>()).unwrap();
    let mut program = Command::new(repository().join("checks/steps.py"));
    program.arg("tried").arg(&file).env("CARGO_TARGET_DIR", folder.path()).env_remove("KEEP_GOING");
    let output = program.envs(environment.iter().copied()).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let after = said.lines().filter(|line| !line.starts_with('[') && !line.contains(" steps in "));
    (after.map(|line| format!("{line}\n")).collect(), output.status.code())
}

/// A command that leaves out a check.
fn leave_out(check: &str, why: &str) -> String {
    format!("printf '%s\\t%s\\n' \"{check}\" \"{why}\" >> \"${LEFT_OUT}\"")
}

#[test]
fn tests_are_counted_whoever_runs_them() {
    let cargo = "echo 'test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out'";
    let said = run(&[("a", cargo, ""), ("b", "echo '======= 4 passed, 2 skipped in 1.50s ======='", "")]);
    assert_eq!(said, ("nothing was left out\n7 passed, 0 failed, 3 skipped\n".to_owned(), Some(0)));
}

#[test]
fn what_is_left_out_is_counted_by_reason() {
    let pairs = [("b", "no traces"), ("fio", "no nbdkit"), ("a", "no traces"), ("b", "no traces")];
    let script = pairs.map(|(check, why)| leave_out(check, why)).join("\n");
    let expected =
        "4 checks left out:\n  no nbdkit:\n    fio\n  no traces:\n    a\n    b\n0 passed, 0 failed, 0 skipped\n";
    assert_eq!(run(&[("a", &script, "")]), (expected.to_owned(), Some(0)));
}

#[test]
fn a_failure_is_said_last_with_the_command_that_repeats_it_and_nothing_follows_on_it() {
    let (said, status) =
        run(&[("a", "echo why; exit 3", ""), ("b", "touch \"$CARGO_TARGET_DIR\"/b; echo too much", "a")]);
    assert_eq!(status, Some(1));
    assert!(said.contains("0 passed, 1 failed, 0 skipped\n") && !said.contains("too much"), "{said}");
    assert!(said.ends_with("why\n\nThis repeats it alone:\n\n    echo why; exit 3\n\n"), "{said}");
}

#[test]
fn the_first_failure_ends_the_run_unless_others_are_wanted_too() {
    let steps = [
        ("a", "exit 3", ""),
        ("b", "sleep 1", ""),
        ("c", "echo 'test result: ok. 1 passed; 0 failed; 0 ignored'", "b"),
    ];
    assert!(run(&steps).0.contains("\n0 passed, 1 failed, 0 skipped\n"));
    assert!(run_with(&steps, &[("KEEP_GOING", "1")]).0.contains("\n1 passed, 1 failed, 0 skipped\n"));
}

#[test]
fn nothing_waits_for_what_a_failure_keeps_from_being_done() {
    let steps = [("c", "echo too much", "b"), ("b", "echo too much", "a"), ("a", "echo why; exit 3", "")];
    let (said, status) = run_with(&steps, &[("KEEP_GOING", "1")]);
    assert_eq!(status, Some(1));
    assert!(said.contains("0 passed, 1 failed, 0 skipped\n") && !said.contains("too much"), "{said}");
}

#[test]
fn a_step_that_hangs_fails_and_all_that_it_began_is_ended() {
    let steps = [("a", "echo 'waits for b'\nsleep 1000 | cat", ""), ("b", "true", "")];
    let (said, status) = run_with(&steps, &[("STEP_LIMIT_SECONDS", "1"), ("KEEP_GOING", "1")]);
    assert_eq!(status, Some(1));
    let why = "waits for b\n\nended here: it has taken 1 s, as no step does (STEP_LIMIT_SECONDS)\n";
    assert!(said.contains("0 passed, 1 failed, 0 skipped\n") && said.contains(why), "{said}");
}

#[test]
fn the_steps_of_several_goals_are_one_run_and_what_comes_after_all_is_the_last() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("steps.toml");
    let step = |(name, goal, after): (&str, &str, &str)| {
        let command = format!(
            "echo 'test result: ok. 1 passed; 0 failed; 0 ignored'\necho {name} >> \"$CARGO_TARGET_DIR\"/order"
        );
        format!("[{name}]\ngoals = ['{goal}']\nafter = [{after}]\ncommand = '''\n{command}'''\n")
    };
    let steps = [("last", "b", "'*'"), ("first", "a", ""), ("second", "b", "'first'"), ("third", "c", "")];
    std::fs::write(&file, steps.map(step).concat()).unwrap();
    let mut program = Command::new(repository().join("checks/steps.py"));
    let output = program.args(["a", "b"]).arg(&file).env("CARGO_TARGET_DIR", folder.path()).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("\n3 passed, 0 failed, 0 skipped\n"), "{said}");
    let order = std::fs::read_to_string(folder.path().join("order")).unwrap();
    assert_eq!(order, "first\nsecond\nlast\n");
}

#[test]
fn an_unknown_goal_is_refused() {
    let mut program = Command::new(repository().join("checks/steps.py"));
    let output = program.arg("everything").output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), error.contains("there are quick, soak, test")), (Some(1), true), "{error}");
    let mut program = Command::new(repository().join("checks/steps.py"));
    let output = program.arg("checks/steps.toml").output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), error.contains("no goal is named")), (Some(1), true), "{error}");
}

/// What a later goal finds built takes no time there, and says nothing of an empty clone.
#[test]
fn the_time_of_a_step_comes_from_the_goal_that_runs_it_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::create_dir_all(path("checks")).unwrap();
    std::fs::create_dir_all(path("target/steps")).unwrap();
    std::fs::copy(repository().join("checks/steps.py"), path("checks/steps.py")).unwrap();
    let steps = "[build]\ngoals = [\"test\", \"soak\"]\ncommand = ''\n[soak]\ngoals = [\"soak\"]\ncommand = ''\n";
    std::fs::write(path("checks/steps.toml"), steps).unwrap();
    std::fs::write(path("CONTRIBUTING.md"), "| build | all | 1 |\n| soak | more | 1 |\n").unwrap();
    std::fs::write(path("target/steps/test.json"), r#"{"build": 250}"#).unwrap();
    std::fs::write(path("target/steps/soak.json"), r#"{"build": 3, "soak": 480}"#).unwrap();
    for goal in ["test", "soak"] {
        let mut program = Command::new(path("checks/steps.py"));
        program.args(["--times", goal]).env("CARGO_TARGET_DIR", path("target"));
        assert!(program.status().unwrap().success());
    }
    let written = std::fs::read_to_string(path("CONTRIBUTING.md")).unwrap();
    assert_eq!(written, "| build | all | 250 |\n| soak | more | 480 |\n");
}

/// The programs of tests in a folder `tests`, by name.
fn programs(crate_folder: &std::path::Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(crate_folder.join("tests")) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    let is_program =
        |path: &std::path::PathBuf| path.extension().is_some_and(|of| of == "rs") || path.join("main.rs").exists();
    paths.filter(is_program).map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

#[test]
fn no_program_of_tests_is_left_out() {
    let steps = std::fs::read_to_string(repository().join("checks/steps.toml")).unwrap();
    let words: Vec<_> = steps.split(|of: char| of.is_whitespace() || of == '"').collect();
    let crates = std::fs::read_dir(repository().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let all: Vec<_> = crates.chain([repository().join("template")]).flat_map(|folder| programs(&folder)).collect();
    assert!(all.len() > 5, "{all:?}");
    for name in all {
        assert!(words.windows(2).any(|pair| pair == ["--test", name.as_str()]), "no step runs {name}");
    }
}
