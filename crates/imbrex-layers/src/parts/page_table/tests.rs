use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

const LAYOUT: Layout = Layout::new(40, 10, 4);

#[test]
fn a_page_lies_in_one_unit() {
    assert_eq!((LAYOUT.of_unit, LAYOUT.pages()), (3, 12));
    let located = |at| {
        let Located { page, offset, rest } = LAYOUT.locate(at);
        (page, offset, rest)
    };
    let expected = [(0, 0, 4), (0, 3, 1), (1, 0, 4), (2, 1, 1), (3, 0, 4), (11, 1, 1)];
    assert_eq!([0, 3, 4, 9, 10, 39].map(located), expected);
    assert_eq!([0, 2, 3, 11].map(|page| LAYOUT.numbers_of(page)), [0..4, 8..10, 10..14, 38..40]);
    assert_eq!((LAYOUT.pages_of(9, 2), LAYOUT.pages_of(4, 0)), (2..4, 0..0));
    let one = Layout::new(9, 9, 4);
    assert_eq!((one.pages(), one.numbers_of(2)), (3, 8..9));
}

/// A table whose records have been folded.
fn table() -> PageTable {
    let mut table = PageTable::new(LAYOUT);
    table.end_fold();
    table
}

#[test]
fn a_look_at_a_page_that_is_elsewhere_is_noticed() {
    let mut table = table();
    assert_eq!((table.get(5), table.run(5, 9)), (NONE, (NONE, 3)));
    table.set_run(5, 2, NONE);
    assert!(!table.missed(), "the page is blank");
    table.put(1, None);
    assert!(!table.is_used(1));
    table.set_run(5, 2, 70);
    assert_eq!((table.get(6), table.run(5, 9), table.is_used(1)), (71, (70, 2), true));
    assert_eq!(table.take_begun().collect::<Vec<_>>(), [1]);
    let mut content = Vec::new();
    table.content(1, &mut content);
    table.evict(1);
    assert!(!table.missed() && !table.is_known(1));
    let lost = table.clone();
    assert_eq!((lost.get(6), lost.missed()), (NONE, true));
    table.put(1, Some((&content, 0)));
    assert_eq!((table.get(6), table.missed()), (71, false));
    table.set_run(7, 2, 90);
    assert!(table.missed(), "page 2 is not there");
}

#[test]
fn what_is_begun_anew_forgets_what_waits() {
    let mut table = PageTable::new(LAYOUT);
    table.set_run(3, 3, 50);
    table.set_run(30, 10, NONE);
    table.end_fold();
    let awaited = |table: &PageTable| {
        let mut pages = Vec::new();
        table.awaited(|page| pages.push(page));
        pages
    };
    assert_eq!(awaited(&table), [0, 1], "nothing waits for pages that are blank");
    table.begin(1);
    assert_eq!((awaited(&table), table.get(4)), (vec![0], NONE));
}

proptest! {
    /// Pages at home in some version, records folded behind it, and pages put in any order.
    #[test]
    fn a_page_and_what_was_folded_behind_it_are_the_page(
        steps in prop::collection::vec((0u64..40, 1u32..12, prop::option::of(0u64..1000), any::<bool>()), 1..40),
        tail in 0usize..40,
    ) {
        let mut plain = BTreeMap::new();
        let mut home: BTreeMap<u64, (Vec<u8>, u64)> = BTreeMap::new();
        let mut at_home = table();
        (0..12).for_each(|page| { at_home.put(page, None); });
        let mut folded = PageTable::new(LAYOUT);
        for (number, &(at, blocks, value, goes_home)) in (1u64..).zip(&steps) {
            let blocks = blocks.min((40 - at) as u32);
            let value = value.unwrap_or(NONE);
            let tail = tail.min(steps.len() - 1) as u64;
            at_home.set_run(at, blocks, value);
            (0..u64::from(blocks)).for_each(|i| {
                plain.insert(at + i, if value == NONE { NONE } else { value + i });
            });
            // What is before the tail is at home.
            if goes_home || number == tail {
                for page in if number <= tail { 0..12 } else { LAYOUT.pages_of(at, blocks.into()) } {
                    let mut content = Vec::new();
                    at_home.content(page, &mut content);
                    home.insert(page, (content, number + 1));
                }
            }
            if number > tail {
                folded.fold_at(number);
                folded.set_run(at, blocks, value);
            }
        }
        home.keys().for_each(|page| folded.set_used(*page));
        folded.end_fold();
        let mut awaited = Vec::new();
        folded.awaited(|page| awaited.push(page));
        for page in 0..12 {
            let content = home.get(&page).map(|(content, version)| (&content[..], *version));
            let is_changed = folded.put(page, content);
            prop_assert!(!is_changed || awaited.contains(&page));
        }
        for at in 0..40 {
            prop_assert_eq!(folded.get(at), plain.get(&at).copied().unwrap_or(NONE), "{}", at);
        }
        prop_assert!(!folded.missed());
    }
}
