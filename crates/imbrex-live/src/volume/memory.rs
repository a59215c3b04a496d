//! How much memory a server of a volume takes, and how much this machine has.

use std::fs;

use imbrex::buffer_size::BufferSize;
use imbrex::memory::Memory;
use imbrex::perform::StackSetup;
use serde::{Deserialize, Serialize};

use super::{FormatOptions, Members, VolumeError, format, setup};
use crate::sums::Checksums;
use crate::superblock::Superblock;

/// Bytes of clients' requests of one kind that are in memory at a time.
pub const INTAKE: u64 = 64 << 20;
/// Bytes of the program, its threads and what they share; measured 11 MiB before the first request.
const PROGRAM: u64 = 16 << 20;
/// Bytes of the checksums of a member that are in memory at a time.
const SUMS: u64 = 16 << 20;
/// What is free between what is in use, which the allocator has not given back: one part in this many of all else, and
/// not less than [`LEAST_SLACK`]. Measured.
const SLACK: u64 = 4;
const LEAST_SLACK: u64 = 64 << 20;

/// The memory that a server takes, in bytes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ServerMemory {
    /// While nothing is mapped and no request is under way.
    pub empty_bytes: u64,
    /// At most.
    pub most_bytes: u64,
    /// What takes it.
    pub parts: Vec<MemoryPart>,
}

/// What takes memory.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MemoryPart {
    /// What it is.
    pub name: String,
    /// Bytes from the start.
    pub empty_bytes: u64,
    /// Bytes at most.
    pub most_bytes: u64,
}

impl ServerMemory {
    /// The memory of a server with the runners of a stack, on members with these superblocks.
    #[must_use]
    pub fn of(setup: &StackSetup, superblocks: &[Superblock]) -> Self {
        let (mut maps, mut content, mut journal) = Default::default();
        add(setup, &mut maps, &mut content, &mut journal);
        let program = Memory { empty: PROGRAM, most: PROGRAM };
        let requests = Memory { empty: 0, most: 2 * INTAKE };
        let summed = superblocks.iter().filter(|superblock| superblock.checksums.is_some()).count() as u64;
        let sums = Memory { empty: 0, most: summed * SUMS };
        let named = [
            ("maps", maps),
            ("cleaning", content),
            ("journal", journal),
            ("requests", requests),
            ("checksums", sums),
            ("program", program),
        ];
        let named = named.into_iter().filter(|(name, memory)| *name != "checksums" || memory.most > 0);
        let named: Vec<_> = named.collect();
        let used: Memory = named.iter().map(|(_, memory)| *memory).sum();
        let slack = Memory { empty: 0, most: (used.most / SLACK).max(LEAST_SLACK) };
        let all = used + slack;
        let part = |(name, memory): (&str, Memory)| MemoryPart {
            name: name.to_owned(),
            empty_bytes: memory.empty,
            most_bytes: memory.most,
        };
        let parts = named.into_iter().chain([("slack", slack)]).map(part).collect();
        Self { empty_bytes: all.empty, most_bytes: all.most, parts }
    }
}

impl ServerMemory {
    /// The part of that name.
    #[must_use]
    pub fn part(&self, name: &str) -> Option<&MemoryPart> {
        self.parts.iter().find(|part| part.name == name)
    }

    /// Adds `bytes` bytes for something that is there now.
    #[must_use]
    pub fn beside(mut self, name: &str, bytes: u64) -> Self {
        self.most_bytes += bytes;
        self.parts.push(MemoryPart { name: name.to_owned(), empty_bytes: 0, most_bytes: bytes });
        self
    }
}

fn add(setup: &StackSetup, maps: &mut Memory, content: &mut Memory, journal: &mut Memory) {
    let runner = setup.top.memory();
    (*maps, *content, *journal) = (*maps + runner.maps, *content + runner.content, *journal + runner.journal);
    setup.below.iter().for_each(|below| add(below, maps, content, journal));
}

/// The memory that a server of a volume would take that is formatted like this.
///
/// # Errors
/// When the layer and the members do not suit each other.
pub fn memory(
    members: &Members,
    options: &FormatOptions<'_>,
    checksums: Option<Checksums>,
) -> Result<ServerMemory, VolumeError> {
    let superblocks = format::superblocks(members, options, checksums)?;
    Ok(ServerMemory::of(&setup::stack(members, &superblocks, None)?, &superblocks))
}

/// How large a buffer can be where memory limits it.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
pub struct BufferRoom {
    /// Blocks of it.
    pub blocks: u32,
    /// The memory that a server may take.
    pub within_bytes: u64,
    /// All the blocks that there is room for.
    pub all_blocks: u32,
    /// The memory that a server with all of them could take.
    pub all_most_bytes: u64,
}

