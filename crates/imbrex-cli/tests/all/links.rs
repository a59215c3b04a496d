//! Links among the documents lead somewhere, and whoever begins with the README finds all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

const AT_THE_ROOT: [&str; 4] = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The documents, by their paths from the root.
fn documents() -> Vec<PathBuf> {
    let folders = ["docs", "docs/layers", "docs/reproduction"].into_iter().flat_map(|folder| {
        let entries = std::fs::read_dir(root().join(folder)).unwrap();
        entries.map(move |entry| Path::new(folder).join(entry.unwrap().file_name()))
    });
    let found = folders.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    found.chain(AT_THE_ROOT.map(PathBuf::from)).collect()
}

/// The lines of a text that lie in no block of code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let fence = line.starts_with("```");
        is_code ^= fence;
        !fence && !is_code
    })
}

/// A text without what it shows as code within lines.
fn without_code(text: &str) -> String {
    text.split('`').step_by(2).collect()
}

/// What the links and pictures of a text refer to, whether a line ends within them or not.
fn targets(text: &str) -> Vec<String> {
    let text = without_code(&prose(text).collect::<Vec<_>>().join("\n"));
    text.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_owned())).collect()
}

/// The anchors of a text's headings, as hosts of repositories make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for heading in prose(text).filter(|line| line.starts_with('#')) {
        let words = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = words.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let before = seen.entry(anchor.clone()).or_default();
        anchors.insert(if *before == 0 { anchor } else { format!("{anchor}-{before}") });
        *before += 1;
    }
    anchors
}

/// Where a link of a document leads: a path from the root, and an anchor.
fn followed(document: &Path, target: &str) -> (PathBuf, Option<String>) {
    let (path, anchor) =
        target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor.to_owned())));
    if path.is_empty() {
        return (document.to_owned(), anchor);
    }
    let mut led = PathBuf::new();
    for part in document.parent().unwrap().join(path).components() {
        match part {
            Component::ParentDir => drop(led.pop()),
            part => led.push(part),
        }
    }
    (led, anchor)
}

/// What is wrong about a link, if anything: its file is not there, or has no such heading.
fn complaint(document: &Path, target: &str) -> Option<String> {
    if target.contains("://") {
        return None;
    }
    let (path, anchor) = followed(document, target);
    let file = root().join(&path);
    if !file.exists() {
        return Some(format!("{}: there is no {}", document.display(), path.display()));
    }
    let anchor = anchor?;
    let known = anchors(&std::fs::read_to_string(file).unwrap());
    (!known.contains(&anchor)).then(|| format!("{}: {} has no #{anchor}", document.display(), path.display()))
}

#[test]
fn every_link_leads_somewhere() {
    let mut wrong = Vec::new();
    let mut links = 0;
    for document in documents() {
        for target in targets(&std::fs::read_to_string(root().join(&document)).unwrap()) {
            links += 1;
            wrong.extend(complaint(&document, &target));
        }
    }
    assert!(links > 100, "only {links} links were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_readme_lists_every_document() {
    let readme = Path::new("README.md");
    let listed = targets(&std::fs::read_to_string(root().join(readme)).unwrap());
    let listed: BTreeSet<PathBuf> = listed.iter().map(|target| followed(readme, target).0).collect();
    // A layer's page is one of a folder that is listed.
    let is_listed = |document: &PathBuf| {
        document == readme
            || listed.contains(document)
            || (document.starts_with("docs/layers") && listed.contains(Path::new("docs/layers/README.md")))
    };
    let missing: Vec<_> = documents().into_iter().filter(|document| !is_listed(document)).collect();
    assert!(missing.is_empty(), "the README refers to none of {missing:?}");
}

#[test]
fn a_link_that_leads_nowhere_is_noticed() {
    let text = "# One, `two` & three\n\nSee [a](serving.md#grow), [b\nc](https://example.org) and `[d](e)`.\n\n```text\n# [f](g)\n```\n# Again\n# Again\n";
    assert_eq!(targets(text), ["serving.md#grow", "https://example.org"]);
    assert_eq!(Vec::from_iter(anchors(text)), ["again", "again-1", "one-two--three"]);
    let of = |target| complaint(Path::new("docs/pages.md"), target);
    assert_eq!(of("serving.md#grow"), None);
    assert_eq!(of("../README.md"), None);
    assert_eq!(of("#a-served-volume"), None);
    assert_eq!(of("layers"), None);
    assert!(of("serving.md#shrink").unwrap().contains("docs/serving.md has no #shrink"));
    assert!(of("missing.md").unwrap().contains("there is no docs/missing.md"));
}

/// Goals of `make` that a text names: at the beginning of code or of a command.
fn goals(text: &str) -> BTreeSet<&str> {
    let named = ["`make ", "$ make ", "run: make "].into_iter().flat_map(|before| text.split(before).skip(1));
    let is_in_name = |c: char| c.is_ascii_lowercase() || c == '-';
    named.filter_map(|rest| rest.split(|c: char| !is_in_name(c)).next()).filter(|goal| !goal.is_empty()).collect()
}

#[test]
fn every_goal_of_make_that_is_named_is_there() {
    let read = |path: &Path| std::fs::read_to_string(root().join(path)).unwrap();
    let makefile = read(Path::new("Makefile"));
    let rules = makefile.lines().filter(|line| !line.starts_with(['#', '\t', '.']));
    let known: BTreeSet<&str> =
        rules.filter_map(|line| line.split_once(':')).flat_map(|(goals, _)| goals.split(' ')).collect();
    let phony = makefile.lines().find_map(|line| line.strip_prefix(".PHONY: ")).unwrap();
    assert_eq!(known, phony.split(' ').collect(), "no goal makes a file of its name");
    let workflows = ["ci", "release"].map(|name| format!(".github/workflows/{name}.yml").into());
    let mut named = 0;
    for path in documents().into_iter().chain(workflows) {
        let text = read(&path);
        let goals = goals(&text);
        named += goals.len();
        let unknown: Vec<&&str> = goals.difference(&known).collect();
        assert!(unknown.is_empty(), "{}: make {unknown:?}", path.display());
    }
    assert!(named > 20, "{named}");
    assert!(!known.contains("nonsense") && goals("run `make nonsense`.").contains("nonsense"));
}
