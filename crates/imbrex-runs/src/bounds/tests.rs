//! Every layer that something is known of, held against it.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;

use imbrex::block::{Access, Extent, Lba, Request};
use imbrex::layers;
use serde_json::{Value, json};

use super::*;

/// A disk with its layers in readings of their fields, and what is small on it.
struct Try {
    drive: &'static str,
    layers: &'static [&'static str],
    buffers: &'static [&'static str],
    configs: &'static [&'static str],
}

const TRIES: [Try; 5] = [
    Try {
        drive: "small-zoned",
        layers: &["in-place", "fifo-log", "loop-back", "block-lru", "hashed-zones", "amphisbaena", "zone-ages"],
        buffers: &["1MiB", "100KiB", "6MiB"],
        configs: &[
            "{}",
            r#"{ "in-place": { "gather": "zone" }, "fifo-log": { "clean_for": "request", "spare_zones": 0 },
                "block-lru": { "clean_for": "request" }, "hashed-zones": { "zone_slots": 17 },
                "amphisbaena": { "period": 50, "chunk_blocks": 4 }, "loop-back": { "requeue_blocks": 30 } }"#,
        ],
    },
    Try { drive: "tiny-zoned", layers: &["dm-zoned", "in-place"], buffers: &["1MiB"], configs: &["{}"] },
    Try {
        drive: "small-zoned",
        layers: &[
            "log-greedy",
            "log-fifo",
            "log-cost-benefit",
            "log-choices",
            "cold-weight",
            "tuned-weight",
            "sepbit",
            "log-lifetimes",
        ],
        buffers: &["1MiB"],
        configs: &["{}"],
    },
    Try {
        drive: "small-banded",
        layers: &["skylight", "lru-cache", "pore", "sac", "static-sets", "band-cache"],
        buffers: &["1MiB", "256KiB"],
        configs: &[
            "{}",
            r#"{ "lru-cache": { "read_allocate": false, "replacement": "arc" }, "pore": { "replacement": "lirs" },
                "static-sets": { "sets": 1 }, "skylight": { "cache_blocks": 600, "stream_blocks": 1000000 } }"#,
        ],
    },
    Try {
        drive: "tiny-interlaced",
        layers: &["seagate", "seagate-two-phase", "track-flipping", "track-caching", "track-mapping", "tracklace"],
        buffers: &["1MiB"],
        configs: &["{}"],
    },
];

fn read(fields: Value) -> Specification {
    let Value::Object(fields) = fields else { panic!("{fields} is no object") };
    Specification::read(fields).unwrap()
}

fn bounded(mut specification: Specification) -> Result<Vec<BoundRow>> {
    prepare(&mut specification)?;
    let mut plan = Plan::of(&specification)?;
    let workloads = specification.named()?;
    let reading = Progress::of_pieces("reading", plan.pieces(workloads.len()));
    let known = plan.read(&workloads, &reading)?;
    bounds(&mut plan, &known, specification.jobs())
}

#[test]
fn no_layer_beats_its_bound() {
    let (mut seen, mut held, mut tight) = (BTreeSet::new(), 0, 0);
    for one in TRIES {
        for (buffer, config) in
            one.buffers.iter().flat_map(|buffer| one.configs.iter().map(move |config| (buffer, config)))
        {
            let rows = bounded(read(json!({
                "workloads": ["zipf", "uniform", "hot-cold"], "layers": one.layers, "drive": one.drive, "buffer": buffer,
                "requests": 6000, "beyond": "wrap", "config": serde_json::from_str::<Value>(config).unwrap(),
            })))
            .unwrap();
            let mut least = 0;
            for row in &rows {
                match row.is {
                    Is::Bound => least = row.count,
                    Is::Schedule => assert!(row.count >= least, "{row:?} is below the bound of {least}"),
                    Is::Layer => {
                        assert!(row.count >= least || !row.is_bounded, "{row:?} is below the bound of {least}");
                        seen.insert(row.name.clone());
                        held += u64::from(row.is_bounded && least > 20);
                        // A bound of one more would be noticed.
                        tight += u64::from(row.is_bounded && row.count == least && least > 0);
                    }
                }
            }
        }
    }
    let known: BTreeSet<_> =
        layers::ALL.iter().filter(|layer| is_known(layer)).map(|layer| layer.name.to_owned()).collect();
    assert_eq!(seen, known, "every layer with a bound is held against it");
    assert!(
        held > 50 && tight > 10,
        "{held} counts of layers were held against bounds of more than 20, and {tight} are their bound"
    );
}

#[test]
fn what_no_bound_holds_for_is_refused() {
    for (fields, said) in [
        (json!({ "prefill": 0.5 }), "--prefill, --trimmed: bounds hold for a disk that is full at the beginning"),
        (json!({ "trimmed": 0.5 }), "--prefill, --trimmed: bounds hold for a disk that is full at the beginning"),
        (json!({ "warm_up": 10 }), "--warm-up: bounds hold for all requests of a workload"),
        (json!({ "queue_depth": 4 }), "--queue-depth: bounds hold for requests that are served one at a time"),
        (json!({ "layers": ["conventional"] }), "nothing bounds the layer conventional; there are bounds for in-place"),
        (json!({ "family": "hybrid" }), "nothing bounds the layers of this family"),
        (json!({ "drive": "small-hybrid" }), "--drive: small-hybrid is a hybrid drive; there are bounds for zoned"),
        (json!({ "drive": "tiny-zoned", "layers": ["in-place"] }), "zipf on in-place: request 1 "),
    ] {
        let mut fields = fields;
        fields["workloads"] = json!(["zipf"]);
        fields["requests"] = json!(100);
        let error = bounded(read(fields.clone())).unwrap_err().to_string();
        assert!(error.starts_with(said), "{fields}: {error}");
    }
}

/// Zones that are trimmed may be emptied, so that what was written before is gone without a rewrite.
#[test]
fn what_is_trimmed_does_not_count() {
    let at = |access, start, blocks| Request { access, at: Extent::new(Lba(start), blocks) };
    let writes = [0, 10, 20, 1].map(|block| at(Access::Write, block, 1));
    let question = Question::Zones { zone_blocks: 10, room: 0 };
    assert_eq!(question.answer(&writes).unwrap().least, 4);
    let trimmed = [&writes[..], &[at(Access::Trim, 8, 4)]].concat();
    assert_eq!(question.answer(&trimmed).unwrap().least, 1);
}
