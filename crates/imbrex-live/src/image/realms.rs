//! Activations of the realms of a hybrid drive.

use imbrex::plan::Unit;
use imbrex::zones::Realms;

use super::Image;
use crate::backing::Backing;
use crate::store::{Store, StoreError};

impl<B: Backing> Image<B> {
    /// The realms, if the reset of `unit` activates a span of one.
    pub(super) fn activated_by(&self, unit: Unit) -> Option<Realms> {
        self.state().media.realms().filter(|realms| realms.activated_by(unit).is_some())
    }

    /// Activates a span. That the zones of its realm are empty is durable before the table says that it is active: or
    /// what an older entry says of one of them could come back beside the new span.
    pub(super) fn activate(&self, unit: Unit, realms: &Realms) -> Result<(), StoreError> {
        let Some((realm, sequential)) = realms.activated_by(unit) else { return Ok(()) };
        self.flush()?;
        let mut emptied = Vec::new();
        {
            let mut state = self.state();
            state.media.reset(unit)?;
            state.media.emptied_by(unit, &mut |space| emptied.push(space));
            for zone in realms.conventional_of(realm).chain(realms.sequential_of(realm)) {
                *state.emptied.entry(realms.zones().unit(zone)).or_default() += 1;
            }
            let index = realms.to_sequential(realm).index;
            let entry = &mut state.entries[index as usize];
            (entry.pointer, entry.sequence) = (u32::from(sequential), entry.sequence.wrapping_add(1));
            state.dirty.insert(index);
            let span = state.media.extent_of(unit);
            self.write_entry(&state, index).map_err(StoreError::of("activating", span))?;
            state.dirty.remove(&index);
        }
        emptied.into_iter().for_each(|space| self.discard(space));
        Ok(())
    }
}
