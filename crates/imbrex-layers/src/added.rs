//! Layers of other crates, which a program adds before it looks for one.

use std::sync::{PoisonError, RwLock};

use super::LayerInfo;

static ADDED: RwLock<Vec<&'static LayerInfo>> = RwLock::new(Vec::new());

/// The layers added so far, in that order.
pub(super) fn all() -> Vec<&'static LayerInfo> {
    ADDED.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Adds one, unless one of that name was added before.
pub(super) fn add(info: &'static LayerInfo) -> bool {
    let mut added = ADDED.write().unwrap_or_else(PoisonError::into_inner);
    let is_new = added.iter().all(|other| other.name != info.name);
    if is_new {
        added.push(info);
    }
    is_new
}
