//! The manual pages: one for each command, which `man` formats without a complaint, with examples that the documentation
//! shows too.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use tempfile::TempDir;

use crate::program::imbrex;

/// A folder with the pages.
fn written() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let output = imbrex(&format!("manual {}", folder.path().display()));
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    folder
}

fn page(folder: &TempDir, name: &str) -> String {
    fs::read_to_string(folder.path().join(name)).unwrap()
}

/// The names of the commands that the help of `above` lists.
fn commands(above: &str) -> Vec<String> {
    let help = String::from_utf8(imbrex(&format!("{above} --help")).stdout).unwrap();
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = listed.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    names.map(|name| format!("{above} {name}").trim().to_owned()).collect()
}

#[test]
fn every_command_has_a_page() {
    let folder = written();
    let mut expected: BTreeSet<String> = ["imbrex.1", "imbrex-help.1", "nbdkit-imbrex-plugin.1"].map(Into::into).into();
    let commands: Vec<String> =
        commands("").into_iter().flat_map(|name| [commands(&name), vec![name]].concat()).collect();
    assert!(commands.iter().any(|name| name == "trace stat") && commands.len() > 25, "{commands:?}");
    expected.extend(commands.iter().map(|name| format!("imbrex-{}.1", name.replace(' ', "-"))));
    let there = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(there.collect::<BTreeSet<_>>(), expected);
    let serve = page(&folder, "imbrex-serve.1").replace('\\', "");
    for said in
        [".TH imbrex-serve 1", "imbrex-serve - Serve a volume over NBD", "--lock-memory", "imbrex serve disk.img"]
    {
        assert!(serve.contains(said), "{said}: {serve}");
    }
    // Other pages in the folder stay.
    fs::write(folder.path().join("other.1"), "other").unwrap();
    assert!(imbrex(&format!("manual {}", folder.path().display())).status.success());
    assert_eq!(page(&folder, "other.1"), "other");
}

#[test]
fn the_page_of_the_plugin_has_what_it_takes() {
    let folder = written();
    let plugin = page(&folder, "nbdkit-imbrex-plugin.1");
    for (form, meaning) in imbrex_live::service::KEYS {
        let (key, _) = form.split_once('=').unwrap();
        let words = |text: &str| text.replace('\\', "").split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(plugin.contains(&format!("\\fB{}\\fR=", key.replace('-', "\\-"))), "{key}: {plugin}");
        assert!(words(&plugin).contains(&words(meaning)), "{meaning}: {plugin}");
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let output = imbrex(&format!("manual {}/file/man1", folder.path().display()));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && said.lines().count() == 1 && said.contains("file/man1"), "{said}");
}

#[test]
fn man_has_nothing_to_complain_of() {
    let is_there =
        |name: &str| env::split_paths(&env::var_os("PATH").unwrap()).any(|folder| folder.join(name).is_file());
    if !is_there("man") || !is_there("groff") {
        return test_material::left_out("man on the manual pages", "man and groff are not installed");
    }
    let folder = written();
    let pages: Vec<PathBuf> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    for page in &pages {
        let shown = Command::new("man")
            .args(["--warnings=w", "-E", "UTF-8", "-l", "-Tutf8", "-Z"])
            .arg(page)
            .envs([("LC_ALL", "C.UTF-8"), ("MANROFFSEQ", ""), ("MANWIDTH", "100"), ("MANROFFOPT", "")])
            .output()
            .unwrap();
        let said = String::from_utf8(shown.stderr).unwrap();
        assert!(shown.status.success() && said.is_empty() && !shown.stdout.is_empty(), "{}: {said}", page.display());
    }
    // It does complain.
    let wrong = folder.path().join("wrong.1");
    fs::write(&wrong, ".TH wrong 1\n.SH NAME\n.no-such-macro here\n").unwrap();
    let shown = Command::new("man").args(["--warnings=w", "-l", "-Tutf8", "-Z"]).arg(&wrong).output().unwrap();
    assert!(!shown.stderr.is_empty());
}

#[test]
fn examples_are_shown_in_the_documentation() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let texts = docs.chain([root.join("README.md")]).filter(|path| path.extension().is_some_and(|is| is == "md"));
    let texts: Vec<String> = texts.map(|path| fs::read_to_string(path).unwrap()).collect();
    let shown: BTreeSet<&str> =
        texts.iter().flat_map(|text| text.lines()).map(|line| line.trim_start_matches(['$', '#', ' '])).collect();
    let commands: Vec<String> =
        commands("").into_iter().flat_map(|name| [commands(&name), vec![name]].concat()).collect();
    let mut examples = 0;
    for command in commands.iter().chain([&"help".to_owned()]) {
        let help = if command == "help" { "help help".to_owned() } else { format!("{command} --help") };
        let help = String::from_utf8(imbrex(&help).stdout).unwrap();
        for example in help.lines().skip_while(|line| *line != "Examples:").skip(1) {
            assert!(shown.contains(example.trim()), "{command}: '{}' is shown nowhere", example.trim());
            assert!(example.trim().starts_with(&format!("imbrex {command} ")), "{command}: {example}");
            examples += 1;
        }
    }
    assert!(examples > 20, "{examples}");
}
