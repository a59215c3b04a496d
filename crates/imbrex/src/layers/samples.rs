//! Configurations made of samples: what the crash explorer and the property tests try layers in.

use super::{ConfigError, Field};
use crate::bands::{BandRun, Bands};
use crate::block::Pba;
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
        home: Some(Home { start: Pba::new(Pba::DISK + 1, 0), blocks: 1000 }),
        buffer_blocks: 256,
        spares_ram: false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::layers::{ALL, LayerInfo, find};

    const fn field(key: &'static str, samples: &'static [&'static str]) -> Field {
        Field { key, default: "", meaning: "", samples }
    }

    /// The configuration of a layer in which every field has its last sample.
    fn last(layer: &LayerInfo, fields: &[Field]) -> Result<toml::Table, ConfigError> {
        let fits = |config: &toml::Table| layer.build(&ample_space(), config).map(|_| true);
        sampled(layer.name, fields, |field| field.samples.last().copied(), fits)
    }

    #[test]
    fn a_layer_takes_each_of_its_samples() {
        for info in ALL {
            for field in info.fields {
                for &sample in field.samples {
                    let alone = sampled(
                        info.name,
                        info.fields,
                        |other| (other.key == field.key).then_some(sample),
                        |config| info.build(&ample_space(), config).map(|_| true),
                    );
                    assert_eq!(alone.unwrap().len(), 1, "{}: {} = {sample}", info.name, field.key);
                }
            }
        }
    }

    #[test]
    fn a_wrong_sample_is_an_error_that_names_it() {
        let log = find("fifo-log").unwrap();
        for (key, sample, reason) in [
            ("at_pointer", "direct", "string"),
            ("at_pointer", "\"sideways\"", "sideways"),
            ("spare_zones", "1\nstep_blocks = 3", "more than a value"),
            ("idle_free", "1.5", "between 0 and 1"),
            ("spare_zones", "\"one\"", "one"),
            ("spare_zones", "99", "99 spare"),
            ("no_such_field", "1", "no_such_field"),
        ] {
            let samples: &'static [&'static str] = Box::leak(Box::new([sample]));
            let refused = last(log, &[field("clean_for", &["\"request\""]), field(key, samples)]).unwrap_err();
            let text = refused.to_string();
            assert!(text.starts_with(&format!("layer fifo-log, field {key}, sample {sample}: ")), "{text}");
            assert!(text.contains(reason), "{text}");
        }
    }

    #[test]
    fn what_does_not_suit_beside_the_fields_before_it_has_its_default() {
        let fields = [field("a", &["1"]), field("b", &["1"]), field("c", &["1"])];
        let not_together = |one: &'static str, other: &'static str| {
            move |config: &toml::Table| {
                if config.contains_key(one) && config.contains_key(other) {
                    return Err(ConfigError::Field { layer: "any", reason: "both".to_owned() });
                }
                Ok(true)
            }
        };
        let keys = |suits: &dyn Fn(&toml::Table) -> Result<bool, ConfigError>| {
            let config = sampled("any", &fields, |field| field.samples.first().copied(), suits).unwrap();
            config.keys().cloned().collect::<Vec<_>>()
        };
        assert_eq!(keys(&not_together("a", "b")), ["a", "c"]);
        assert_eq!(keys(&not_together("b", "c")), ["a", "b"]);
        assert_eq!(keys(&|config| Ok(!config.contains_key("a"))), ["b", "c"]);
        assert_eq!(keys(&|_| Ok(true)), ["a", "b", "c"]);
    }

    /// Crash tests want configurations that survive, the other tests all of them.
    #[test]
    fn samples_that_do_not_survive_power_loss_are_left_out_on_request() {
        let survives = |info: &LayerInfo, config: &toml::Table| {
            info.build(&ample_space(), config).map(|layer| layer.facts().loses_flushed.is_none())
        };
        let mut unsafe_layers = 0;
        for info in ALL {
            let mut is_left_out = false;
            for turn in 0..12 {
                let choose = |field: &'static Field| field.samples.get(turn % field.samples.len().max(1)).copied();
                let any = sampled(info.name, info.fields, choose, |_| Ok(true)).unwrap();
                let safe = sampled(info.name, info.fields, choose, |config| survives(info, config)).unwrap();
                assert_eq!(survives(info, &safe), Ok(true), "{}: {safe}", info.name);
                assert_eq!(safe == any, survives(info, &any) == Ok(true), "{}: {any}", info.name);
                is_left_out |= safe != any;
            }
            unsafe_layers += u32::from(is_left_out);
        }
        assert!(unsafe_layers > 3);
    }
}
