//! A cache that lets blocks leave for a part of the disk only, over every kind of disk there is.

use imbrex::block::Access;
use imbrex::layers;
use imbrex::recording::Recording;
use imbrex::replay::{Device, ReplayOptions, Simulation};

use crate::{BUFFER, below, request, run};

#[test]
fn every_disk_may_lie_behind_regions() {
    let options = ReplayOptions { verify: true, check_every: 50, ..ReplayOptions::default() };
    let disks = layers::ALL.iter().filter(|info| ![Recording::Flash, Recording::Cached].contains(&info.recording));
    for disk in disks {
        for evict in ["block", "region"] {
            let config = format!("region_blocks = 16\nperiod_blocks = 8\nevict = '{evict}'").parse().unwrap();
            let device = Device::stack(vec![below("page-ftl", &options), below(disk.name, &options)]);
            let pore = layers::find("pore").unwrap();
            let simulation = Simulation::of((pore, &config), BUFFER, device, &options).unwrap();
            let capacity = simulation.capacity();
            let place = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
            let requests = (1..3000).map(|number| {
                let access = if number % 3 == 0 { Access::Read } else { Access::Write };
                request(number * 20_000_000, access, place(number) % (capacity - 2), 1 + (place(number) % 2) as u32)
            });
            let outcome = run(simulation, requests.collect());
            let home = &outcome.devices[1].outcome;
            println!("{} behind {evict}: {} blocks went home", disk.name, home.host_write_blocks);
            // With a journal nothing would be freed at once, and blocks would go past the cache.
            assert_eq!((home.host_write_blocks, outcome.direct_blocks), (outcome.evicted_blocks, 0), "{}", disk.name);
            assert!(home.host_write_blocks > 500, "{}: {}", disk.name, home.host_write_blocks);
        }
    }
}
