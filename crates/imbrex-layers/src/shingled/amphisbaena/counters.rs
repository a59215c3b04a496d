//! What it counts of its hot and its cold part.

imbrex_core::counters! {
    HOT_HIT = "hot_hit_blocks", "blocks",
        "written that updated a block in the hot part; the other hits were in the cold part";
    HOT_CLEANED = "hot_cleanings", "times",
        "that the hot part moved blocks to the cold one to make room; the blocks are in `media_write_blocks.migrate`";
    CHUNK_EVICTED = "evicted_chunks", "chunks",
        "collected for the zones that were written: `counters.evicted_chunks` ÷ (`rmw` + `rmw_free`) is the size of a \
        victim";
    COLLECTION_STOPPED = "stopped_collections", "times", "that a waiting write to its zone ended a collection early";
    CHUNK_TO_HOT = "chunks_to_hot", "chunks", "that the hot part took from the cold one";
    CHUNK_TO_COLD = "chunks_to_cold", "chunks", "that the hot part gave back";
    COLD_CHUNK = "cold_chunks", "chunks",
        "in the cold part, summed over looks at it: one when a victim is chosen, if a quarter of its chunks has been \
        replaced since the last";
    STARVING_CHUNK = "starving_chunks", "chunks",
        "of these, since whose arrival three times as many others have come as the cold part has chunks";
}