/// The largest buffer, to a thousandth, with which a server takes at most `bytes` of memory. Nothing if all the room
/// there is does, and if no buffer does.
///
/// # Errors
/// When the layer and the members do not suit each other.
pub fn buffer_within(
    members: &Members,
    options: &FormatOptions<'_>,
    checksums: Option<Checksums>,
    bytes: u64,
) -> Result<Option<BufferRoom>, VolumeError> {
    let with = |blocks: Option<u32>| {
        let buffer = blocks.map(|blocks| BufferSize::Blocks(blocks.into()));
        memory(members, &FormatOptions { buffer, ..*options }, checksums).map(|memory| memory.most_bytes)
    };
    let all_most_bytes = with(None)?;
    if all_most_bytes <= bytes {
        return Ok(None);
    }
    let superblocks = format::superblocks(members, &FormatOptions { buffer: None, ..*options }, checksums)?;
    let all_blocks = superblocks.first().map_or(0, |first| first.above.as_ref().unwrap_or(&first.own).buffer_blocks);
    let (mut fits, mut exceeds) = (0, all_blocks);
    while exceeds - fits > 1 + all_blocks / 1000 {
        let between = fits + (exceeds - fits) / 2;
        // Of a buffer that a layer finds too small nothing else is to be said.
        let is_within = with(Some(between)).map_or(true, |most| most <= bytes);
        *(if is_within { &mut fits } else { &mut exceeds }) = between;
    }
    let is_possible = fits > 0 && with(Some(fits)).is_ok();
    Ok(is_possible.then_some(BufferRoom { blocks: fits, within_bytes: bytes, all_blocks, all_most_bytes }))
}

/// The memory of a machine.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct MachineMemory {
    /// Bytes that it has, or that this process may have.
    pub bytes: u64,
    /// Bytes that are to be had now.
    pub available: u64,
}

impl MachineMemory {
    /// What the system says of this one, if it does.
    #[must_use]
    pub fn this() -> Option<Self> {
        let figures = fs::read_to_string("/proc/meminfo").ok()?;
        let limit = fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
        Self::read(&figures, limit.as_deref())
    }

    fn read(figures: &str, limit: Option<&str>) -> Option<Self> {
        let figure = |key: &str| {
            let line = figures.lines().find_map(|line| line.strip_prefix(key))?;
            let kib: u64 = line.trim().trim_end_matches("kB").trim_end().parse().ok()?;
            Some(kib << 10)
        };
        let limit = limit.and_then(|limit| limit.trim().parse().ok()).unwrap_or(u64::MAX);
        let bytes = figure("MemTotal:")?.min(limit);
        Some(Self { bytes, available: figure("MemAvailable:").unwrap_or(bytes).min(bytes) })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::sync::Arc;

    use imbrex::drive::DrivePreset;
    use imbrex::layers;

    use super::*;
    use crate::image::Image;

    #[test]
    fn a_buffer_is_as_large_as_memory_allows() {
        let preset = DrivePreset::named("exos-x18z").unwrap();
        let members: Members = vec![Arc::new(Image::draft(&preset).unwrap())];
        let layer = layers::find("block-lru").unwrap();
        let config = toml::Table::new();
        let with = |buffer| FormatOptions { layer, config: &config, buffer, journal_blocks: None, map_memory: None };
        let all = memory(&members, &with(None), None).unwrap().most_bytes;
        let within = |bytes| buffer_within(&members, &with(None), None, bytes).unwrap();
        assert_eq!(within(all), None);
        let room = within(all / 2).unwrap();
        assert_eq!((room.all_most_bytes, room.within_bytes), (all, all / 2));
        let most = |blocks: u64| memory(&members, &with(Some(BufferSize::Blocks(blocks))), None).unwrap().most_bytes;
        assert!(most(room.blocks.into()) <= all / 2);
        assert!(most(u64::from(room.blocks) + u64::from(room.all_blocks) / 500) > all / 2);
        assert_eq!(within(PROGRAM), None, "no buffer helps");
    }

    #[test]
    fn a_machine_is_read_as_the_system_says_it() {
        let figures = "MemTotal:       24000000 kB\nMemFree:  100 kB\nMemAvailable:   20000000 kB\n";
        let machine = MachineMemory { bytes: 24_000_000 << 10, available: 20_000_000 << 10 };
        assert_eq!(MachineMemory::read(figures, None), Some(machine));
        assert_eq!(MachineMemory::read(figures, Some("max\n")), Some(machine));
        let limited = MachineMemory { bytes: 1 << 30, available: 1 << 30 };
        assert_eq!(MachineMemory::read(figures, Some("1073741824\n")), Some(limited));
        assert_eq!(MachineMemory::read("MemFree: 100 kB\n", None), None);
    }
}
