use super::*;
use proptest::prelude::*;

const LENGTH: usize = 3 * PAGE + 100;

fn steps(most: u32, count: usize) -> impl Strategy<Value = Vec<(u64, u32, u64)>> {
    prop::collection::vec((0..LENGTH as u64, 1..most, 0u64..4), 1..count)
}

proptest! {
    #[test]
    fn behaves_like_an_array(long in steps(3 * PAGE as u32, 20), short in steps(8, 300), middle in steps(300, 40)) {
        let (mut map, mut plain) = (PagedMap::new(LENGTH as u64), vec![NONE; LENGTH]);
        for (number, (at, blocks, kind)) in long.into_iter().chain(short).chain(middle).enumerate() {
            // Half of the runs begin and end with pages.
            let at = if kind % 2 == 0 && blocks > 100 { at / PAGE as u64 * PAGE as u64 } else { at };
            let blocks = blocks.min(LENGTH as u32 - at as u32);
            // Some go on where others lie.
            let value = if kind == 3 { NONE } else { at + kind * 1000 };
            map.set_run(at, blocks, value);
            for (i, entry) in (0..).zip(&mut plain[at as usize..at as usize + blocks as usize]) {
                *entry = if value == NONE { NONE } else { value + i };
            }
            let mut next = if number % 16 == 0 { 0 } else { at };
            let end = if number % 16 == 0 { LENGTH as u64 } else { at + u64::from(blocks) };
            while next < end {
                let (value, run) = map.run(next, (LENGTH as u64 - next) as u32);
                prop_assert!(run > 0);
                for i in 0..u64::from(run) {
                    let expected = plain[(next + i) as usize];
                    prop_assert_eq!(if value == NONE { NONE } else { value + i }, expected);
                    prop_assert_eq!(map.get(next + i), expected);
                }
                next += u64::from(run);
            }
        }
    }
}

/// The pages of the first chunk.
fn pages(map: &PagedMap) -> &[Page] {
    match &map.chunks[0] {
        Chunk::Pages(pages) => &pages[..],
        chunk => panic!("{chunk:?} is not divided"),
    }
}

/// Runs about chunks, and what lies at and beside their ends.
#[test]
fn chunks_behave_like_an_array() {
    let span = SPAN as u64;
    let length = 3 * span + 100;
    let edges = [0, 1, span - 1, span, span + 7, 2 * span, 2 * span + 300, 3 * span - 1, 3 * span, length];
    let between = |seed: u64| {
        let (a, b) = (edges[seed as usize % 10], edges[(seed / 10) as usize % 10]);
        (a.min(b), (a.max(b) - a.min(b)) as u32)
    };
    let mut random = imbrex_core::random::Random::new(7);
    let (mut map, mut plain) = (PagedMap::new(length), vec![NONE; length as usize]);
    for step in 0..600 {
        let (at, blocks) = between(random.below(100));
        let value = if random.below(4) == 0 { NONE } else { at + 1000 * random.below(3) };
        map.set_run(at, blocks, value);
        let range = at as usize..(at + u64::from(blocks)) as usize;
        (0..).zip(&mut plain[range]).for_each(|(i, entry)| *entry = if value == NONE { NONE } else { value + i });
        for at in edges.iter().flat_map(|edge| edge.saturating_sub(2)..(edge + 3).min(length)) {
            assert_eq!(map.get(at), plain[at as usize], "{step}: {at}");
            let (value, run) = map.run(at, (length - at) as u32);
            let (last, value) =
                ((at + u64::from(run) - 1) as usize, if value == NONE { 0 } else { u64::from(run) - 1 });
            assert_eq!(plain[last], plain[at as usize].saturating_add(value).min(NONE), "{step}: {at}, {run}");
        }
        let is_run =
            |page: &[u64]| page.iter().all(|entry| *entry == NONE) || page.windows(2).all(|w| w[0] + 1 == w[1]);
        if map.is_regular(span, 2 * span) {
            assert!(plain[SPAN..2 * SPAN].chunks(PAGE).all(is_run), "{step}");
        }
    }
}

#[test]
fn a_chunk_that_holds_little_takes_little() {
    let mut map = PagedMap::new(3 * SPAN as u64);
    map.set_run(0, 2 * SPAN as u32, 9);
    map.set(5, 14);
    assert!(matches!(map.chunks[..], [Chunk::Run(9), Chunk::Run(_), Chunk::Empty]));
    map.set_run(SPAN as u64 + 3, 2, NONE);
    assert!(matches!(map.chunks[..], [Chunk::Run(9), Chunk::Pages(_), Chunk::Empty]));
    assert!(!map.is_regular(SPAN as u64, SPAN as u64 + 1) && map.is_regular((SPAN + PAGE) as u64, 3 * SPAN as u64));
    map.set_run(SPAN as u64, SPAN as u32, NONE);
    assert!(matches!(map.chunks[1], Chunk::Empty));
    assert_eq!(size_of::<Chunk>(), 16);
}

#[test]
fn pages_without_values_take_no_array() {
    let mut map = PagedMap::new(3 * PAGE as u64);
    (0..2 * PAGE as u64).for_each(|at| map.set(at, 2 * at));
    map.set(2 * PAGE as u64 + 7, 7);
    assert!(pages(&map)[..2].iter().all(|page| matches!(page, Page::Each(..))));
    (0..PAGE as u64).for_each(|at| map.set(at, NONE));
    map.set_run(PAGE as u64, PAGE as u32, NONE);
    map.set(2 * PAGE as u64 + 7, NONE);
    assert!(pages(&map).iter().all(|page| matches!(page, Page::Empty)));
}

#[test]
fn pieces_that_make_a_whole_page_are_one_number() {
    let mut map = PagedMap::new(2 * PAGE as u64);
    (0..8).for_each(|piece| map.set_run(32 * piece, 32, 1000 + 32 * piece));
    assert!(map.is_regular(0, PAGE as u64) && matches!(pages(&map)[0], Page::Run(1000)));
    // The same over what was there before, piece by piece.
    (0..8).for_each(|piece| map.set_run(32 * piece, 32, 5000 + 32 * piece));
    assert!(matches!(pages(&map)[0], Page::Run(5000)));
}

#[test]
fn memory_follows_what_is_set() {
    let mut map = PagedMap::new(10 * PAGE as u64);
    map.set_run(0, 10 * PAGE as u32, 5);
    map.set(3, 8);
    assert!(pages(&map)[..10].iter().all(|page| matches!(page, Page::Run(_))));
    map.set(3, 9);
    assert!(matches!(pages(&map)[0], Page::Runs(_)) && map.get(2) == 7 && map.get(4) == 9);
    (0..PAGE as u64).for_each(|at| map.set(at, 2 * at));
    assert!(matches!(pages(&map)[0], Page::Each(..)) && map.get(2) == 4);
    assert_eq!(size_of::<Page>(), 16);
}
