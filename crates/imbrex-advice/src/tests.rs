//! What is read, what is demanded, and what is recommended.
#![allow(clippy::unwrap_used, reason = "tests")]

use imbrex::layers::LayerInfo;
use imbrex::replay::Latency;

use crate::demand::Demand;
use crate::kinds::{Disk, KINDS, Room, disks};
use crate::prices::{Budget, Goods, Price, Prices, most};

#[test]
fn prices_are_those_that_are_given_and_the_usual_ones() {
    let own = [Price::read("flash=5").unwrap(), Price::read("shingled=0").unwrap()];
    let prices = Prices::with(&own);
    assert_eq!((prices.of(Goods::Flash), prices.of(Goods::Shingled), prices.of(Goods::Conventional)), (5.0, 0.0, 1.0));
    for wrong in ["flash", "flash=", "flash=-1", "flash=inf", "tape=1"] {
        assert!(Price::read(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn budgets_are_of_what_can_be_left_away() {
    let all = ["flash=64GiB", "memory=1GiB", "flash=1GiB"].map(|text| Budget::read(text).unwrap());
    assert_eq!((most(&all, Goods::Flash), most(&all, Goods::Conventional)), (Some(1 << 30), None));
    for wrong in ["flash", "flash=many", "shingled=1TB", "tape=1TB"] {
        assert!(Budget::read(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_demand_is_as_far_exceeded_as_the_worst_of_its_latencies() {
    let latency = |mean, p99, p999| Latency { mean, p99, p999, ..Latency::default() };
    let conventional = latency(10.0, 20.0, 30.0);
    let usual = Demand::default();
    for (taken, excess) in [((11.0, 500.0, 999.0), 1.0), ((22.0, 0.0, 0.0), 2.0), ((5.0, 5.0, 3000.0), 3.0)] {
        let (mean, p99, p999) = taken;
        assert!((usual.excess(&latency(mean, p99, p999), &conventional) - excess).abs() < 1e-9, "{taken:?}");
    }
    // Where a conventional disk takes longer than a second, so may others.
    assert_eq!(usual.excess(&latency(1.0, 1.0, 2000.0), &latency(10.0, 20.0, 2000.0)), 1.0);
    let own = Demand { p99_ns: Some(50_000_000), ..usual };
    assert_eq!(own.excess(&latency(9000.0, 50.0, 9000.0), &conventional), 1.0);
    assert_eq!(own.excess(&latency(1.0, 100.0, 1.0), &conventional), 2.0);
}

/// Every layer is on a disk of some kind, whatever layers there are.
#[test]
fn every_layer_can_be_recommended() {
    for info in imbrex::layers::ALL {
        let kinds = KINDS.iter().filter(|kind| kind.layers().iter().any(|own| own.name == info.name));
        assert_eq!(kinds.count(), 1, "{}", info.name);
    }
}

#[test]
fn a_drive_is_what_its_recording_can_be() {
    let kinds = |name: &str| disks(&[name.to_owned()]).unwrap().iter().map(|disk| disk.kind.name).collect::<Vec<_>>();
    assert_eq!(kinds("exos-x18z"), ["conventional", "host-managed", "log"]);
    assert_eq!(kinds("st8000as0002"), ["conventional", "drive-managed", "flash cache"]);
    assert_eq!(kinds("conventional-7200"), ["conventional"]);
    assert_eq!(kinds("ssd-sata"), ["flash"]);
    let both = disks(&["exos-x18z", "st8000as0002"].map(str::to_owned)).unwrap();
    assert_eq!(both.iter().filter(|disk| disk.kind.name == "conventional").count(), 1);
    assert!(disks(&["floppy".to_owned()]).is_err());
    assert!(disks(&["exos-x18z".to_owned(), "exos-x18z".to_owned()]).is_err());
    assert_eq!(disks(&[]).unwrap().len(), KINDS.len());
}

#[test]
fn a_disk_is_held_against_itself_without_overlapping_tracks_and_flash_against_a_disk() {
    for disk in disks(&[]).unwrap() {
        let expected = if disk.kind.name == "flash" { "exos-x18z" } else { disk.named.as_str() };
        assert_eq!(disk.yardstick(), expected, "{}", disk.kind.name);
        assert_eq!(Disk::conventional(disk.yardstick()).unwrap().kind.name, "conventional");
    }
}

/// The table of the documentation is that of the code.
#[test]
fn the_page_lists_the_kinds() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/advice.md")).unwrap();
    let (_, table) = page.split_once("| kind | drive").unwrap();
    let rows: Vec<_> = table.lines().skip(2).take_while(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), KINDS.len());
    for (row, kind) in rows.iter().zip(&KINDS) {
        assert!(row.starts_with(&format!("| {} | `{}`", kind.name, kind.drive)), "{row}");
        let varied = match kind.room {
            Room::Fixed => "| |".to_owned(),
            Room::Buffer(usual, factors) => {
                let all = || factors.iter().chain([&1.0]).map(|factor| usual * factor);
                let (least, most) = (all().fold(f64::MAX, f64::min), all().fold(0.0, f64::max));
                format!("{least} to {most} %")
            }
            Room::Field("spare_fraction", _) => "the spare fraction".to_owned(),
            Room::Field(..) => "the part of the disk that is allocated".to_owned(),
        };
        assert!(row.contains(&varied), "{row}: {varied}");
        let layers = kind.layers();
        let is_named = |layer: &&LayerInfo| row.contains(&format!("`{}`", layer.name));
        let family = layers[0].family.map(|family| format!("`{}`", family.name()));
        assert!(layers.iter().all(is_named) || family.is_some_and(|family| row.contains(&family)), "{row}");
    }
}

#[test]
fn the_page_states_the_usual_prices() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/advice.md")).unwrap();
    let text = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let of = |goods: Goods| Prices::default().of(goods);
    let disks = [Goods::Shingled, Goods::Interlaced, Goods::Hybrid];
    let disks = disks.map(|goods| format!("{} {:.2}", goods.name(), of(goods))).join(", ");
    let said = format!("without it {disks}, flash {} and memory {} times a byte", of(Goods::Flash), of(Goods::Memory));
    assert!(text.contains(&said), "{said}");
}
