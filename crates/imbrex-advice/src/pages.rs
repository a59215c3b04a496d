//! The runs that a page shows beside the answer.

use std::num::NonZeroU64;
use std::ptr;

use imbrex::layers;
use imbrex_runs::page::About;
use imbrex_runs::row::Row;
use imbrex_runs::seen::Seen;
use imbrex_runs::workload::Known;

use crate::choice::Choice;
use crate::kinds::Disk;
use crate::stages::{Baselines, Measured, best_of};
use crate::trial::Point;
use crate::words;

/// What a page shows: the best of each disk, by the drive that it is held against, and what a conventional one does.
pub fn shown<'m>(
    measured: &'m Measured<'_>,
    choice: &Choice<'m, '_>,
    baselines: &'m Baselines,
    disks: &[Disk],
    known: &'m [Known],
) -> Vec<(&'m Row, Seen<'m>, About)> {
    let (mut all, mut drives) = (Vec::new(), Vec::new());
    for disk in disks {
        let Some(point) = best_of(&measured.layers, disk) else { continue };
        let is = |other: &Point<'_>| ptr::eq(other.trial.disk, disk);
        let point = if is(choice.best) { choice.best } else { choice.runner_up.filter(|own| is(own)).unwrap_or(point) };
        let role = match () {
            () if ptr::eq(point, choice.best) => Some("recommended".to_owned()),
            () if choice.runner_up.is_some_and(|own| ptr::eq(own, point)) => Some("runner-up".to_owned()),
            () => None,
        };
        // Each conventional disk once.
        let is_new = !drives.contains(&disk.yardstick());
        drives.push(disk.yardstick());
        let group = Some(disk.yardstick().to_owned());
        let baseline = baselines.of(disk, NonZeroU64::MIN).iter();
        for (own, (row, base)) in known.iter().zip(point.rows.iter().zip(baseline)) {
            let about = |name: Option<String>, role| About { name, role, group: group.clone(), ..About::default() };
            let seen = |row: &Row| layers::find(row.layer).map(|info| Seen::new(&own.info, info));
            if is_new && row.layer != base.layer {
                all.extend(seen(base).ok().map(|seen| (base, seen, about(None, None))));
            }
            let name = Some(words::called(point));
            all.extend(seen(row).ok().map(|seen| (row, seen, about(name, role.clone()))));
        }
    }
    all
}
