//! What an erase block holds, for a look at the device: it is a band that pages are appended to.

use super::PageFtl;
use crate::parts::unit_pool::Role;
use imbrex_core::contents::{BandContent, BandState};

impl PageFtl {
    /// What an erase block holds.
    pub(super) fn content(&self, unit: u32) -> BandContent {
        let (state, written) = self.state(unit);
        let live = self.map.live(unit);
        BandContent { state, unwritten: self.pages() - written, dead: written - live, live, hot: None }
    }

    /// What it is, and how many of its pages are written.
    fn state(&self, unit: u32) -> (BandState, u32) {
        let pages = self.pages();
        match self.pool.role(unit) {
            Role::Free => (BandState::Empty, 0),
            Role::Pending => (BandState::Emptying, pages),
            Role::Closed => (BandState::Closed, pages),
            Role::Bad => (BandState::Unusable, pages),
            Role::Open => match (self.collection, self.frontier) {
                (Some(collection), _) if collection.is_from(unit) => (BandState::Victim, pages),
                (Some(collection), _) if collection.is_to(unit) => (BandState::Copying, self.copied.len() as u32),
                (_, Some(frontier)) if frontier.unit == unit => (BandState::Open, frontier.written),
                _ => (BandState::Open, pages),
            },
        }
    }
}
