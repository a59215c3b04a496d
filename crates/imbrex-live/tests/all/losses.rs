//! When a life of the layer has ended and acknowledged writes may be lost, that is reported: by a flush, or else
//! when the server is stopped.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use imbrex::block::{Extent, Pba};
use imbrex::drive::DrivePreset;
use imbrex::layer::UnitReport;
use imbrex::layers;
use imbrex::media::Media;
use imbrex::perform::Failure;
use imbrex::plan::Unit;
use imbrex::recording::Recording;
use imbrex_live::engine::{Engine, EngineOptions};
use imbrex_live::image::Image;
use imbrex_live::store::{Store, StoreError};
use imbrex_live::volume::{FormatOptions, Volume, format};

const BLOCK: usize = 4096;

/// An image of which the next write fails when it is told so.
struct Failing {
    image: Image<File>,
    fails: AtomicBool,
}

impl Store for Failing {
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
        if self.fails.swap(false, Ordering::Relaxed) {
            return Err(StoreError::Io {
                doing: format!("write {at:?}"),
                source: std::io::Error::other("made to fail"),
            });
        }
        self.image.write(at, content)
    }

    fn reset(&self, unit: Unit) -> Result<(), StoreError> {
        self.image.reset(unit)
    }

    fn flush(&self) -> Result<(), StoreError> {
        self.image.flush()
    }

    fn report(&self) -> Result<UnitReport, StoreError> {
        self.image.report()
    }
}

/// An engine with a layer on an image that can be made to fail.
fn serving(layer: &str, drive: &str) -> (Engine, Arc<Failing>) {
    let preset = DrivePreset::named(drive).unwrap().with_capacity(256 << 20).unwrap();
    let file = tempfile::tempfile().unwrap();
    file.set_len(Image::<File>::len(&preset).unwrap()).unwrap();
    let store = Arc::new(Failing { image: Image::create(file, &preset).unwrap(), fails: AtomicBool::new(false) });
    let (layer, config) = (layers::find(layer).unwrap(), toml::Table::new());
    format(
        vec![store.clone()],
        &FormatOptions { layer, config: &config, buffer: None, journal_blocks: None, map_memory: None },
    )
    .unwrap();
    let options = EngineOptions { idle_after: Duration::from_secs(3600), ..EngineOptions::default() };
    let engine = Engine::start(Volume::open(vec![store.clone()]).unwrap(), options).unwrap();
    engine.wait_until_serving().unwrap();
    (engine, store)
}

/// Has a write fail, which ends the layer's life.
fn end_life(engine: &Engine, store: &Failing) {
    store.fails.store(true, Ordering::Relaxed);
    assert_eq!(engine.write_bytes(1, 0, &[2; BLOCK]), Err(Failure::Io));
    engine.wait_until_serving().unwrap();
}

/// An engine that has acknowledged a write which is lost: the next one failed, and ended the layer's life.
fn after_a_loss() -> Engine {
    let (engine, store) = serving("conventional", "conventional-7200");
    engine.write_bytes(1, 0, &[1; BLOCK]).unwrap();
    end_life(&engine, &store);
    engine
}

/// Zeros that were trimmed are a write whose loss is reported; what was trimmed for nothing else is nobody's.
#[test]
fn zeros_are_lost_like_a_write_and_trims_like_nothing() {
    for (zeros, reported) in [(true, Err(Failure::Io)), (false, Ok(()))] {
        let (engine, store) = serving("log-greedy", "small-zoned");
        assert!(engine.zeros_are_fast());
        engine.write_bytes(1, 0, &[1; 8 * BLOCK]).unwrap();
        engine.flush(1).unwrap();
        let bytes = 8 * BLOCK as u64;
        if zeros { engine.zero_bytes(1, 0, bytes) } else { engine.trim_bytes(1, 0, bytes) }.unwrap();
        end_life(&engine, &store);
        assert_eq!(engine.flush(1), reported);
        assert_eq!(engine.flush(1), Ok(()));
    }
}

#[test]
fn a_stop_reports_a_loss_that_no_client_knows_of() {
    assert_eq!(after_a_loss().stop(), Err(Failure::Io));
}

#[test]
fn a_loss_is_reported_to_a_client_that_comes_back() {
    let engine = after_a_loss();
    engine.forget(1);
    assert_eq!(engine.flush(2), Err(Failure::Io));
    assert_eq!(engine.flush(2), Ok(()));
    assert_eq!(engine.stop(), Ok(()), "a client knows");
}

#[test]
fn a_write_that_is_durable_by_itself_reports_no_other() {
    let engine = after_a_loss();
    assert_eq!(engine.durably(1, || engine.write_bytes(1, 0, &[3; BLOCK])), Ok(()));
    assert_eq!(engine.flush(1), Err(Failure::Io));
    assert_eq!(engine.flush(1), Ok(()));
}
