//! A disk in memory with a volatile write cache, faults and power cuts.
//!
//! Until a flush, a write lies in the cache. A power cut keeps, for every sector of a conventional block, the durable
//! content or that of any unflushed write to it, independently: so writes are torn and reordered. A sequential zone
//! keeps a prefix of what happened to it since the last flush, appends and resets, cut at a block; so resets are lost
//! too. Zones are independent of each other. Erase blocks of flash do the same, and one whose erasing was cut short may
//! hold garbage on every page. Activations of realms are lost or not too; see `realms`.
//!
//! What a write destroys counts as written with content of its own, and may survive the cut or not,
//! whatever becomes of the write itself: the drive may have begun it and not brought it to its end.

mod realms;

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::content::{self, SECTOR};
use super::dice::Dice;
use imbrex_core::block::{Address, Extent, Pba};
use imbrex_core::layer::Condition;
use imbrex_core::media::{Illegal, Media};
use imbrex_core::plan::Unit;
use imbrex_engine::{IoKind, IoResult};
use realms::Before;

/// Something that happened to a sequential zone since the last flush.
enum ZoneEvent {
    Append(Bytes),
    Reset,
}

#[derive(Default)]
struct Zone {
    durable: Vec<Bytes>,
    now: Vec<Bytes>,
    since: Vec<ZoneEvent>,
}

impl Zone {
    /// How many blocks of it are written.
    fn len(&self) -> u32 {
        self.now.len() as u32
    }
}

pub(super) struct Store {
    pub media: Box<dyn Media>,
    block_bytes: usize,
    /// Conventional blocks: durable content first, then the unflushed writes, oldest first.
    cells: BTreeMap<Pba, Vec<Bytes>>,
    zones: BTreeMap<u32, Zone>,
    /// What was in the realms that were activated since the last flush, before each activation, oldest first.
    before_activations: BTreeMap<u32, Vec<Before>>,
    unreadable: BTreeSet<Pba>,
    zero: Bytes,
    /// Whether every conventional block holds something from before.
    is_used: bool,
    /// What a block holds that was destroyed.
    destroyed: Bytes,
    /// Whether a cut may leave part of a sector; only with rule 9 switched off.
    pub tears_sectors: bool,
}

impl Store {
    pub fn new(media: Box<dyn Media>, block_bytes: usize, is_used: bool) -> Self {
        Self {
            media,
            block_bytes,
            cells: BTreeMap::new(),
            zones: BTreeMap::new(),
            before_activations: BTreeMap::new(),
            unreadable: BTreeSet::new(),
            zero: Bytes::from(vec![0; block_bytes]),
            is_used,
            destroyed: Bytes::from(vec![0xdb; block_bytes]),
            tears_sectors: false,
        }
    }

    /// Carries a device operation out.
    ///
    /// # Errors
    /// [`Illegal`]: the runner or the layer has a bug.
    pub fn perform(&mut self, io: &IoKind) -> Result<IoResult, Illegal> {
        match io {
            IoKind::Read(at) => {
                self.media.read(*at).or_else(|e| if is_failure(&e) { Ok(()) } else { Err(e) })?;
                Ok(self.read(*at).map_or(IoResult::Failed, IoResult::Data))
            }
            IoKind::Write(at, data) => match self.media.write(*at) {
                Ok(()) => {
                    self.write(*at, data);
                    Ok(IoResult::Done)
                }
                Err(e) if is_failure(&e) => Ok(IoResult::Failed),
                Err(e) => Err(e),
            },
            IoKind::Reset(unit) => match self.media.reset(*unit) {
                Ok(()) => {
                    self.reset(*unit);
                    Ok(IoResult::Done)
                }
                Err(e) if is_failure(&e) => Ok(IoResult::Failed),
                Err(e) => Err(e),
            },
            IoKind::Flush => {
                self.flush();
                Ok(IoResult::Done)
            }
            IoKind::Report => Ok(IoResult::Report(self.media.unit_report())),
        }
    }

    fn is_sequential(&self, at: Pba) -> Option<u32> {
        let unit = self.media.unit_of(at);
        self.media.has_pointer(unit).then_some(unit.index)
    }

    /// The content of blocks, unless one is unreadable.
    fn read(&self, at: Extent<Pba>) -> Option<Bytes> {
        let offline = |unit: Unit| self.media.report()[unit.index as usize].condition == Condition::Offline;
        if offline(self.media.unit_of(at.start)) || self.unreadable.range(at.start..at.end()).next().is_some() {
            return None;
        }
        let blocks: Vec<Bytes> = at.iter().map(|block| self.content(block)).collect();
        Some(if let [one] = blocks.as_slice() { one.clone() } else { blocks.concat().into() })
    }

