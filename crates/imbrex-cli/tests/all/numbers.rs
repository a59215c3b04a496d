//! Numbers of the code that documents state. Each is read from its source, and the sentences that state it must have it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Where a number is: a source, and what stands before the number there.
type Place = (&'static str, &'static str);
/// A document, and a sentence or a part of one with `{}` in place of the number.
type Statement = (&'static str, &'static str);

const NUMBERS: [(Place, &[Statement]); 41] = [
    (
        ("crates/imbrex-runs/src/steady.rs", "pub const WINDOW: u32 = "),
        &[("docs/simulation.md", "A *window* is {} rounds in a row")],
    ),
    (
        ("crates/imbrex-runs/src/steady.rs", "NonZeroU32::new("),
        &[("docs/simulation.md", "After {} rounds, or `--steady-rounds`")],
    ),
    (
        ("crates/imbrex-runs/src/steady.rs", "pub const MOST_PASSES: u64 = "),
        &[("docs/simulation.md", "as many passes as fill it, at most {}.")],
    ),
    (
        ("crates/imbrex/tests/every_layer/power.rs", "const CUTS: u64 = "),
        &[
            ("docs/reliability.md", "and {} on drives in memory"),
            ("docs/validation.md", "`make test` makes {} for each layer in memory"),
            ("CONTRIBUTING.md", "| {} power cuts a layer in memory |"),
        ],
    ),
    (
        ("crates/imbrex-live/tests/crashes.rs", "const CUTS: u64 = "),
        &[
            ("docs/reliability.md", "`make test` makes {} cuts for each layer on images"),
            ("docs/reliability.md", "| {} for each layer, and as many as there is time for |"),
            ("docs/validation.md", "for each layer in memory and {} on images"),
            ("CONTRIBUTING.md", "| {} power cuts a layer on images, and as many with checksums |"),
        ],
    ),
    (
        ("crates/imbrex-live/tests/crashes.rs", "const CAUGHT_WITHIN: u64 = "),
        &[("docs/reliability.md", "within {} cuts on images")],
    ),
    (
        ("crates/imbrex-live/tests/all/hostile.rs", "ProptestConfig { cases: "),
        &[("docs/reliability.md", "| {} cases in each test run |")],
    ),
    (
        ("crates/imbrex/tests/every_layer/queue.rs", "const CASES: u32 = "),
        &[("CONTRIBUTING.md", "| {} to 80 cases of each property")],
    ),
    (
        ("crates/imbrex/tests/every_layer/promises.rs", "const CASES: u32 = "),
        &[("CONTRIBUTING.md", "| 25 to {} cases of each property")],
    ),
    (
        ("crates/imbrex/tests/all/counts/mod.rs", "let requests = cases("),
        &[("CONTRIBUTING.md", "counting models on workloads of {} requests")],
    ),
    (
        ("crates/imbrex/tests/all/counts/mod.rs", "let requests = cases(10_000, "),
        &[("CONTRIBUTING.md", "| {} requests, and whole traces |")],
    ),
    (
        ("crates/imbrex/tests/all/counts/flash_cache/mod.rs", "const LONGEST: usize = "),
        &[("CONTRIBUTING.md", "requests, {} for caches |")],
    ),
    (
        ("crates/imbrex-cli/tests/all/documentation.rs", "const REQUESTS: usize = "),
        &[("CONTRIBUTING.md", "| commands shown, on {} requests |")],
    ),
    (
        ("crates/imbrex-engine/src/rules.rs", "pub const ALL: [Self; "),
        &[
            ("README.md", "each of the {} [ordering rules]"),
            ("docs/validation.md", "switches off one of the {} ordering rules"),
            ("docs/validation.md", "The tests do this for all {} rules"),
        ],
    ),
    (
        ("crates/imbrex-engine/src/chain.rs", "const MOST_SEGMENTS: usize = "),
        &[("docs/on-disk-format.md", "adds a run, so after {} of them")],
    ),
    (
        ("checks/soak.py", "os.environ.get(\"SOAK_SECONDS\", "),
        &[
            ("CONTRIBUTING.md", "{} seconds by default"),
            ("README.md", "for {} seconds, or for as long as `SOAK_SECONDS` says"),
        ],
    ),
    (
        ("crates/imbrex-volumes/src/serve.rs", "\"N\", default_value_t = "),
        &[("docs/serving.md", "| `--threads` | {}, "), ("docs/serving.md", "at a time: {}, or `--threads`")],
    ),
    (
        ("crates/imbrex-volumes/src/scrub.rs", "default_value_t = "),
        &[("docs/serving.md", "that `--throttle` allows: {} %")],
    ),
    (
        ("crates/imbrex-live/src/engine/mod.rs", "let step_limit = Some(Duration::from_millis("),
        &[
            ("docs/serving.md", "how long a step may take: {} ms by default"),
            ("docs/serving.md", "| `--step-ms` | {} |"),
        ],
    ),
    (
        ("crates/imbrex-live/src/engine/mod.rs", "idle_after: Duration::from_millis("),
        &[("docs/serving.md", "| `--idle-after` | {} ms |")],
    ),
    (
        ("crates/imbrex-live/src/engine/pace.rs", "const FIRST: u32 = "),
        &[("docs/serving.md", "first step copies {} blocks")],
    ),
    (
        ("crates/imbrex-live/src/engine/room.rs", "pub const KEPT: u64 = "),
        &[("docs/serving.md", "when less than {} MiB are left")],
    ),
    (
        ("crates/imbrex-live/src/overlay.rs", "pub const KEEPS: u64 = "),
        &[("docs/serving.md", "up to {} MiB for each store unless `--overlay`")],
    ),
    (
        ("crates/imbrex-live/src/volume/map.rs", "pub const PAGE_OVERHEAD: u32 = "),
        &[("docs/serving.md", "pages of a block each, with {} bytes beside")],
    ),
    (
        ("crates/imbrex-core/src/layer/pages.rs", "pub const LEAST: u32 = "),
        &[("docs/serving.md", "at least {} of them: 12.75 KiB")],
    ),
    (
        ("crates/imbrex-layers/src/banded/log_structured/fold.rs", "pub(super) const MOST_LOST: u64 = "),
        &[("docs/reliability.md", "*More than {} lost blocks*")],
    ),
    (
        ("crates/imbrex-core/src/layer/pages.rs", "pub const MAP_PAGE_HEADER: u32 = "),
        &[("docs/on-disk-format.md", "A block begins with {} bytes")],
    ),
    (
        ("crates/imbrex-live/src/service/control.rs", "const ASKED_WITHIN: Duration = Duration::from_secs("),
        &[("docs/serving.md", "has {} seconds to send its question"), ("SECURITY.md", "{} seconds to send a question")],
    ),
    (
        ("crates/imbrex-volumes/src/web/server.rs", "pub const MOST_CONNECTIONS: usize = "),
        &[
            ("docs/serving.md", "keeps {} connections of an address"),
            ("SECURITY.md", "keeps {} connections of an address"),
        ],
    ),
    (
        ("crates/imbrex-volumes/src/web/server.rs", "const HEADERS_WITHIN: Duration = Duration::from_secs("),
        &[("docs/serving.md", "a client {} seconds for its headers"), ("SECURITY.md", "{} seconds for its headers")],
    ),
    (
        ("crates/imbrex-volumes/src/web/server.rs", "const ENDS_WITHIN: Duration = Duration::from_secs("),
        &[("docs/serving.md", "and {} for everything"), ("SECURITY.md", "and {} for everything")],
    ),
    (
        ("crates/imbrex-advice/src/settings.rs", "const TRIALS: u32 = "),
        &[
            ("docs/advice.md", "It is {} by default"),
            ("crates/imbrex-advice/src/command.rs", "of each kind; otherwise {}, and"),
        ],
    ),
    (
        ("crates/imbrex-advice/src/settings.rs", "const FEW_TRIALS: u32 = "),
        &[("docs/advice.md", "by default, {} where"), ("crates/imbrex-advice/src/command.rs", "and {} where 6")],
    ),
    (
        ("crates/imbrex-advice/src/settings.rs", "const LONG_GIB: u64 = "),
        &[
            ("docs/advice.md", "four where {} GiB are"),
            ("crates/imbrex-advice/src/command.rs", "4 where {} GiB are read"),
        ],
    ),
    (
        ("crates/imbrex-advice/src/settings.rs", "const LEAST_TRIALS: u32 = "),
        &[("docs/advice.md", "and {} where"), ("crates/imbrex-advice/src/command.rs", "and {} where 32")],
    ),
    (
        ("crates/imbrex-advice/src/settings.rs", "const LONGER_GIB: u64 = "),
        &[
            ("docs/advice.md", "and two where {} GiB are,"),
            ("crates/imbrex-advice/src/command.rs", "2 where {} GiB are"),
        ],
    ),
    (
        ("crates/imbrex-advice/src/settings.rs", "const CLOSER: u32 = "),
        &[("docs/advice.md", "{} times as many of the two")],
    ),
    (("crates/imbrex-advice/src/stages.rs", "const LEADERS: usize = "), &[("docs/advice.md", "of the {} that lead")]),
    (
        ("crates/imbrex-advice/src/trial.rs", "const PATIENCE: f64 = "),
        &[
            ("docs/advice.md", "more than {} times as long as a conventional disk"),
            ("docs/advice.md", "and {} times as long as the longest there"),
        ],
    ),
    (
        ("crates/imbrex-advice/src/trial.rs", "const PATIENCE_SECONDS: f64 = "),
        &[("docs/advice.md", "and {} seconds more")],
    ),
    (("crates/imbrex-advice/src/kinds.rs", "KINDS: [Kind; "), &[("docs/advice.md", "Without it there are {} kinds")]),
];

