//! The hot buffer of `amphisbaena` under a loop: the same blocks in the same order again and again, more than the
//! buffer holds.
//!
//! A list by last write holds nothing of a loop when it comes round. Roles keep some: the first blocks to come are SUP,
//! as many as may be, H − round(λH) of H slots. In each later round they are written in the order of R, so each is its
//! bottom and goes to its top; when the last of them has, all others are forgotten, none is a ghost when it is written,
//! and no chunk changes sides. So the hits in the hot buffer are those blocks, in every round but the first.

use super::writes::{BLOCK, Writes};
use super::{Comparison, Numbers, ValidateError};
use crate::replay::{Device, NoTime, ReplayError, ReplayOptions, Simulation, space};
use imbrex_core::block::Pba;
use imbrex_core::media::{Shingled, ZonedSpec};
use imbrex_layers as layers;

const LAYER: &str = "amphisbaena";
const ZONES: ZonedSpec = ZonedSpec { zones: 40, zone_blocks: 512, conventional_zones: 8, max_open: 0, max_active: 0 };
/// Slots of the buffer, of which the hot part is a quarter.
const SLOTS: u32 = 1600;
const HOT: f64 = 400.0;
/// Blocks of the loop, and how often it is written.
const LOOP: u64 = 5000;
const ROUNDS: u64 = 20;

/// Compares the hits with those of the rule at three sizes of the filter list, and without roles.
///
/// # Errors
/// When a replay fails.
pub fn loop_of_writes() -> Result<Vec<Comparison>, ValidateError> {
    let with = [0.1, 0.3, 0.5].map(|lambda| (format!("λ {lambda}"), format!("lambda = {lambda}"), kept(lambda)));
    let without = ("no phase 2".to_owned(), "phase_two = false".to_owned(), 0.0);
    with.into_iter().chain([without]).map(|(name, config, kept)| Ok(row(&name, kept, measured(&config)?))).collect()
}

/// SUP blocks.
fn kept(lambda: f64) -> f64 {
    HOT - (lambda * HOT).round()
}

fn row(name: &str, kept: f64, measured: f64) -> Comparison {
    let check = format!("hits in the hot part in a loop, {name}");
    Comparison::close(LAYER, &check, Numbers { expected: (ROUNDS - 1) as f64 * kept, measured }, 0.0, "blocks")
}

fn measured(config: &str) -> Result<f64, ValidateError> {
    let run = || {
        let disk = Device::new(Box::new(Shingled::new(Pba::DISK, ZONES)), Box::new(NoTime), BLOCK);
        let options = ReplayOptions::default();
        let (layer, space) = (layers::find(LAYER)?, space(&disk, SLOTS, &options)?);
        let make = || layer.build(&space, &config.parse().unwrap_or_default());
        let mut writes = Writes::new((0..ROUNDS * LOOP).map(|number| (number, number % LOOP)));
        Simulation::new(LAYER, &make, disk, &options)?.run(&mut writes, &mut ())
    };
    let outcome = run().map_err(|source: ReplayError| ValidateError::Replay {
        disk: LAYER.into(),
        run: config.into(),
        source: Box::new(source),
    })?;
    Ok(outcome.counters.get("hot_hit_blocks").unwrap_or(0) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::Verdict;

    #[test]
    fn roles_keep_their_share_of_a_loop() {
        for row in loop_of_writes().unwrap() {
            assert_eq!(row.verdict, Verdict::Pass, "{row:?}");
        }
    }

    #[test]
    fn another_share_fails() {
        assert_eq!(row("", kept(0.1), measured("lambda = 0.105").unwrap()).verdict, Verdict::Fail);
        assert_eq!(row("", kept(0.1), measured("hot_start = 0.26").unwrap()).verdict, Verdict::Fail);
        assert_eq!(row("", 0.0, measured("lambda = 0.99").unwrap()).verdict, Verdict::Fail);
    }
}
