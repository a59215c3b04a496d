//! Metadata of any content: opening it ends, with a volume or with a reason.

use imbrex_live::explore::open_hostile;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn any_metadata_is_opened_or_refused(changes in prop::collection::vec(any::<u8>(), 0..40)) {
        open_hostile(&changes);
    }
}

#[test]
fn lives_that_cannot_begin_come_to_an_end() {
    open_hostile(&[100, 91, 20, 148, 1, 1, 1, 3, 0, 101, 0, 0, 0, 0, 0, 0, 0, 0]);
}
