//! `checks/reproduction.py`: pages get their tables from their commands, and one that differs is found.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const PAGE: &str = "\
# A paper

<!-- tables of: imbrex reproduce zonealloy --requests 300 --seeds 2 -->

Words.

<!-- begin workloads.md -->
<!-- end -->

<!-- begin verdicts.md -->
<!-- end -->

<!-- begin claims.md -->
<!-- end -->

<!-- begin figure-6-schemes-latency.md -->
<!-- end -->
";

fn run(pages: &Path, options: &str) -> Output {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../checks/reproduction.py");
    let mut command = Command::new("python3");
    command.arg(script).arg("--pages").arg(pages).arg("--program").arg(env!("CARGO_BIN_EXE_imbrex"));
    command.args(options.split_whitespace()).output().expect("Python is there")
}

#[test]
fn a_page_that_differs_from_its_command_is_found() {
    let home = tempfile::tempdir().unwrap();
    let page = home.path().join("paper.md");
    fs::write(&page, PAGE).unwrap();
    let output = run(home.path(), "--write");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let made = fs::read_to_string(&page).unwrap();
    assert!(made.contains("| hm_0 (synthetic) |") && made.contains("20 claims on synthetic data"), "{made}");
    let said = |page_now: &str| {
        fs::write(&page, page_now).unwrap();
        let output = run(home.path(), "--volume hm_0 paper");
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    let (agrees, text) = said(&made);
    assert!(agrees && text.contains("1 pages agree"), "{text}");
    let row = made.lines().rev().find(|line| line.starts_with("| hm_0")).unwrap();
    let (agrees, text) = said(&made.replace(row, &row.replacen(" ms", " s", 1)));
    assert!(!agrees && text.contains("paper.md: figure-6-schemes-latency.md, improved-lru of hm_0"), "{text}");
    let (agrees, text) = said(&made.replacen(" not met,", "1 not met,", 1));
    assert!(!agrees && text.contains("verdicts.md does not say"), "{text}");
    fs::write(&page, &made).unwrap();
    let output = run(home.path(), "--seconds 0");
    assert!(output.status.success(), "a volume that the script chooses: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.matches("paper: imbrex reproduce").count() == 1 && text.contains("are left for other"), "{text}");
    fs::write(&page, made.replacen(" not met,", "1 not met,", 1)).unwrap();
    assert!(!run(home.path(), "--seconds 0").status.success(), "words are counted whatever is run");
    let other = made.lines().rev().find(|line| line.starts_with("| web_0")).unwrap();
    assert!(said(&made.replace(other, "| web_0 |")).0, "that volume was not looked at");
}

/// Claims are over all seeds, and tables of the first.
#[test]
fn a_page_may_be_checked_with_fewer_seeds() {
    let home = tempfile::tempdir().unwrap();
    let page = home.path().join("paper.md");
    let begun =
        "<!-- tables of: imbrex reproduce cold-weight --requests 40000 --band-size 256KiB --prepopulation 0% -->\n";
    let tables = ["workloads", "verdicts", "claims", "saved-proj_1"];
    let included = tables.map(|table| format!("<!-- begin {table}.md -->\n<!-- end -->\n"));
    fs::write(&page, format!("{begun}<!-- checked with: --seeds 1 -->\n{}", included.concat())).unwrap();
    assert!(run(home.path(), "--write").status.success());
    let output = run(home.path(), "--volume proj_1 paper");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("--prepopulation 0% --seeds 1 --workload proj_1"), "{text}");
    let made = fs::read_to_string(&page).unwrap();
    let row = made.lines().find(|line| line.starts_with("| 0.3 |")).unwrap();
    fs::write(&page, made.replace(row, &row.replacen(" %", "1 %", 2))).unwrap();
    assert!(!run(home.path(), "--volume proj_1 paper").status.success(), "tables are compared all the same");
}
