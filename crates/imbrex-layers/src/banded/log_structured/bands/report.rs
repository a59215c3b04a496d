//! What the drive reports of the bands when an epoch begins.

use super::{Bands, Role, Streams};
use imbrex_core::layer::{Condition, Corrupt, UnitReport};
use imbrex_core::plan::Plan;

impl Bands {
    /// Takes over what the drive reports, and plans the reset of bands without live blocks. Of those begun, the ones
    /// with the most room are the open bands of the streams to go on with.
    pub(in crate::banded::log_structured) fn recovered(
        &mut self,
        units: &UnitReport,
        open: &mut Streams,
        plan: &mut Plan,
    ) -> Result<(), Corrupt> {
        self.pool.clear();
        let mut begun = Vec::new();
        for band in 0..self.zones.count {
            let unit = self.zones.unit(band);
            let report = units.unit(unit).ok_or_else(|| Corrupt(format!("the drive does not report {unit:?}")))?;
            let live = self.live(band);
            self.bands[band as usize].written = report.pointer;
            if report.condition != Condition::Sequential {
                continue;
            }
            if self.role(band) != Role::Data {
                // A compaction goes on with it.
                self.pool.close(band, live);
                self.pool.reopen(band);
                continue;
            }
            if live == 0 && report.pointer == 0 {
                self.pool.put(band);
            } else if live == 0 {
                self.abandon(band, plan);
            } else {
                self.close(band);
                if report.pointer < self.zones.zone_blocks {
                    begun.push(band);
                }
            }
        }
        begun.sort_by_key(|&band| self.written(band));
        *open = Streams::default();
        for (open, band) in open.iter_mut().zip(begun).take(self.separation.streams().into()) {
            self.pool.reopen(band);
            *open = Some(band);
        }
        Ok(())
    }
}
