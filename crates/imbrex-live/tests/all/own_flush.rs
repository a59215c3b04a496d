//! Who asks for a flush has drives flushed by the thread that asks: a change of thread for it would take longer than
//! many drives do.

use std::fs::File;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use bytes::Bytes;
use imbrex::block::{Extent, Pba};
use imbrex::drive::DrivePreset;
use imbrex::layer::UnitReport;
use imbrex::layers;
use imbrex::media::Media;
use imbrex::plan::Unit;
use imbrex::recording::Recording;
use imbrex_live::engine::{Engine, EngineOptions};
use imbrex_live::image::Image;
use imbrex_live::store::{Store, StoreError};
use imbrex_live::volume::{FormatOptions, Volume, format};

const FLUSHES: usize = 50;

/// An image that knows who flushed it.
struct Watched {
    image: Image<File>,
    flushed_by: Mutex<Vec<ThreadId>>,
}

impl Store for Watched {
    fn block_bytes(&self) -> u32 {
        self.image.block_bytes()
    }

    fn recording(&self) -> Recording {
        self.image.recording()
    }

    fn media(&self) -> Box<dyn Media> {
        Store::media(&self.image)
    }

    fn read(&self, at: Extent<Pba>) -> Result<Bytes, StoreError> {
        self.image.read(at)
    }

    fn write(&self, at: Extent<Pba>, content: &Bytes) -> Result<(), StoreError> {
        self.image.write(at, content)
    }

    fn reset(&self, unit: Unit) -> Result<(), StoreError> {
        self.image.reset(unit)
    }

    fn flush(&self) -> Result<(), StoreError> {
        self.flushed_by.lock().unwrap().push(thread::current().id());
        self.image.flush()
    }

    fn report(&self) -> Result<UnitReport, StoreError> {
        self.image.report()
    }
}

#[test]
fn a_client_that_asks_for_a_flush_flushes_the_drive_itself() {
    let preset = DrivePreset::named("small-zoned").unwrap();
    let file = tempfile::tempfile().unwrap();
    file.set_len(Image::<File>::len(&preset).unwrap()).unwrap();
    let image = Image::create(file, &preset).unwrap();
    let store = Arc::new(Watched { image, flushed_by: Mutex::default() });
    let (layer, config) = (layers::find("fifo-log").unwrap(), toml::Table::new());
    format(
        vec![store.clone()],
        &FormatOptions { layer, config: &config, buffer: None, journal_blocks: None, map_memory: None },
    )
    .unwrap();
    let options = EngineOptions { idle_after: Duration::from_secs(3600), ..EngineOptions::default() };
    let engine = Engine::start(Volume::open(vec![store.clone()]).unwrap(), options).unwrap();
    engine.wait_until_serving().unwrap();
    store.flushed_by.lock().unwrap().clear();
    for write in 0..FLUSHES as u64 {
        engine.write_bytes(1, (1000 + write) << 12, &[1; 4096]).unwrap();
        engine.flush(1).unwrap();
    }
    let by: Vec<ThreadId> = store.flushed_by.lock().unwrap().clone();
    let own = by.iter().filter(|thread| **thread == thread::current().id()).count();
    // The journal's copies are written by two threads, and the second one to be done may go on with the flush.
    assert!(by.len() >= FLUSHES && own >= FLUSHES / 2, "{own} of {} flushes by who asked for them", by.len());
}
