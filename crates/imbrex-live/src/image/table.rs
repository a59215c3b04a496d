//! Where the table of units and the drive's blocks lie in an image, and how the table is read.

use std::collections::BTreeSet;

use imbrex::layer::Condition;
use imbrex::media::Media;
use imbrex::plan::Unit;

use super::unit_table::{ENTRY_BYTES, Entry};
use super::{HEADER_BYTES, ImageError};
use crate::backing::Backing;

/// Copies of the header, and of the table.
pub(super) const COPIES: u64 = 2;
const TABLE_AT: u64 = COPIES * HEADER_BYTES as u64;
const TABLE_ALIGNMENT: u64 = 4 << 10;
const DATA_ALIGNMENT: u64 = 1 << 20;

fn table_bytes(units: u64) -> u64 {
    (units * ENTRY_BYTES as u64).next_multiple_of(TABLE_ALIGNMENT)
}

pub(super) fn entry_at(units: u64, copy: u64, unit: u32) -> u64 {
    TABLE_AT + copy * table_bytes(units) + u64::from(unit) * ENTRY_BYTES as u64
}

pub(super) fn data_at(units: u64) -> u64 {
    (TABLE_AT + COPIES * table_bytes(units)).next_multiple_of(DATA_ALIGNMENT)
}

/// Entries of the table: one for each unit that holds blocks, and behind them one for each realm.
pub(super) fn units(media: &dyn Media) -> u64 {
    media.report().len() as u64 + media.realms().map_or(0, |realms| u64::from(realms.count))
}

/// The highest number that an entry can have for a pointer.
fn most(media: &dyn Media, unit: Unit) -> u32 {
    let is_realm = media.realms().is_some_and(|realms| realms.activated_by(unit).is_some());
    if is_realm { 1 } else { media.extent_of(unit).blocks }
}

/// Reads the table and brings the media to the state that it says. The units of which one copy is damaged or older are
/// those whose entry is to be written again: a second damage must not find the older one.
pub(super) fn read_table(
    backing: &impl Backing,
    media: &mut dyn Media,
    stale: &mut Vec<String>,
) -> Result<(Vec<Entry>, BTreeSet<u32>), ImageError> {
    let units = units(media);
    let len = units as usize * ENTRY_BYTES;
    let copies: Vec<_> = (0..COPIES).map(|copy| read_copy(backing, entry_at(units, copy, 0), len)).collect();
    let mut entries = Vec::with_capacity(units as usize);
    let mut dirty = BTreeSet::new();
    for unit in (0..units as u32).map(Unit::disk) {
        let at = unit.index as usize * ENTRY_BYTES;
        let read = copies.iter().map(|copy| {
            let bytes = copy[at..at + ENTRY_BYTES].try_into().unwrap_or([0xff; ENTRY_BYTES]);
            Entry::decode(&bytes, unit.index).filter(|entry| entry.pointer <= most(media, unit))
        });
        let read: Vec<Option<Entry>> = read.collect();
        let Some(entry) = read.iter().flatten().max_by_key(|entry| entry.sequence).copied() else {
            let [first, second] = [0, 1].map(|copy| entry_at(units, copy, unit.index));
            return Err(ImageError::Unit { unit: unit.index, first, second });
        };
        let old = read.iter().position(|copy| *copy != Some(entry));
        dirty.extend(old.map(|_| unit.index));
        stale.extend(old.map(|copy| format!("copy {copy} of entry {} of the image's table of units", unit.index)));
        entries.push(entry);
    }
    restore(media, &mut entries, &mut dirty);
    Ok((entries, dirty))
}

/// Brings the media to the state that the entries say. What they say of how far the zones of an inactive span are
/// written counts no more: an activation that the power cut took back may have left it.
fn restore(media: &mut dyn Media, entries: &mut [Entry], dirty: &mut BTreeSet<u32>) {
    let realms = media.realms();
    for realm in 0..realms.map_or(0, |realms| realms.count) {
        let entry = realms.map(|realms| entries[realms.to_sequential(realm).index as usize]);
        media.set_active(realm, entry.is_some_and(|entry| entry.pointer == 1));
    }
    for (unit, state) in (0..).map(Unit::disk).zip(media.report()) {
        let entry = &mut entries[unit.index as usize];
        if state.condition == Condition::Inactive && entry.pointer > 0 {
            (entry.pointer, entry.sequence) = (0, entry.sequence.wrapping_add(1));
            dirty.insert(unit.index);
        }
        if media.has_pointer(unit) {
            media.set_pointer(unit, entry.pointer);
        }
        if let Some(broken) = entry.broken {
            media.fail(unit, broken.condition());
        }
    }
}

/// The bytes of a copy of the table. A part that cannot be read is filled with what is no entry.
fn read_copy(backing: &impl Backing, offset: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    if backing.read_at(&mut bytes, offset).is_ok() {
        return bytes;
    }
    for (part, at) in bytes.chunks_mut(TABLE_ALIGNMENT as usize).zip((offset..).step_by(TABLE_ALIGNMENT as usize)) {
        if backing.read_at(part, at).is_err() {
            part.fill(0xff);
        }
    }
    bytes
}