    /// What a block holds now.
    pub fn content(&self, block: Pba) -> Bytes {
        if let Some(index) = self.is_sequential(block) {
            let start = self.media.extent_of(Unit::disk(index)).start;
            let zone = self.zones.get(&index);
            return zone.and_then(|z| z.now.get(block.since(start) as usize)).unwrap_or(&self.zero).clone();
        }
        let newest = self.cells.get(&block).and_then(|versions| versions.last());
        newest.cloned().unwrap_or_else(|| self.before(block))
    }

    /// What a conventional block held before anything was written.
    fn before(&self, block: Pba) -> Bytes {
        if self.is_used { content::old(block.block(), 1, self.block_bytes) } else { self.zero.clone() }
    }

    fn write(&mut self, at: Extent<Pba>, data: &Bytes) {
        for (i, block) in at.iter().enumerate() {
            let content = data.slice(i * self.block_bytes..(i + 1) * self.block_bytes);
            self.unreadable.remove(&block);
            match self.is_sequential(block) {
                Some(index) => {
                    let zone = self.zones.entry(index).or_default();
                    zone.now.push(content.clone());
                    zone.since.push(ZoneEvent::Append(content));
                }
                None => self.put(block, content),
            }
        }
        let mut destroyed = Vec::new();
        self.media.destroys(at, &mut |gone| destroyed.extend(gone.iter()));
        for block in destroyed {
            self.put(block, self.destroyed.clone());
        }
    }

    /// A conventional block now holds `content`, in the cache.
    fn put(&mut self, block: Pba, content: Bytes) {
        let before = self.before(block);
        self.cells.entry(block).or_insert_with(|| vec![before]).push(content);
    }

    fn reset(&mut self, unit: Unit) {
        if let Some(realms) = self.media.realms()
            && let Some((realm, sequential)) = realms.activated_by(unit)
        {
            return self.activate(&realms, realm, sequential);
        }
        let space = self.media.extent_of(unit);
        self.unreadable.retain(|block| !space.contains(*block));
        let zone = self.zones.entry(unit.index).or_default();
        zone.now.clear();
        zone.since.push(ZoneEvent::Reset);
    }

    fn flush(&mut self) {
        self.before_activations.clear();
        for versions in self.cells.values_mut() {
            versions.drain(..versions.len() - 1);
        }
        for zone in self.zones.values_mut().filter(|zone| !zone.since.is_empty()) {
            zone.durable = zone.now.clone();
            zone.since.clear();
        }
    }

    /// Cuts the power: what was not flushed survives in part.
    pub fn cut(&mut self, dice: &mut Dice) {
        self.cut_realms(dice);
        for versions in self.cells.values_mut().filter(|versions| versions.len() > 1) {
            let torn = tear(versions, self.tears_sectors, dice);
            *versions = vec![torn];
        }
        for (&index, zone) in self.zones.iter_mut().filter(|(_, zone)| !zone.since.is_empty()) {
            let kept = dice.between(0, zone.since.len() as u64) as usize;
            let next_is_reset = matches!(zone.since.get(kept), Some(ZoneEvent::Reset));
            for event in zone.since.drain(..).take(kept) {
                match event {
                    ZoneEvent::Append(content) => zone.durable.push(content),
                    ZoneEvent::Reset => zone.durable.clear(),
                }
            }
            if next_is_reset && self.media.interrupted_erase_corrupts() && dice.one_in(2) {
                let pages = self.media.extent_of(Unit::disk(index)).blocks as usize;
                zone.durable = vec![Bytes::from(vec![0xa5; self.block_bytes]); pages];
            }
            zone.now = zone.durable.clone();
            self.media.set_pointer(Unit::disk(index), zone.now.len() as u32);
        }
    }

    /// What a block holds, if that is durable.
    pub fn settled(&self, block: Pba) -> Option<Bytes> {
        let settled = match self.is_sequential(block) {
            Some(index) => self.zones.get(&index).is_some_and(|zone| zone.since.is_empty()),
            None => self.cells.get(&block).is_some_and(|versions| versions.len() == 1),
        };
        (settled && !self.is_activating(block)).then(|| self.content(block))
    }

    /// Makes a block unreadable until it is written again.
    pub fn make_unreadable(&mut self, block: Pba) {
        self.unreadable.insert(block);
    }

    /// Makes a zone read-only.
    pub fn wear_out(&mut self, unit: Unit) {
        self.media.fail(unit, Condition::ReadOnly);
    }
}

/// Whether the drive failed, rather than that it was asked for what its recording forbids.
fn is_failure(illegal: &Illegal) -> bool {
    matches!(illegal, Illegal::Bad { condition: Condition::ReadOnly | Condition::Offline, .. })
}

/// Picks the content of each sector among the versions of a block.
fn tear(versions: &[Bytes], inside_sectors: bool, dice: &mut Dice) -> Bytes {
    let mut torn = versions[0].to_vec();
    let piece = if inside_sectors { SECTOR / 2 } else { SECTOR };
    for (i, part) in torn.chunks_mut(piece).enumerate() {
        let version = dice.pick(versions);
        part.copy_from_slice(&version[i * piece..i * piece + part.len()]);
    }
    torn.into()
}
