//! Filling the disk before the first request: what was written then lies where it belongs, and in no buffer.

use imbrex::block::Access;
use imbrex::layers::{Field, LayerInfo};
use imbrex::replay::ReplayOptions;
use libtest_mimic::Failed;
use proptest::prelude::*;

use crate::fixture::random::{Choices, any_choices, configured};
use crate::fixture::{Listed, request, simulate};
use crate::for_any;

const CASES: u32 = 60;

/// Blocks of the longest band of the tiny disk.
const BAND: u32 = 40;

/// The choice with streams that are possible on the tiny disk: with longer ones all that is written is cached.
fn with_streams<'f>(choices: &Choices) -> impl FnMut(&'f Field) -> Option<&'f str> {
    let mut each = choices.each();
    move |field| {
        let chosen = each(field);
        if field.key != "stream_blocks" {
            return chosen;
        }
        chosen.filter(|blocks| blocks.parse::<u32>().is_ok_and(|blocks| blocks <= BAND)).or(Some("40"))
    }
}

/// Whatever part of the layer is filled: who reads all of it finds no block in a buffer.
pub fn has_empty_buffers_when_prefilled(info: &'static LayerInfo) -> Result<(), Failed> {
    let input = (0.0..=1.0, 1u32..60, any::<bool>(), any_choices());
    for_any(CASES, input, |(prefill, buffer_blocks, as_live, choices)| {
        let options = ReplayOptions { prefill, as_live, gather: 8, idle: false, ..Default::default() };
        let (config, options) = configured(info, with_streams(&choices), buffer_blocks, &options);
        let simulation = simulate(info, &config, buffer_blocks, &options).unwrap();
        let trace = (0..simulation.capacity()).map(|block| request(block, Access::Read, block, 1)).collect();
        let outcome = simulation.run(&mut Listed::new(trace), &mut ()).unwrap();
        prop_assert_eq!(outcome.read_hit_blocks, 0, "{:?}", config);
        Ok(())
    })
}
