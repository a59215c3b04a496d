//! How much a layer takes before it has to clean anything.

/// Layers that never take anything in: they write where a block belongs, and what is rewritten is rewritten at once.
const WITHOUT: [&str; 2] = ["conventional", "in-place"];

/// What a layer has room in.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Room {
    /// Nothing: it has no choice.
    None,
    /// Blocks of a buffer or of a cache.
    Buffer(u64),
    /// Blocks of the drive that hold nothing the host could ask for.
    Spare(u64),
}

impl Room {
    /// Of a layer of this name, whose drive, capacity and buffer have so many blocks, and which was filled to that part.
    pub fn of(layer: &str, [drive, capacity, buffer]: [u64; 3], prefill: f64) -> Self {
        match layer {
            _ if WITHOUT.contains(&layer) => Self::None,
            _ if buffer > 0 => Self::Buffer(buffer),
            _ => Self::Spare(drive.saturating_sub(capacity) + (capacity as f64 * (1.0 - prefill)) as u64),
        }
    }

    /// How many blocks.
    pub fn blocks(self) -> u64 {
        match self {
            Self::None => 0,
            Self::Buffer(blocks) | Self::Spare(blocks) => blocks,
        }
    }
}