const WORDS: [&str; 13] =
    ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];

fn read(file: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file)).unwrap()
}

/// The number behind `after` in a source, if it stands there once.
fn number(source: &str, after: &str) -> Option<u64> {
    let mut behind = source.split(after).skip(1);
    let (first, None) = (behind.next()?, behind.next()) else { return None };
    let digits: String = first.chars().take_while(|c| c.is_ascii_digit() || *c == '_').filter(|c| *c != '_').collect();
    digits.parse().ok()
}

/// A number as documents write it: `20000`, `20 000`, `20,000`, and small ones as words.
fn spellings(number: u64) -> Vec<String> {
    let plain = number.to_string();
    let grouped = |separator: &str| {
        let digits: Vec<char> = plain.chars().collect();
        digits.rchunks(3).rev().map(|group| group.iter().collect::<String>()).collect::<Vec<_>>().join(separator)
    };
    let word = usize::try_from(number).ok().and_then(|at| WORDS.get(at)).map(ToString::to_string);
    [grouped(" "), grouped(","), plain].into_iter().chain(word).collect()
}

/// Whether a text states a number in a sentence, however its lines are broken.
fn states(text: &str, sentence: &str, number: u64) -> bool {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    spellings(number).iter().any(|spelling| flat.contains(&sentence.replace("{}", spelling)))
}

