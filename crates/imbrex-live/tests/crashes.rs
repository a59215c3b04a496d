//! The crash explorer on images.
#![allow(clippy::unwrap_used, reason = "tests")]

use imbrex::explore::{Finding, Options, Tally, explore};
use imbrex::layers;
use imbrex::perform::rules::Rules;
use imbrex_live::explore::on_images;

fn go(layer: &str, cuts: u64, rules: Rules) -> Result<Tally, Finding> {
    explore(&on_images(layers::find(layer).unwrap()), &Options { cuts, seed: 1, rules }, |_| true)
}

#[test]
fn every_layer_survives_on_images() {
    let cuts = std::env::var("CUTS").map_or(100, |c| c.parse().unwrap());
    for info in layers::ALL {
        let start = std::time::Instant::now();
        let found = go(info.name, cuts, Rules::all());
        println!("{} {:?}: {found:?}", info.name, start.elapsed());
    }
}
