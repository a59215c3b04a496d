//! Caches before zones that are rewritten in place: what a cache writes home at a time, as the difference of what was
//! dirty, and what that comes to in zones.

use std::collections::BTreeSet;

use imbrex::block::{Access, Extent, Lba};
use imbrex::buffer_size::BufferSize;
use imbrex::drive::DrivePreset;
use imbrex::layers;
use imbrex::replay::{ReplayOptions, Setup, replay};

use super::{Settings, mixed, requests};
use crate::counts::in_place::InPlace;
use crate::counts::model::{self, Disk, Model};
use crate::fixture::two_devices::SLOW_FLASH;

/// Of the drive that is called small-zoned, which is full.
const ZONE_BLOCKS: u64 = 1024;
const ZONES: usize = 55;

/// Zones rewritten, blocks that landed in them, and times that the cache had something written home.
type Seen = [u64; 3];

fn modelled(layer: &str, config: &toml::Table, frames: u64, accesses: &[(Access, Extent<Lba>)]) -> Seen {
    let (buffered, padding) = Default::default();
    let pointer = vec![ZONE_BLOCKS; ZONES];
    let counts = model::Counts::default();
    let disk = Disk { zone_blocks: ZONE_BLOCKS, pointer, buffered, padding, direct_first: true, counts };
    let mut home = InPlace { disk, gathers: true, pads: false };
    let is_flushed = config.get("flush_home").is_some_and(|v| v.as_bool() == Some(true));
    let mut cache = super::model(layer, &Settings(config), frames, SLOW_FLASH);
    let mut reclaims = 0;
    for &(access, at) in accesses {
        if access == Access::Read {
            cache.read(at.start.0, at.blocks.into());
            continue;
        }
        for block in at.iter() {
            let before = cache.dirty();
            cache.write(block.0, 1);
            let left: BTreeSet<u64> = before.difference(&cache.dirty()).copied().collect();
            left.iter().for_each(|&block| home.write(block, 1));
            reclaims += u64::from(!left.is_empty());
            if is_flushed {
                home.rewrite_open();
            }
        }
    }
    let counts = home.counts();
    [counts.rmw, counts.evicted, reclaims]
}

#[test]
fn rewrites_of_bare_bands_agree_for_each_reclaim() {
    let mut workload = mixed();
    workload.set_requests(3000);
    let drive = DrivePreset::named("small-zoned").unwrap();
    let accesses: Vec<_> = requests(&workload).iter().map(|request| (request.access, request.blocks(4096))).collect();
    let sets = "sets = 7\nband_blocks = 900";
    let one = "sets = 12\nband_blocks = 1024";
    let region = "region_blocks = 1024\nperiod_blocks = 20\nevict = 'region'";
    let band = "region_blocks = 700\nperiod_blocks = 1\nevict = 'region'\nselect = 'most-dirty'";
    for (layer, own) in [("static-sets", sets), ("static-sets", one), ("pore", region), ("pore", band)] {
        let counted = ["false", "true"].map(|flush_home| {
            let config = format!(
                "{own}\nflush_home = {flush_home}\nread_allocate = false\nflash_layer = 'conventional'\n\
                 disk_layer = 'in-place'\ndisk_config = {{ gather = 'zone' }}"
            );
            let config = config.parse().expect("a TOML table");
            let buffer = BufferSize::Blocks(400);
            let layer = layers::find(layer).unwrap();
            let setup = Setup { drive: &drive, layer, config: &config, buffer, workload: &workload };
            let options = ReplayOptions { prefill: 1.0, queue_depth: Some(1), ..ReplayOptions::default() };
            let outcome = replay(&setup, &options, &mut ()).expect("it replays");
            let home = &outcome.devices[1].outcome;
            let seen = [home.rmw, home.evicted_blocks, outcome.blocked_cleaning.episodes];
            assert_eq!(seen, modelled(layer.name, &config, 400, &accesses), "{} with {config:?}", layer.name);
            println!("{}, {own:?}, {flush_home}: {seen:?}", layer.name);
            seen
        });
        let [[merged, ..], [each, landed, reclaims]] = counted;
        assert!(merged < each && landed > 1000 && reclaims > 20, "{layer}: {counted:?}");
    }
}
