//! The write amplification of `page-ftl` under uniform random writes of single pages, against the closed form of greedy
//! cleaning with erase blocks of finite length (Desnoyers, ACM TOS 2014).

use super::cleaning_forms::greedy;
use super::writes::uniform;
use super::{Comparison, Numbers};
use crate::replay::{self, BufferSize, Observer, ReplayError, ReplayOptions, Setup, Window, replay};
use imbrex_core::drive::{DrivePreset, MediaSpec, TimingSpec};
use imbrex_core::mechanics::FlashSpec;
use imbrex_layers as layers;
use imbrex_trace::Workload;

/// Pages of an erase block.
const PAGES: u32 = 64;
/// Erase blocks that data circulates in; the layer keeps one more free at all times.
const ERASE_BLOCKS: u32 = 512;
/// Requests until writing is steady, and as many again that are counted: twelve times the physical pages.
const REQUESTS: u64 = 12 * PAGES as u64 * ERASE_BLOCKS as u64;
/// How far from the closed form the layer may be, in percent of it.
const PERCENT: f64 = 2.0;

/// Compares the layer with the closed form at two spare fractions of the physical pages.
///
/// # Errors
/// When the layer fails.
pub fn greedy_pages() -> Result<Vec<Comparison>, ReplayError> {
    [0.07, 0.2].into_iter().map(|spare| row(spare, measured(spare)?)).collect()
}

fn row(spare: f64, measured: f64) -> Result<Comparison, ReplayError> {
    let expected = greedy(1.0 / (1.0 - spare), f64::from(PAGES));
    let check = format!("write amplification at {spare} spare");
    Ok(Comparison::within_percent("page-ftl", &check, Numbers { expected, measured }, PERCENT, "x"))
}

/// Notes the pages that were programmed in the last window.
#[derive(Default)]
struct LastWindow {
    amplification: f64,
}

impl Observer for LastWindow {
    fn row(&mut self, row: &replay::WindowOutcome) {
        self.amplification = row.media_write_blocks.total() as f64 / row.requests as f64;
    }
}

fn measured(spare: f64) -> Result<f64, ReplayError> {
    let drive = DrivePreset {
        name: "flash".to_owned(),
        description: String::new(),
        block_bytes: 4096,
        media: MediaSpec::Flash { erase_blocks: ERASE_BLOCKS + 1, pages: PAGES, rewritable_erase_blocks: 0 },
        timing: TimingSpec::Flash(FlashSpec {
            read_ms: 0.0,
            program_ms: 0.0,
            erase_ms: 0.0,
            channels: 1,
            program_channels: None,
        }),
    };
    let logical = (1.0 - spare) * f64::from(ERASE_BLOCKS) / f64::from(ERASE_BLOCKS + 1);
    let mut config = toml::Table::new();
    config.insert("over_provisioning".to_owned(), (1.0 - logical).into());
    let capacity = (drive.blocks() as f64 * logical) as u64;
    let workload =
        Workload::Synthetic(uniform(capacity * u64::from(drive.block_bytes), drive.block_bytes >> 10, 2 * REQUESTS));
    let layer = layers::find("page-ftl")?;
    let setup = Setup { drive: &drive, layer, config: &config, buffer: BufferSize::Bytes(0), workload: &workload };
    let options =
        ReplayOptions { queue_depth: Some(1), window: Some(Window::Requests(REQUESTS)), ..Default::default() };
    let mut last = LastWindow::default();
    replay(&setup, &options, &mut last)?;
    Ok(last.amplification)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::Verdict;

    #[test]
    fn another_amount_of_spare_pages_fails() {
        assert_eq!(row(0.07, measured(0.075).unwrap()).unwrap().verdict, Verdict::Fail);
        assert_eq!(row(0.07, measured(0.065).unwrap()).unwrap().verdict, Verdict::Fail);
    }
}
