//! The write amplification of `page-ftl` under uniform random writes of single pages, against the closed form of greedy
//! cleaning with erase blocks of finite length (Desnoyers, ACM TOS 2014).

use super::Row;
use crate::drive::{DrivePreset, MediaSpec, TimingSpec};
use crate::layers;
use crate::mechanics::FlashSpec;
use crate::replay::{self, BufferSize, Observer, ReplayError, ReplayOptions, Setup, Window, replay};
use crate::trace::Workload;
use crate::trace::synthetic::{ArrivalSpec, Pattern, SizeShare, StreamSpec, SyntheticSpec};

/// Pages of an erase block.
const PAGES: u32 = 64;
/// Erase blocks that data circulates in; the layer keeps one more free at all times.
const ERASE_BLOCKS: u32 = 512;
/// Requests until writing is steady, and as many again that are counted: twelve times the physical pages.
const REQUESTS: u64 = 12 * PAGES as u64 * ERASE_BLOCKS as u64;
/// How far from the closed form the layer may be.
const TOLERANCE: f64 = 0.02;

/// Compares the layer with the closed form at two spare fractions of the physical pages.
///
/// # Errors
/// When the layer fails.
pub fn greedy_pages() -> Result<Vec<Row>, ReplayError> {
    [0.07, 0.2].into_iter().map(|spare| row(spare, measured(spare)?)).collect()
}

fn row(spare: f64, measured: f64) -> Result<Row, ReplayError> {
    let expected = closed_form(spare, f64::from(PAGES));
    let check = format!("write amplification at {spare} spare");
    let mut row = Row::close("page-ftl", &check, (expected, measured), TOLERANCE * expected, "x");
    row.note = "within 2 %".to_owned();
    Ok(row)
}

/// Pages programmed for each page that the host writes, when a part `spare` of the pages is spare and `pages` make an erase
/// block.
fn closed_form(spare: f64, pages: f64) -> f64 {
    let alpha = 1.0 / (1.0 - spare);
    let k = (1.0 + 1.0 / (2.0 * pages)) * alpha;
    let live = 0.5 - pages / alpha * lambert_w(-k * (-k).exp());
    pages / (pages - live + 1.0)
}

/// The `w > -1` with `w·e^w = x`, for `x` between `-1/e` and 0, by Newton's method.
fn lambert_w(x: f64) -> f64 {
    let mut w = 0.0_f64;
    for _ in 0..100 {
        let e = w.exp();
        w -= (w * e - x) / (e * (w + 1.0));
    }
    w
}

/// Notes the pages that were programmed in the last window.
#[derive(Default)]
struct LastWindow {
    amplification: f64,
}

impl Observer for LastWindow {
    fn row(&mut self, row: &replay::Row) {
        self.amplification = row.media_write_blocks.total() as f64 / row.requests as f64;
    }
}

fn measured(spare: f64) -> Result<f64, ReplayError> {
    let drive = DrivePreset {
        name: "flash".to_owned(),
        description: String::new(),
        block_bytes: 4096,
        media: MediaSpec::Flash { erase_blocks: ERASE_BLOCKS + 1, pages: PAGES, rewritable_erase_blocks: 0 },
        timing: TimingSpec::Flash(FlashSpec { read_ms: 0.0, program_ms: 0.0, erase_ms: 0.0, channels: 1 }),
    };
    let logical = (1.0 - spare) * f64::from(ERASE_BLOCKS) / f64::from(ERASE_BLOCKS + 1);
    let mut config = toml::Table::new();
    config.insert("over_provisioning".to_owned(), (1.0 - logical).into());
    let capacity = (drive.blocks() as f64 * logical) as u64;
    let workload = Workload::Synthetic(uniform(capacity * u64::from(drive.block_bytes)));
    let layer = layers::find("page-ftl")?;
    let setup = Setup { drive: &drive, layer, config: &config, buffer: BufferSize::Bytes(0), workload: &workload };
    let options =
        ReplayOptions { queue_depth: Some(1), window: Some(Window::Requests(REQUESTS)), ..Default::default() };
    let mut last = LastWindow::default();
    replay(&setup, &options, &mut last)?;
    Ok(last.amplification)
}

fn uniform(range_bytes: u64) -> SyntheticSpec {
    SyntheticSpec {
        name: "uniform pages".to_owned(),
        description: String::new(),
        seed: 1,
        requests: 2 * REQUESTS,
        range_bytes,
        grain_kib: 4,
        write_ratio: 1.0,
        sizes: vec![SizeShare { kib: 4, weight: 1 }],
        arrivals: ArrivalSpec { mean_rate: 1000.0, bursts: None },
        streams: vec![StreamSpec { weight: 1, pattern: Pattern::Uniform }],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::Verdict;

    #[test]
    fn the_layer_collects_greedily() {
        for row in greedy_pages().unwrap() {
            println!("{row:?}");
            assert_eq!(row.verdict, Verdict::Pass, "{row:?}");
        }
    }

    #[test]
    fn another_amount_of_spare_pages_fails() {
        assert_eq!(row(0.07, measured(0.075).unwrap()).unwrap().verdict, Verdict::Fail);
        assert_eq!(row(0.07, measured(0.065).unwrap()).unwrap().verdict, Verdict::Fail);
    }

    #[test]
    fn the_closed_form_is_as_published() {
        let published = [
            (0.07, 16.0, 5.111),
            (0.07, 64.0, 6.600),
            (0.07, 256.0, 7.124),
            (0.10, 64.0, 4.816),
            (0.20, 64.0, 2.598),
            (0.30, 64.0, 1.833),
        ];
        for (spare, pages, amplification) in published {
            let computed = closed_form(spare, pages);
            assert!((computed - amplification).abs() < 0.001, "{spare}, {pages}: {computed}");
        }
    }
}
