//! Which volume of a trace is read, where a format names volumes.

use std::collections::HashMap;
use std::io::Cursor;
use std::sync::Arc;

use super::fields::text;
use super::{Fault, Format, Input, Record, too_large};
use crate::TraceError;
use imbrex_core::block::Access;

/// Names of volumes that an error shows.
const SHOWN_VOLUMES: usize = 8;

/// A request of a volume.
pub(super) struct VolumeRequest<'a> {
    pub volume: &'a [u8],
    pub ticks: u64,
    pub access: Access,
    pub offset_bytes: u64,
    pub bytes: u64,
}

/// What is counted of a volume.
struct Count {
    requests: u64,
    /// How many volumes came before it.
    before: usize,
}

/// The volume that is read.
#[derive(Default)]
pub(super) struct Volume {
    /// Its name; none before the first request, if it was not chosen.
    name: Option<Box<[u8]>>,
    /// Some of the others that were met.
    others: Vec<Box<[u8]>>,
    /// Where requests are only counted.
    counts: Option<HashMap<Box<[u8]>, Count>>,
}

impl Volume {
    /// The volume called `chosen`, or else that of the first request.
    pub(super) fn new(chosen: Option<&[u8]>) -> Self {
        Self { name: chosen.map(Into::into), ..Self::default() }
    }

    /// None: the requests of each are counted.
    pub(super) fn counting() -> Self {
        Self { counts: Some(HashMap::new()), ..Self::default() }
    }

    /// What it is called, where the format has names.
    pub(super) fn name(&self) -> Option<String> {
        self.name.as_deref().filter(|name| !name.is_empty()).map(text)
    }

    /// What `request` is for who reads this volume.
    #[inline]
    pub(super) fn record(&mut self, request: &VolumeRequest<'_>) -> Result<Record, Fault> {
        let VolumeRequest { volume, ticks, access, offset_bytes, bytes } = *request;
        let Ok(bytes) = u32::try_from(bytes) else { return Err(too_large("size", bytes)) };
        match &self.name {
            Some(name) if **name == *volume => {}
            Some(_) => {
                self.pass_over(volume);
                return Ok(Record::OtherVolume);
            }
            // A request that will be left out does not decide.
            None if bytes == 0 => {}
            None if self.counts.is_some() => {
                self.count(volume);
                return Ok(Record::OtherVolume);
            }
            None => self.name = Some(volume.into()),
        }
        Ok(Record::Request { ticks, access, offset_bytes, bytes })
    }

    fn pass_over(&mut self, volume: &[u8]) {
        if self.others.len() < SHOWN_VOLUMES && !self.others.iter().any(|other| **other == *volume) {
            self.others.push(volume.into());
        }
    }

    fn count(&mut self, volume: &[u8]) {
        let Some(counts) = &mut self.counts else { return };
        let before = counts.len();
        match counts.get_mut(volume) {
            Some(count) => count.requests += 1,
            None => {
                counts.insert(volume.into(), Count { requests: 1, before });
            }
        }
    }

    /// The volume with most requests so far, and of several the one that came first.
    fn busiest(self) -> Option<Box<[u8]>> {
        let most = |(_, count): &(Box<[u8]>, Count)| (count.requests, usize::MAX - count.before);
        self.counts.unwrap_or_default().into_iter().max_by_key(most).map(|(volume, _)| volume)
    }

    /// Why there is no request of the volume, if others have some.
    pub(super) fn nothing(&self, file: &str) -> Option<TraceError> {
        let (Some(name), false) = (&self.name, self.others.is_empty()) else { return None };
        let present = self.others.iter().map(|other| text(other)).collect::<Vec<_>>().join(" or ");
        Some(TraceError::NoSuchVolume { file: file.into(), volume: text(name), present })
    }
}

/// The busiest volume in `head`, which `format` reads and counts up to the first thing that is wrong: who reads the whole
/// is told of that.
pub(super) fn busiest<F: Format>(mut format: F, head: &Arc<[u8]>) -> Option<Box<[u8]>> {
    let mut input = Input::new(Box::new(Cursor::new(Arc::clone(head))));
    while !matches!(format.next(&mut input), Ok(Record::End) | Err(_)) {}
    format.into_volume().busiest()
}
