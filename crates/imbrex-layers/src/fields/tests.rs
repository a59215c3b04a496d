//! The fields of all layers: what they list is true.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::{ALL, ConfigError, Field, LayerInfo, find};
use imbrex_core::block::Pba;
use imbrex_core::media::Conventional;
use imbrex_core::samples::{ample_space, sampled};
use imbrex_core::space::Space;

#[test]
fn every_layer_names_a_field_that_it_does_not_know() {
    let space = Space::of(&Conventional::new(Pba::DISK, 100), 10);
    let config = toml::toml! { no_such_field = 1 };
    for info in ALL {
        let Err(ConfigError::Field { layer, reason }) = info.build(&space, &config) else {
            panic!("{} takes it", info.name);
        };
        assert_eq!(layer, info.name);
        assert!(reason.starts_with("there is no field no_such_field; "), "{layer}: {reason}");
        assert!(info.fields.iter().all(|field| reason.contains(field.key)), "{layer}: {reason}");
    }
}

const fn field(key: &'static str, samples: &'static [&'static str]) -> Field {
    Field { key, default: "", meaning: "", samples, paper: None }
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
fn every_layer_can_be_made_as_its_paper_has_it() {
    let made = |info: &LayerInfo, config: toml::Table| info.build(&ample_space(), &config).map(|layer| layer.facts());
    for info in ALL {
        let of_paper = info.fields.iter().filter_map(|field| Some((field.key, field.paper?)));
        let one_by_one: String = of_paper.map(|(key, value)| format!("{key} = {value}\n")).collect();
        let by_name = made(info, toml::toml! { preset = "paper" }).unwrap();
        assert_eq!(by_name, made(info, one_by_one.parse().unwrap()).unwrap(), "{}", info.name);
        let refused = made(info, toml::toml! { preset = "other" }).unwrap_err().to_string();
        assert_eq!(refused, format!("layer {}: there is no preset \"other\"; known is \"paper\"", info.name));
    }
    let facts = |config: &str| made(find("log-greedy").unwrap(), config.parse().unwrap()).unwrap();
    assert_ne!(facts("preset = \"paper\""), facts(""));
    assert_eq!(facts("preset = \"paper\"\nbuffer_bands = 0").ram_blocks, facts("spare_bands = 0").ram_blocks);
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
fn a_sample_that_does_not_suit_the_fields_before_it_is_left_out() {
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
