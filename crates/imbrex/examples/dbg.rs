//! debug
use imbrex::explore::{Options, Subject, explore};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let info = imbrex::layers::find(&a[1]).unwrap();
    let o = Options {
        cuts: a[3].parse().unwrap(),
        seed: a[2].parse().unwrap(),
        rules: imbrex::perform::rules::Rules::all(),
    };
    println!("{:?}", explore(&Subject::layer(info), &o, |_| true));
}
