//! Updates of bottom tracks of an interlaced disk, for layers whose blocks have fixed places.

use imbrex_core::tracks::{Overlap, Tracks};

use crate::accesses::Accesses;

/// An interlaced disk of which a part is allocated.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Allocated {
    /// The disk. Its conventional tracks hold none of the blocks.
    pub tracks: Tracks,
    /// How many blocks are allocated.
    pub blocks: u64,
}

impl Allocated {
    /// Blocks of all bottom tracks.
    fn bottom(&self) -> u64 {
        u64::from(self.tracks.groups) * u64::from(self.tracks.bottom_tracks) * u64::from(self.tracks.bottom_blocks)
    }

    /// Blocks that find no place on bottom tracks.
    fn on_top(&self) -> u64 {
        self.blocks.saturating_sub(self.bottom())
    }

    /// The fewest allocated bottom blocks that have an allocated block over them, wherever blocks lie.
    fn fewest_covered(&self) -> u64 {
        let (bottom, top) = (u64::from(self.tracks.bottom_blocks), u64::from(self.tracks.top_blocks));
        match self.tracks.overlap {
            Overlap::Block => self.on_top(),
            Overlap::Angle | Overlap::Track => self.on_top() * bottom / top,
        }
    }

    /// Bottom blocks that have one over them when top tracks are filled whole, side by side: under each of them lies one
    /// bottom track, and one more in each group.
    fn covered_side_by_side(&self) -> u64 {
        let filled = self.on_top().div_ceil(self.tracks.top_blocks.into());
        let more = if filled > 0 { u64::from(self.tracks.groups) } else { 0 };
        ((filled + more) * u64::from(self.tracks.bottom_blocks)).min(self.bottom())
    }
}

/// The fewest updates of bottom tracks while `writes` are served, whichever place each block has, if it never leaves it
/// and all that is allocated is kept.
///
/// **Claim.** A layer with fixed places, and one request at a time, rewrites neighbours of a bottom track at least so
/// often, also one that knows all writes when it chooses the places. It is no bound for layers that move blocks.
///
/// **Proof.** Of L blocks at least x = L − (blocks of all bottom tracks) lie on top tracks. A top track that is
/// allocated over a part of a turn covers that part of the bottom track before it, and no bottom track is counted for
/// two; so x top blocks cover at least x · (blocks of a bottom track) / (blocks of a top track) bottom blocks. With more
/// blocks on top, as many more are covered as bottom blocks come free, or more. So there are P covered blocks, and they
/// are written at least as often as the P blocks that are written least; let that be U times. Each of these is in an
/// update, and an update belongs to one request and has no more blocks than that. So at least as many requests have an
/// update as it takes, beginning with the longest, until their blocks come to U. ∎
#[must_use]
pub fn least_updates(writes: &Accesses, disk: &Allocated) -> u64 {
    let mut times = times(writes);
    times.sort_unstable();
    let never = disk.blocks.saturating_sub(times.len() as u64);
    let covered = disk.fewest_covered().saturating_sub(never).min(times.len() as u64);
    let mut left: u64 = times[..covered as usize].iter().map(|times| u64::from(*times)).sum();
    let mut lengths: Vec<u64> = writes.requests().map(|blocks| blocks.len() as u64).collect();
    lengths.sort_unstable();
    let mut updates = 0;
    for length in lengths.into_iter().rev() {
        if left == 0 {
            break;
        }
        left = left.saturating_sub(length);
        updates += 1;
    }
    updates
}

/// The updates of bottom tracks with places that were chosen knowing all `writes`: **no bound**, somebody reaches it.
///
/// Top tracks are filled side by side, and the blocks that are written least lie under them: those that are never
/// written, and of the others as many as are needed, in the order of their addresses. A request has an update for each
/// covered track that it writes.
#[must_use]
pub fn updates(writes: &Accesses, disk: &Allocated) -> u64 {
    let times = times(writes);
    let never = disk.blocks.saturating_sub(times.len() as u64);
    let covered = disk.covered_side_by_side().saturating_sub(never).min(times.len() as u64) as usize;
    let mut coldest: Vec<u32> = (0..times.len() as u32).collect();
    coldest.sort_by_key(|block| times[*block as usize]);
    coldest.truncate(covered);
    coldest.sort_unstable();
    let mut place = vec![None; times.len()];
    for (at, block) in coldest.into_iter().enumerate() {
        place[block as usize] = Some(at as u64);
    }
    let track = |at: u64| at / u64::from(disk.tracks.bottom_blocks);
    // Neighbours that are covered lie side by side.
    let of_request = |blocks: &[u32]| {
        let mut places = blocks.iter().filter_map(|block| place[*block as usize]);
        let first = places.next();
        first.map_or(0, |first| track(places.next_back().unwrap_or(first)) - track(first) + 1)
    };
    writes.requests().map(of_request).sum()
}

/// How often each block is written.
fn times(writes: &Accesses) -> Vec<u32> {
    let mut times = vec![0; writes.blocks() as usize];
    writes.order().iter().for_each(|block| times[*block as usize] += 1);
    times
}

#[cfg(test)]
mod tests {
    use imbrex_core::block::{Extent, Lba};

    use super::*;

    const TRACKS: Tracks = Tracks {
        conventional_tracks: 0,
        groups: 1,
        bottom_tracks: 4,
        top_tracks: 4,
        bottom_blocks: 5,
        top_blocks: 4,
        skew_blocks: 0,
        overlap: Overlap::Angle,
    };

    fn counted(blocks: u64, requests: &[(u64, u32)]) -> [u64; 2] {
        let requests: Vec<_> = requests.iter().map(|&(start, blocks)| Extent::new(Lba(start), blocks)).collect();
        let (writes, disk) = (Accesses::of(&requests).unwrap(), Allocated { tracks: TRACKS, blocks });
        [least_updates(&writes, &disk), updates(&writes, &disk)]
    }

    #[test]
    fn what_fits_the_bottom_tracks_is_free() {
        let all: Vec<_> = (0..20).map(|block| (block, 1)).collect();
        assert_eq!(counted(20, &all), [0, 0]);
        // One block more covers one bottom block at least; side by side with a neighbour it covers two tracks.
        let all: Vec<_> = (0..21).map(|block| (block, 1)).collect();
        assert_eq!(counted(21, &all), [1, 10]);
    }

    #[test]
    fn blocks_that_are_written_least_are_covered() {
        // On a full disk all 20 bottom blocks are covered, and 16 are free to write.
        let twice: Vec<_> = (0..72).map(|write| (write % 36, 1)).collect();
        assert_eq!(counted(36, &twice), [40, 40]);
        let some: Vec<_> = (0..200).map(|write| (write % 18, 1)).collect();
        assert_eq!(counted(36, &some), [22, 22], "18 of the 20 are never written, and two coldest 11 times each");
        // Requests of three blocks may have three of them in one update.
        let long: Vec<_> = (0..24).map(|write| (write % 12 * 3, 3)).collect();
        let [least, reached] = counted(36, &long);
        assert!(least == 40_u64.div_ceil(3) && reached >= least, "{least} {reached}");
    }
}
