//! Every layer survives power cuts and failing operations on tiny disks.

use imbrex::explore::{Options, Subject, explore};
use imbrex::layers;
use imbrex::perform::rules::Rules;

#[test]
fn every_layer_survives() {
    for info in layers::ALL {
        let options = Options { cuts: 3000, seed: 1, rules: Rules::all() };
        match explore(&Subject::layer(info), &options, |_| true) {
            Ok(tally) => println!("{}: {tally:?}", info.name),
            Err(finding) => panic!("{finding}"),
        }
    }
}
