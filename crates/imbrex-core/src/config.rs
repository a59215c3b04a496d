//! The configuration of layers: what a field is, and how a struct states its fields.

pub mod derived;

pub use imbrex_derive::Configuration;

/// A configuration field of a layer.
#[derive(Copy, Clone)]
pub struct Field {
    /// The key.
    pub key: &'static str,
    /// The default, as it would be written.
    pub default: &'static str,
    /// What it does.
    pub meaning: &'static str,
    /// Values worth trying on tiny disks, as they would be written, for the crash explorer and the property tests; none
    /// if it is not to be varied. One with which the layer does not survive power loss is left to the latter.
    pub samples: &'static [&'static str],
    /// What the source of the layer has, as it would be written, where that is not the default everywhere.
    pub paper: Option<&'static str>,
}

/// The key that stands for fields of a layer which are set together: `preset = "paper"`.
pub const PRESET: &str = "preset";

/// The preset that sets every [`Field::paper`].
pub const PAPER: &str = "paper";

/// Why a layer cannot be made.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// There is no such layer.
    #[error("there is no layer '{name}'; known are {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A layer that is to be added has the name of another one.
    #[error("there is a layer '{name}' already; give yours another name")]
    Taken {
        /// The name.
        name: &'static str,
    },
    /// A field is unknown or has a wrong value.
    #[error("layer {layer}: {reason}")]
    Field {
        /// The layer.
        layer: &'static str,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// The drive does not give what the layer needs.
    #[error("layer {layer} does not fit the drive: {reason}")]
    Space {
        /// The layer.
        layer: &'static str,
        /// What is missing and how to provide it.
        reason: String,
    },
    /// A field lists a sample that is no value of it.
    #[error("layer {layer}, field {field}, sample {sample}: {reason}")]
    Sample {
        /// The layer.
        layer: String,
        /// The field's key.
        field: &'static str,
        /// The sample as it is listed.
        sample: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// What a layer can be set to, or a group of fields that several layers have.
///
/// It is derived for a struct that states each field once: the member's name is the key, its doc comment is the meaning,
/// and the attribute has the default and the samples as they are written in TOML. Members may be of any type that serde
/// reads. A group is a struct of its own, whose fields stand in the table where the group stands in the struct. One that
/// it is used `without` keeps its default. `paper` is what the source of the layer has, where a user is better off with
/// the default; a group may be used with others.
///
/// ```
/// # extern crate imbrex_core as imbrex;
/// use imbrex::config::Configuration;
///
/// #[derive(Debug, Configuration)]
/// struct Steps {
///     /// blocks one cleaning step moves at most
///     #[field(default = 4096, samples = [1, 3, 7, 64], paper = 1)]
///     step_blocks: u32,
///     /// reads may be served between the steps
///     #[field(default = true)]
///     interruptible: bool,
/// }
///
/// #[derive(Debug, Configuration)]
/// struct Config {
///     /// "log" or "band": the order in which blocks are read
///     #[field(default = "log", samples = ["log", "band"])]
///     gather: String,
///     #[field(flatten, without(interruptible), paper(step_blocks = 2))]
///     steps: Steps,
/// }
///
/// let keys: Vec<&str> = Config::FIELDS.iter().map(|field| field.key).collect();
/// assert_eq!(keys, ["gather", "step_blocks"]);
/// assert_eq!(Config::default().steps.step_blocks, 4096);
/// assert_eq!((Steps::FIELDS[0].paper, Config::FIELDS[1].paper), (Some("1"), Some("2")));
/// ```
pub trait Configuration: Default {
    /// The fields, in the order in which they are listed.
    const FIELDS: &'static [Field];

    /// Sets the field of a key. Says whether there is one.
    ///
    /// # Errors
    /// What is wrong with the value.
    fn set(&mut self, key: &str, value: &toml::Value) -> Result<bool, toml::de::Error>;
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::info::LayerInfo;
    use crate::recording::Recording;

    #[derive(PartialEq, Debug, serde::Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Order {
        FirstFit,
        Lowest,
    }

    #[derive(PartialEq, Debug, Configuration)]
    struct Outer {
        /// "first-fit" or "lowest":
        /// which slots are taken
        #[field(default = "lowest", samples = ["first-fit", "lowest"])]
        order: Order,
        #[field(flatten, without(limit), paper(below = {}))]
        inner: Inner,
        /// a part
        #[field(default = 0.25, samples = [1.0])]
        part: f64,
    }

    #[derive(PartialEq, Debug, Configuration)]
    struct Inner {
        /// blocks
        #[field(default = 70_000, paper = 5)]
        blocks: u32,
        /// a limit
        #[field(default = inf, samples = [0.5, inf])]
        limit: f64,
        #[field(flatten)]
        innermost: Part,
    }

    /// It has the name of something that the derived code uses.
    #[derive(PartialEq, Debug, Configuration)]
    struct Part {
        /// its fields
        #[field(default = {})]
        below: toml::Table,
    }

    const LAYER: LayerInfo = LayerInfo {
        name: "nested",
        family: None,
        source: "",
        summary: "",
        recording: Recording::Conventional,
        buffered: false,
        fields: Outer::FIELDS,
        make: &|_, _| unreachable!("nobody makes it"),
    };

    #[test]
    fn the_table_of_a_struct_is_what_its_members_say() {
        let said: Vec<_> = Outer::FIELDS.iter().map(|field| (field.key, field.default, field.meaning)).collect();
        let order = ("order", "\"lowest\"", "\"first-fit\" or \"lowest\": which slots are taken");
        let of_groups = [("blocks", "70000", "blocks"), ("below", "{}", "its fields")];
        assert_eq!(said, [order, of_groups[0], of_groups[1], ("part", "0.25", "a part")]);
        let samples: Vec<&[&str]> = Outer::FIELDS.iter().map(|field| field.samples).collect();
        assert_eq!(samples, [&["\"first-fit\"", "\"lowest\""] as &[&str], &[], &[], &["1.0"]]);
        assert_eq!(Inner::FIELDS[1].samples, ["0.5", "inf"]);
    }

    #[test]
    fn a_struct_is_by_default_what_its_table_says() {
        let written: String =
            Outer::FIELDS.iter().map(|field| format!("{} = {}\n", field.key, field.default)).collect();
        let innermost = Part { below: toml::Table::new() };
        let inner = Inner { blocks: 70_000, limit: f64::INFINITY, innermost };
        let outer = Outer { order: Order::Lowest, inner, part: 0.25 };
        assert_eq!(Outer::default(), outer);
        assert_eq!(LAYER.read::<Outer>(&toml::Table::new()), Ok(Outer::default()));
        assert_eq!(LAYER.read::<Outer>(&written.parse().unwrap()), Ok(outer));
    }

    #[test]
    fn what_a_struct_is_set_to_is_read_wherever_the_field_is() {
        let table = toml::toml! { order = "first-fit" blocks = 3 below = { a = 1 } };
        let set = LAYER.read::<Outer>(&table).unwrap();
        assert_eq!((set.order, set.inner.blocks, set.part), (Order::FirstFit, 3, 0.25));
        assert_eq!(set.inner.innermost.below, toml::toml! { a = 1 });
    }

    #[test]
    fn a_preset_is_what_the_paper_has_and_what_is_set_beside_it_goes_before() {
        let settled = |text: &str| LAYER.settled(&text.parse().unwrap()).map(std::borrow::Cow::into_owned);
        for (given, settled_as) in [
            ("part = 0.5", "part = 0.5"),
            ("preset = 'paper'", "blocks = 5\nbelow = {}"),
            ("preset = 'paper'\npart = 1.0\nblocks = 3", "blocks = 3\nbelow = {}\npart = 1.0"),
        ] {
            assert_eq!(settled(given), Ok(settled_as.parse().unwrap()), "{given}");
        }
        for wrong in ["\"papers\"", "true"] {
            let reason = format!("there is no preset {wrong}; known is \"paper\"");
            assert_eq!(settled(&format!("preset = {wrong}")), Err(ConfigError::Field { layer: "nested", reason }));
        }
    }

    #[test]
    fn an_unknown_key_and_a_wrong_value_are_refused() {
        let known = "known are order, blocks, below, part";
        for (text, reason) in [
            ("no_such = 1", format!("there is no field no_such; {known}")),
            ("limit = 1.0", format!("there is no field limit; {known}")),
            ("blocks = -1\nno_such = 1", format!("there is no field no_such; {known}")),
            ("blocks = -1", "blocks is -1: invalid value: integer `-1`, expected u32".to_owned()),
            ("below = 1", "below is 1: invalid type: integer `1`, expected a map".to_owned()),
            ("order = true", "order is true, and takes a text such as \"lowest\"".to_owned()),
            (
                "order = 'first'",
                "order is \"first\": unknown variant `first`, expected `first-fit` or `lowest`".to_owned(),
            ),
        ] {
            let refused = LAYER.read::<Outer>(&text.parse().unwrap());
            assert_eq!(refused, Err(ConfigError::Field { layer: "nested", reason }), "{text}");
        }
    }
}
