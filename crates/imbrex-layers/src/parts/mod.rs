//! What layers are built from. Each part has its tests beside it and knows no layer. One that has a single user lies in
//! the folder of that user instead.

pub mod bitmap;
pub mod block_map;
pub mod buffered_blocks;
pub mod circular_log;
pub mod dense_set;
pub mod five_bytes;
pub mod free_slots;
pub mod full_map;
mod full_map_plans;
pub mod heat;
pub mod lines;
pub mod lost;
pub mod map_runs;
pub mod miniatures;
pub mod needed_blocks;
pub mod page_table;
pub mod paged_map;
pub mod recency;
pub mod replacement;
pub mod slot_table;
pub mod sparse_bitmap;
pub mod step_size;
pub mod track_order;
pub mod unit_ages;
pub mod unit_pool;
pub mod zone_map;
pub mod zone_pass;