#[test]
fn documents_state_the_numbers_of_the_code() {
    let mut wrong = Vec::new();
    for ((source, after), said) in NUMBERS {
        let Some(number) = number(&read(source), after) else {
            wrong.push(format!("{source} has no number behind '{after}', or several"));
            continue;
        };
        let missing = said.iter().filter(|(document, sentence)| !states(&read(document), sentence, number));
        wrong.extend(missing.map(|(document, sentence)| {
            format!("{source} has {number}; {document} does not say: {}", sentence.replace("{}", &number.to_string()))
        }));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn instructions_of_a_replay_are_those_that_were_recorded() {
    let recorded: BTreeMap<String, f64> = serde_json::from_str(&read("checks/instructions/recorded.json")).unwrap();
    let table = read("docs/simulation.md");
    let fits: Vec<_> = recorded.iter().filter_map(|(row, times)| Some((row.strip_suffix(", fits")?, times))).collect();
    assert!(!fits.is_empty());
    for (layer, times) in fits {
        let row = format!("| `{layer}` | {times:.2} |");
        assert!(table.contains(&row), "docs/simulation.md has no {row}");
    }
}

#[test]
fn a_number_that_is_stale_is_noticed() {
    let source = "const CUTS: u64 = 20_000;\nconst CUTS_OF_OTHERS: u64 = 7;\n";
    assert_eq!(number(source, "const CUTS: u64 = "), Some(20_000));
    assert_eq!(number(source, "const CUT: u64 = "), None);
    assert_eq!(number(source, ": u64 = "), None, "which of the two is meant?");
    let text = "It makes\n20 000 cuts, and\n20,000 more, for all\nten rules.";
    assert!(states(text, "makes {} cuts", 20_000) && states(text, "and {} more", 20_000));
    assert!(states(text, "all {} rules", 10));
    assert!(!states(text, "makes {} cuts", 2_000) && !states(text, "all {} rules", 11));
    assert!(!states(text, "makes {} kills", 20_000), "the sentence has gone");
}
