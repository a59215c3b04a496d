//! The translation layers, a folder for each in the folder of its family, and how one is found by its name.
//!
//! [`ALL`] are the layers that Imbrex comes with. A program [`add`]s its own, and from then on they are found by name
//! like the others.
#![forbid(unsafe_code)]

// What is derived names the library as others know it.
extern crate imbrex_core as imbrex;

mod added;
pub mod banded;
pub mod below;
pub mod conventional;
pub mod fields;
pub mod hybrid;
pub mod interlaced;
pub mod live_defaults;
pub mod parts;
pub mod shingled;
pub mod ssd;
mod zone_buffer;

pub use fields::READ_ALLOCATE;
pub use imbrex_core::config::{ConfigError, Field};
pub use imbrex_core::info::{Family, LayerInfo, Make};

/// Every layer that Imbrex comes with, in the order in which it is listed: the baseline, and those of each family.
pub static ALL: &[LayerInfo] = &joined::<{ count() }>();

/// The families' lists of layers, in the order in which they are shown.
const FAMILIES: [&[LayerInfo]; 6] =
    [&[conventional::INFO], shingled::LAYERS, banded::LAYERS, interlaced::LAYERS, hybrid::LAYERS, ssd::LAYERS];

const fn count() -> usize {
    let (mut layers, mut family) = (0, 0);
    while family < FAMILIES.len() {
        layers += FAMILIES[family].len();
        family += 1;
    }
    layers
}

const fn joined<const N: usize>() -> [LayerInfo; N] {
    let mut all = [conventional::INFO; N];
    let (mut at, mut family) = (0, 0);
    while family < FAMILIES.len() {
        let mut layer = 0;
        while layer < FAMILIES[family].len() {
            all[at] = FAMILIES[family][layer];
            (at, layer) = (at + 1, layer + 1);
        }
        family += 1;
    }
    all
}

/// Every layer there is: [`ALL`], and behind them those that were added, in that order.
pub fn known() -> impl Iterator<Item = &'static LayerInfo> {
    ALL.iter().chain(added::all())
}

/// Adds a layer of another crate to those there are.
///
/// # Errors
/// [`ConfigError::Taken`] if there is a layer of that name.
pub fn add(info: &'static LayerInfo) -> Result<(), ConfigError> {
    let is_own = ALL.iter().any(|other| other.name == info.name);
    if is_own || !added::add(info) {
        return Err(ConfigError::Taken { name: info.name });
    }
    Ok(())
}

/// The layer called `name`.
///
/// # Errors
/// [`ConfigError::Unknown`] names the ones there are.
pub fn find(name: &str) -> Result<&'static LayerInfo, ConfigError> {
    known().find(|info| info.name == name).ok_or_else(|| ConfigError::Unknown {
        name: name.to_owned(),
        known: known().map(|info| info.name).collect::<Vec<_>>().join(", "),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// One of another crate.
    const OTHER: LayerInfo = LayerInfo { name: "of-another-crate", ..conventional::INFO };

    #[test]
    fn a_layer_that_is_added_is_found_and_keeps_its_name() {
        assert!(matches!(find(OTHER.name), Err(ConfigError::Unknown { .. })));
        add(&OTHER).unwrap();
        assert_eq!(find(OTHER.name).unwrap().name, OTHER.name);
        assert_eq!(known().last().unwrap().name, OTHER.name);
        let ConfigError::Unknown { known, .. } = find("nobody").map(drop).unwrap_err() else { panic!("it is there") };
        assert!(known.ends_with(", of-another-crate"), "{known}");
        for taken in [&OTHER, find("sac").unwrap()] {
            assert_eq!(add(taken), Err(ConfigError::Taken { name: taken.name }));
        }
    }
}
