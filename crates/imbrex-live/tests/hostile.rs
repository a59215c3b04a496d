//! Metadata that anybody may have written: opening it ends, with a volume or with a reason, whatever it says.

use imbrex_live::explore::open_hostile;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn any_metadata_is_opened_or_refused(changes in prop::collection::vec(any::<u8>(), 0..40)) {
        open_hostile(&changes);
    }
}
