//! A log with some pages of its map in memory does what one with the whole map in memory does.

use super::runner::{Case, Runner};
use super::{LOGS, steps};
use imbrex_core::block::{Extent, Lba, Pba};
use imbrex_core::layer::{Condition, Freed, Pressure, Step, TranslationLayer, UnitReport, UnitState, Write};
use imbrex_core::plan::{Op, Place, Plan};
use proptest::prelude::*;

/// The log with its whole map in memory. Each plan is carried out at once.
struct Whole {
    layer: Box<dyn TranslationLayer>,
    band: u32,
}

impl Whole {
    fn new(case: &Case) -> Self {
        let mut layer = case.make_whole();
        let empty = UnitState { condition: Condition::Sequential, pointer: 0 };
        let report = UnitReport { devices: vec![Vec::new(), vec![empty; case.bands as usize]] };
        layer.recovered(&report, &mut Plan::new()).unwrap();
        Self { layer, band: case.band }
    }

    fn perform(&mut self, plan: &Plan) {
        for op in plan.ops() {
            if let Op::Reset(unit) = *op {
                let first = Pba::disk(u64::from(unit.index) * u64::from(self.band));
                self.layer.freed(Extent::new(first, self.band), Freed::GivenUp);
            }
        }
    }

    fn write(&mut self, mut rest: Extent<Lba>) {
        while !rest.is_empty() {
            let mut plan = Plan::new();
            let taken = self.layer.write(Write::from(rest), &mut plan);
            self.perform(&plan);
            rest = rest.skip(taken);
            let mut step = if taken == 0 { Step::More } else { Step::Done };
            while step != Step::Done {
                let mut plan = Plan::new();
                step = self.layer.clean(Pressure::Blocked(rest), &[], &mut plan);
                self.perform(&plan);
                assert_ne!(step, Step::Nothing);
            }
        }
    }

    fn trim(&mut self, at: Extent<Lba>) {
        let mut plan = Plan::new();
        self.layer.trim(at, &mut plan);
        self.perform(&plan);
    }

    fn place(&self, lba: Lba) -> Option<Pba> {
        let mut plan = Plan::new();
        self.layer.locate(Extent::new(lba, 1), &mut plan);
        plan.ops().iter().find_map(|op| match op {
            Op::Move { from: Place::At(place), .. } => Some(*place),
            _ => None,
        })
    }
}

fn cases() -> impl Strategy<Value = Case> {
    // Compaction may change the stream of the block that the host waits for, which is not asked again if its page is gone.
    let may_change = |log: &usize| match LOGS[*log] {
        ("sepbit", _) => true,
        ("log-lifetimes", fields) => !fields.contains("sample = 0"),
        (_, fields) => fields.contains("hot_from"),
    };
    let logs: Vec<usize> = (0..LOGS.len()).filter(|log| !may_change(log)).collect();
    let disk = (prop::sample::select(logs), 12u32..16, 6u32..20);
    let log = (1u32..3, 1u32..4, 1u32..24);
    let cache = (3u32..9, prop::sample::select(vec![3u32, 4, 8]), any::<bool>(), any::<u64>());
    (disk, log, cache).prop_map(|((log, bands, band), (spare_bands, compact_bands, step_blocks), cache)| {
        let ((layer, fields), (entries, pages, spares_ram, seed)) = (LOGS[log], cache);
        // The youngest block of a larger band is not always known, if all times are not in memory.
        let is_exact = layer != "log-cost-benefit" || fields.contains("mean") || fields.contains("\"band\"");
        let band = if is_exact { band } else { band.min(8) };
        let (is_fragile, is_quiet) = (false, true);
        Case {
            layer,
            fields,
            bands,
            band,
            spare_bands,
            compact_bands,
            step_blocks,
            entries,
            pages,
            spares_ram,
            seed,
            is_fragile,
            is_quiet,
        }
    })
}

proptest! {
    #[test]
    fn all_blocks_lie_where_they_do_with_the_whole_map(case in cases(), steps in steps()) {
        let (mut whole, mut part) = (Whole::new(&case), Runner::new(case));
        let capacity = part.model.len() as u64;
        for (kind, start, blocks) in steps {
            let start = (start * start * capacity as f64) as u64;
            let at = Extent::new(Lba(start), blocks.min((capacity - start) as u32));
            if kind == 10 {
                whole.trim(at);
                part.trim(at);
                part.commit();
            } else {
                whole.write(at);
                prop_assert!(part.write(at).is_ok());
            }
        }
        for lba in (0..capacity).map(Lba) {
            prop_assert_eq!(part.read_one(lba).0, whole.place(lba), "{:?}", lba);
        }
    }
}
