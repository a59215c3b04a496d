//! How large a drive has to be for what was refused on a smaller one.

use std::sync::Arc;

use imbrex::drive::DrivePreset;
use imbrex_live::image::Image;
use imbrex_live::volume::{self, FormatOptions};

const GIB: u64 = 1 << 30;
/// Larger drives are not tried.
const MOST_GIB: u64 = 64 << 10;

/// How many GiB of `preset` the volume can be made of, when it cannot be made of `too_few_bytes` bytes: the least,
/// where every larger size will do; nothing if none was found.
pub fn enough_gib(preset: &DrivePreset, too_few_bytes: u64, options: &FormatOptions<'_>) -> Option<u64> {
    let fits = |gib: u64| {
        let drive = preset.with_capacity(gib * GIB).ok();
        let drive = drive.and_then(|drive| volume::roomy(&drive, 0, options, None).ok());
        let drive = drive.and_then(|drive| Image::draft(&drive).ok());
        drive.is_some_and(|drive| volume::validate(&vec![Arc::new(drive)], options).is_ok())
    };
    let mut short = too_few_bytes / GIB;
    let mut enough =
        (1..).map(|step| short.max(1) << step).take_while(|gib| *gib <= MOST_GIB).find(|gib| fits(*gib))?;
    short = short.max(enough / 2);
    while enough - short > 1 {
        let between = short + (enough - short) / 2;
        *(if fits(between) { &mut enough } else { &mut short }) = between;
    }
    Some(enough)
}
