//! Configurations made of samples: what the crash explorer and the property tests try layers in.

use crate::bands::{BandRun, Bands};
use crate::block::Pba;
use crate::config::{ConfigError, Field};
use crate::plan::Unit;
use crate::space::{Home, RealmTimes, Realms, Space, Zones};
use crate::tracks::{Overlap, Tracks};

/// A configuration of `layer`: for each of its fields the sample that `choose` takes, or the default where it takes
/// none.
///
/// `suits` says whether a configuration will do, and fails if the layer refuses it. Fields are gone through in their
/// order. A sample that will not do beside those before it, because it contradicts them or for any other reason of the
/// caller's, is left out, and its field has the default.
///
/// # Errors
/// [`ConfigError::Sample`] names a sample that is no value, or that the layer refuses even alone.
pub fn sampled<'f>(
    layer: &str,
    fields: &'f [Field],
    mut choose: impl FnMut(&'f Field) -> Option<&'f str>,
    suits: impl Fn(&toml::Table) -> Result<bool, ConfigError>,
) -> Result<toml::Table, ConfigError> {
    let mut chosen = Vec::new();
    for field in fields {
        if let Some(sample) = choose(field) {
            chosen.push((field, sample, value(layer, field, sample)?));
        }
    }
    let table = |values: &[(&Field, &str, toml::Value)]| -> toml::Table {
        values.iter().map(|(field, _, value)| (field.key.to_owned(), value.clone())).collect()
    };
    let all = table(&chosen);
    if suits(&all) == Ok(true) {
        return Ok(all);
    }
    let mut config = toml::Table::new();
    for one in &chosen {
        let own = table(std::slice::from_ref(one));
        suits(&own).map_err(|e| wrong(layer, one.0, one.1, &e))?;
        let more: toml::Table = config.clone().into_iter().chain(own).collect();
        if suits(&more) == Ok(true) {
            config = more;
        }
    }
    Ok(config)
}

fn value(layer: &str, field: &Field, sample: &str) -> Result<toml::Value, ConfigError> {
    let table = toml::from_str::<toml::Table>(&format!("value = {sample}"));
    let mut table = table.map_err(|e| wrong(layer, field, sample, &e.message()))?;
    match (table.remove("value"), table.is_empty()) {
        (Some(value), true) => Ok(value),
        _ => Err(wrong(layer, field, sample, &"it is more than a value")),
    }
}

fn wrong(layer: &str, field: &Field, sample: &str, why: &dyn std::fmt::Display) -> ConfigError {
    ConfigError::Sample {
        layer: layer.to_owned(),
        field: field.key,
        sample: sample.to_owned(),
        reason: why.to_string(),
    }
}

/// A small space with something of everything: any layer fits on it in any configuration of its samples, so what it
/// says there of a configuration depends on no drive.
#[must_use]
pub fn ample_space() -> Space {
    let (zone_blocks, conventional_zones) = (32, 24);
    let conventional_blocks = u64::from(zone_blocks * conventional_zones);
    let bands = [BandRun { bands: 8, band_blocks: 40 }, BandRun { bands: 8, band_blocks: 30 }];
    let tracks = Tracks {
        conventional_tracks: 2,
        groups: 2,
        bottom_tracks: 5,
        top_tracks: 4,
        bottom_blocks: 20,
        top_blocks: 16,
        skew_blocks: 3,
        overlap: Overlap::Angle,
    };
    Space {
        conventional: Pba::disk(0),
        conventional_blocks,
        zones: Some(Zones { first: Unit::disk(conventional_zones), count: 64, zone_blocks }),
        bands: Some(Bands::new(Unit::disk(0), conventional_blocks, &bands)),
        tracks: Some(tracks),
        realms: Some(Realms {
            first: Unit::disk(conventional_zones),
            count: 12,
            conventional_zones: 2,
            sequential_zones: 3,
            zone_blocks,
            times: RealmTimes {
                positioning_ns: 25_000_000,
                block_ns: 50_000,
                turn_ns: 8_000_000,
                activation_ns: 50_000_000,
            },
        }),
        home: Some(Home::behind(1000)),
        buffer_blocks: 256,
        spares_ram: false,
        map_cache: None,
    }
}
