//! The readings of caches on flash that move a count.

use imbrex::layers::LayerInfo;
use imbrex::layers::ssd::{band_cache, lru_cache, pore, sac, static_sets};

/// The readings that move a count, beside the defaults.
pub const READINGS: [(&LayerInfo, &[&str]); 5] = [
    (
        &lru_cache::INFO,
        &[
            "evict_blocks = 16",
            "read_allocate = false",
            "reads_count = false\nread_reserve = 0",
            "read_reserve = 3\nstep_blocks = 7\nevict_blocks = 2",
            "interruptible = false\nread_reserve = 1000",
            "replacement = 'clock'",
            "replacement = 'clock'\nstep_blocks = 5\nevict_blocks = 3\nread_reserve = 3",
            "replacement = 'lirs'",
            "replacement = 'lirs'\nlirs_hir = 0.3\nlirs_ghosts = 0.25\nevict_blocks = 7",
            "replacement = 'lirs'\nlirs_ghosts = 0.0\nread_allocate = false",
            "replacement = 'arc'",
            "replacement = 'arc'\nread_reserve = 0\nreads_count = false\nevict_blocks = 5",
            "replacement = 's3-fifo'",
            "replacement = 's3-fifo'\ns3_small = 0.5\nread_allocate = false\nevict_blocks = 16",
            "replacement = 'sieve'",
            "replacement = 'sieve'\nread_reserve = 1000\nstep_blocks = 7\nevict_blocks = 2",
        ],
    ),
    (
        &pore::INFO,
        &[
            "region_blocks = 100",
            "region_blocks = 64\nperiod_blocks = 10\nselect = 'mean-popularity'",
            "region_blocks = 64\nperiod_blocks = 40\nselect = 'cold-blocks'\nevict_blocks = 3",
            "region_blocks = 64\nperiod_counts = 'written'\nread_allocate = false",
            "region_blocks = 64\nevict = 'region'",
            "region_blocks = 100\nevict = 'region'\nread_allocate = false\nselect = 'cold-blocks'\nstep_blocks = 7",
            "region_blocks = 10\nevict = 'region'\nperiod_counts = 'written'\nselect = 'mean-popularity'",
            "region_blocks = 100\nreads_count = false\nread_reserve = 0\nperiod_blocks = 1",
            "region_blocks = 1\nperiod_blocks = 1000\nread_reserve = 3\nstep_blocks = 7\nevict_blocks = 2",
            "region_blocks = 64\nselect = 'most-dirty'",
            "region_blocks = 64\nselect = 'most-dirty'\nevict = 'region'\nperiod_blocks = 1\nread_allocate = false",
            "region_blocks = 64\nreplacement = 'clock'",
            "region_blocks = 64\nreplacement = 'clock'\nperiod_blocks = 30\nevict_blocks = 5",
            "region_blocks = 64\nreplacement = 'lirs'\nlirs_hir = 0.3",
            "region_blocks = 64\nreplacement = 'lirs'\nevict = 'region'\nread_allocate = false",
            "region_blocks = 64\nreplacement = 'arc'",
            "region_blocks = 100\nreplacement = 'arc'\nperiod_blocks = 30\nevict_blocks = 5\nread_allocate = false",
            "region_blocks = 64\nreplacement = 's3-fifo'",
            "region_blocks = 64\nreplacement = 's3-fifo'\ns3_small = 0.5\nperiod_blocks = 20",
            "region_blocks = 64\nreplacement = 'sieve'",
            "region_blocks = 100\nreplacement = 'sieve'\nperiod_blocks = 10\nselect = 'cold-blocks'",
        ],
    ),
    (
        &static_sets::INFO,
        &[
            "sets = 1",
            "sets = 7\nband_blocks = 100",
            "read_allocate = false",
            "step_blocks = 7\ninterruptible = false\nband_blocks = 1000",
        ],
    ),
    (
        &sac::INFO,
        &[
            "region_blocks = 64",
            "region_blocks = 64\nread_allocate = false",
            "region_blocks = 64\nperiod_blocks = 1",
            "region_blocks = 10\nrest_periods = 0\nstep_blocks = 7",
            "region_blocks = 64\nrest_periods = 9\ninterruptible = false",
            "region_blocks = 64\nclean_blocks = 1\nrecent = 0.3",
            "region_blocks = 64\nclean_blocks = 1000\nread_us = 500000",
            "region_blocks = 64\nread_us = 2000000\nreads_count = false",
            "region_blocks = 100\nrewrite_us = 1000\nwrite_us = 0",
            "region_blocks = 64\nrecent = 0.0",
            "region_blocks = 64\nrecent = 3.0\nstep_blocks = 20",
        ],
    ),
    (&band_cache::INFO, &["read_allocate = false", "step_blocks = 7\ninterruptible = false"]),
];
