//! What it counts of zones.

imbrex_core::counters! {
    ZONE_SWAP = "zone_swaps", "times", "that two zones, one of them conventional, took each other's place";
}
