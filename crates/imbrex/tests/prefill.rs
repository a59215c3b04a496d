//! Filling the disk before the first request: what was written then lies where it belongs, and in no buffer.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod fixture;

use fixture::random::{configs, survives};
use fixture::{Listed, request, simulate};
use imbrex::block::Access;
use imbrex::layers::{self, LayerInfo};
use imbrex::replay::ReplayOptions;
use proptest::prelude::*;

/// The configuration, with streams as short as the longest band of the tiny disk: none is as long as the default, and
/// then all that is written is cached.
fn with_streams(info: &LayerInfo, config: &str) -> String {
    let is_missing = info.fields.iter().any(|field| field.key == "stream_blocks") && !config.contains("stream_blocks");
    if is_missing { format!("stream_blocks = 40\n{config}") } else { config.to_owned() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, ..ProptestConfig::default() })]

    /// Whatever part of whatever layer is filled: who reads all of it finds no block in a buffer.
    #[test]
    fn prefilling_leaves_no_block_in_a_buffer(prefill in 0.0..=1.0, buffer_blocks in 1u32..60, as_live: bool) {
        for info in layers::ALL {
            for config in configs(info.name) {
                let as_live = as_live && survives(config);
                let options = ReplayOptions { prefill, as_live, journal_blocks: 6, idle: false, ..Default::default() };
                let config = with_streams(info, config);
                let simulation = simulate(info, &config, buffer_blocks, &options).unwrap();
                let trace = (0..simulation.capacity()).map(|block| request(block, Access::Read, block, 1)).collect();
                let outcome = simulation.run(&mut Listed::new(trace), &mut ()).unwrap();
                prop_assert_eq!(outcome.read_hit_blocks, 0, "{} {:?}", info.name, config);
            }
        }
    }
}
