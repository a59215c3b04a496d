//! What layers are built from. Each part has its tests beside it and knows no layer.

pub mod bitmap;
pub mod block_map;
pub mod buffered_blocks;
pub mod circular_log;
pub mod dense_set;
pub mod free_slots;
pub mod full_map;
mod full_map_plans;
pub mod heat;
pub mod lost;
pub mod map_runs;
pub mod paged_map;
mod place_table;
pub mod random;
pub mod recency;
pub mod replacement;
pub mod slot_table;
mod sparse_bitmap;
pub mod sparse_map;
pub mod step_size;
pub mod track_order;
pub mod unit_pool;
pub mod victim_index;
pub mod zone_map;
pub mod zone_pass;
