//! What a specification and a row look like, as JSON Schema.

#[cfg(test)]
mod tests;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;

use crate::row::Row;
use crate::specification::Specification;

/// The schemas of what goes into a run and of what comes of it.
#[derive(Serialize)]
pub struct Schemas {
    /// Of a [`Specification`].
    pub specification: Schema,
    /// Of a [`Row`].
    pub row: Schema,
}

/// The schemas of a specification and of a row.
#[must_use]
pub fn schema() -> Schemas {
    let settings = SchemaSettings::draft2020_12;
    Schemas {
        specification: of::<Specification>(settings().for_deserialize()),
        row: of::<Row>(settings().for_serialize()),
    }
}

fn of<T: JsonSchema>(settings: SchemaSettings) -> Schema {
    settings.into_generator().into_root_schema_for::<T>()
}
