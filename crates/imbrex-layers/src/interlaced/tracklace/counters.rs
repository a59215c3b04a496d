//! What it counts of blocks away from home.

imbrex_core::counters! {
    SWAPPED_HIT = "hot_hit_blocks", "blocks",
        "written that updated a block in an exchanged track; the other hits were in the buffer";
    RELOCATED = "relocated_blocks", "blocks", "given a place away from their home, each time that they were";
    RELOCATED_TRACKS = "relocated_tracks", "tracks",
        "from the home of these blocks to that place, in all: ÷ `counters.relocated_blocks` is the *relocation \
        distance*; tracks of both kinds count";
}
