//! The recording of a served volume, as its files describe it.

use super::clock::now_ms;
use super::options::ServiceOptions;
use crate::engine::Engine;
use crate::record::{Origin, RecordError, Recorder};

/// Begins to record what the engine's layer is asked for, if that is wanted.
pub(super) fn begin(
    options: &ServiceOptions,
    engine: &Engine,
    layers: &[String],
    identity: u64,
) -> Result<Option<Recorder>, RecordError> {
    let Some(record) = options.recording() else { return Ok(None) };
    let block_bytes = engine.block_bytes();
    let notes = [
        ("volume", format!("{identity:016x}")),
        ("layers", layers.join(",")),
        ("capacity_bytes", (engine.capacity() * u64::from(block_bytes)).to_string()),
        ("block_bytes", block_bytes.to_string()),
        ("began_ms", now_ms().to_string()),
    ];
    let notes = notes.map(|(key, value)| (key.to_owned(), value)).into();
    let name = options.stores.first().map(|store| store.display().to_string()).unwrap_or_default();
    let recorder = Recorder::start(&record, Origin { name, notes }, block_bytes, options.restarted)?;
    engine.record(recorder.tape());
    Ok(Some(recorder))
}
