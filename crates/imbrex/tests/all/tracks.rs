//! What the layers on interlaced tracks say of each track, held against where reads find every block.

use imbrex::block::{Extent, Lba, Pba};
use imbrex::contents::TrackContent;
use imbrex::layer::{Freed, Pressure, TranslationLayer};
use imbrex::layers::{self, Family};
use imbrex::media::Interlaced;
use imbrex::plan::{Op, Place, Plan};
use imbrex::random::Random;
use imbrex::space::Space;
use imbrex::tracks::{Overlap, Side, Tracks};

/// On interlaced tracks: as many blocks of each track are live as reads find there.
#[test]
fn tracks_hold_what_reads_find_there() {
    let tracks = Tracks {
        conventional_tracks: 0,
        groups: 2,
        bottom_tracks: 20,
        top_tracks: 20,
        bottom_blocks: 10,
        top_blocks: 8,
        skew_blocks: 3,
        overlap: Overlap::Angle,
    };
    let mut elsewhere = 0;
    for layer in layers::ALL.iter().filter(|layer| layer.family == Some(Family::Interlaced)) {
        let space = Space::of(&Interlaced::new(Pba::DISK, tracks), 0);
        let mut built = layer.build(&space, &"utilisation = 0.95".parse().unwrap()).unwrap();
        let mut plan = Plan::new();
        let mut random = Random::new(5);
        for step in 0..4000 {
            let range = if step % 3 == 0 { built.capacity() } else { built.capacity() / 8 };
            let at = Extent::new(Lba(random.below(range - 3)), 1 + random.below(3) as u32);
            plan.clear();
            if built.write(at.into(), &mut plan) == 0 {
                built.clean(Pressure::Blocked(at), &[], &mut plan);
            }
            for op in plan.ops() {
                if let Op::Free(space) = op {
                    built.freed(*space, Freed::GivenUp);
                }
            }
            if step % 500 == 499 {
                let contents = built.contents().unwrap();
                let live = |track: &TrackContent| track.home + track.buffered + track.swapped;
                let said: Vec<u32> = contents.tracks().iter().map(live).collect();
                assert_eq!(said, read_from(&mut *built, &tracks), "{}, step {step}", layer.name);
                assert_eq!(said.iter().map(|blocks| u64::from(*blocks)).sum::<u64>(), built.capacity());
                let moved = |track: &TrackContent| track.buffered + track.swapped;
                elsewhere += contents.tracks().iter().map(moved).sum::<u32>();
            }
        }
    }
    assert!(elsewhere > 0, "nothing has moved");
}

/// How many blocks reads find on each track.
fn read_from(layer: &mut dyn TranslationLayer, tracks: &Tracks) -> Vec<u32> {
    let mut found = vec![0; (tracks.groups * (tracks.bottom_tracks + tracks.top_tracks)) as usize];
    let mut plan = Plan::new();
    for lba in (0..layer.capacity()).map(Lba) {
        plan.clear();
        layer.read(Extent::new(lba, 1), &mut plan);
        let Op::Move { from: Place::At(from), .. } = plan.ops()[0] else { continue };
        let (track, _) = tracks.locate(from.block()).unwrap();
        let number = track.group * (tracks.bottom_tracks + tracks.top_tracks) + 2 * track.index;
        found[(number + u32::from(track.side == Side::Top)) as usize] += 1;
    }
    found
}
