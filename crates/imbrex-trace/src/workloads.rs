//! Workloads by name: those built in, profiles of published volumes, specifications in TOML, trace files.

use std::fs;
use std::path::Path;

use super::profiles::Profile;
use super::synthetic::SyntheticSpec;
use super::{TraceError, Workload};

/// A synthetic workload that needs no file. Its text is the example to start one's own from.
#[derive(Copy, Clone, Debug)]
pub struct BuiltIn {
    /// Its name, as `spec().name`.
    pub name: &'static str,
    /// Its specification in TOML.
    pub text: &'static str,
}

impl BuiltIn {
    /// Its specification.
    pub fn spec(&self) -> Result<SyntheticSpec, TraceError> {
        SyntheticSpec::parse(self.name, self.text)
    }
}

macro_rules! built_in {
    ($($name:literal),*) => {
        &[$(BuiltIn { name: $name, text: include_str!(concat!("../workloads/", $name, ".toml")) }),*]
    };
}

const BUILT_IN: &[BuiltIn] =
    built_in!["default", "uniform", "hot-cold", "zipf", "sequential", "raid-rebuild", "resilver", "scrub"];

/// The built-in workloads.
#[must_use]
pub fn built_in() -> &'static [BuiltIn] {
    BUILT_IN
}

impl Workload {
    /// What `name` names: a built-in workload or profile, a specification of either (a file ending in `.toml`; a
    /// profile has a table `published`) or else a trace file.
    pub fn named(name: &str) -> Result<Self, TraceError> {
        if let Some(built_in) = BUILT_IN.iter().find(|built_in| built_in.name == name) {
            return Ok(Self::Synthetic(built_in.spec()?));
        }
        if let Some(profile) = Profile::named(name) {
            return Ok(Self::Profile(Box::new(profile?)));
        }
        let path = Path::new(name);
        if path.extension().is_some_and(|extension| extension == "toml") {
            let text = fs::read_to_string(path).map_err(|cause| TraceError::Open { file: name.into(), cause })?;
            let is_profile = text.parse::<toml::Table>().is_ok_and(|table| table.contains_key("published"));
            return Ok(if is_profile {
                Self::Profile(Box::new(Profile::parse(name, &text)?))
            } else {
                Self::Synthetic(SyntheticSpec::parse(name, &text)?)
            });
        }
        if !path.exists() && path.components().count() == 1 && path.extension().is_none() {
            let names = BUILT_IN.iter().map(|built_in| built_in.name).chain(Profile::names());
            let built_in = names.collect::<Vec<_>>().join(", ");
            return Err(TraceError::UnknownWorkload { name: name.into(), built_in });
        }
        Ok(Self::File(path.to_path_buf().into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_workload_is_valid_and_named_as_its_file() {
        for built_in in built_in() {
            let spec = built_in.spec().unwrap();
            assert_eq!(spec.name, built_in.name);
            assert!(!spec.description.is_empty());
            assert!(Workload::Synthetic(spec).open().unwrap().info().is_synthetic());
        }
    }

    #[test]
    fn names_are_resolved() {
        assert!(matches!(Workload::named("zipf"), Ok(Workload::Synthetic(spec)) if spec.name == "zipf"));
        assert!(matches!(Workload::named("some/zipf"), Ok(Workload::File(_))));
        assert!(matches!(Workload::named("week.csv"), Ok(Workload::File(_))));
        let unknown = Workload::named("zipff").unwrap_err().to_string();
        assert!(unknown.contains("zipff") && unknown.contains("default, uniform"), "{unknown}");
        assert!(matches!(Workload::named("prxy_0"), Ok(Workload::Profile(profile)) if profile.name == "prxy_0"));
        assert!(unknown.contains("prxy_0"), "{unknown}");
        let missing = Workload::named("none.toml").unwrap_err().to_string();
        assert!(missing.starts_with("cannot open none.toml"), "{missing}");
    }
}
