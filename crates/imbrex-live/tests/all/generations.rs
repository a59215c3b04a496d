//! Members of a volume that are older copies of themselves, and power cuts while generations are written.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use bytes::Bytes;
use imbrex::block::{Extent, Pba};
use imbrex::drive::DrivePreset;
use imbrex::layer::UnitReport;
use imbrex::layers;
use imbrex::media::Media;
use imbrex::plan::Unit;
use imbrex::recording::Recording;
use imbrex_live::service::{Service, ServiceOptions};
use imbrex_live::store::{Store, StoreError};
use imbrex_live::store_path;
use imbrex_live::volume::{self, FormatOptions, Members, Volume};

/// A cache in front of a disk of bands.
fn formatted(folder: &Path) -> Vec<PathBuf> {
    let drive = |name: &str, mib: u64| DrivePreset::named(name).unwrap().with_capacity(mib << 20).unwrap();
    let (mut paths, mut members) = (Vec::new(), Vec::new());
    for (name, preset) in [("flash.img", drive("ssd-pore", 128)), ("disk.img", drive("small-banded", 64))] {
        let path = folder.join(name);
        let mut prepared = store_path::prepare(&path, Some(&preset), false).unwrap();
        prepared.make().unwrap();
        members.push(prepared.store());
        prepared.keep();
        paths.push(path);
    }
    let (layer, config) = (layers::find("lru-cache").unwrap(), toml::Table::new());
    volume::format(
        members,
        &FormatOptions { layer, config: &config, buffer: None, journal_blocks: None, map_memory: None },
    )
    .unwrap();
    paths
}

fn opened(stores: &[PathBuf]) -> Result<Volume, String> {
    let members = stores.iter().map(|path| store_path::open(path).unwrap()).collect();
    Volume::open(members).map_err(|e| e.to_string())
}

/// Serves the volume for a write; `during` is called while it is served.
fn serve(stores: &[PathBuf], byte: u8, during: impl FnOnce()) {
    let service = Service::start(&ServiceOptions { stores: stores.to_vec(), ..Default::default() }).unwrap();
    service.engine().write_bytes(0, 0, &[byte; 4096]).unwrap();
    service.engine().flush(0).unwrap();
    during();
    service.stop().unwrap();
}

#[test]
fn an_older_copy_of_either_member_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let stores = formatted(folder.path());
    let copy = |name: &str| {
        let copies: Vec<PathBuf> = stores.iter().map(|store| store.with_extension(name)).collect();
        for (store, copy) in stores.iter().zip(&copies) {
            std::fs::copy(store, copy).unwrap();
        }
        copies
    };
    let formatted = copy("formatted");
    serve(&stores, 1, || {});
    let once = copy("once");
    let mut live = Vec::new();
    serve(&stores, 2, || live = copy("live"));
    for old in [&formatted, &once, &live] {
        for member in 0..2 {
            let mut mixed = stores.clone();
            mixed[member] = old[member].clone();
            let refused = opened(&mixed).err().unwrap();
            assert!(refused.contains(&format!("member {} is an older copy", member + 1)), "{refused}");
        }
        assert!(opened(old).is_ok(), "a copy of all members is a volume of its time");
    }
    serve(&stores, 3, || {});
}

/// A store that can be written so often, and then no more.
struct Cut {
    below: Arc<dyn Store>,
    left: Arc<AtomicI64>,
}

impl Cut {
    fn take(&self) -> Result<(), StoreError> {
        let gone = || StoreError::Io { doing: "writing".to_owned(), source: std::io::ErrorKind::BrokenPipe.into() };
        if self.left.fetch_sub(1, Ordering::Relaxed) > 0 { Ok(()) } else { Err(gone()) }
    }
}

impl Store for Cut {
    fn block_bytes(&self) -> u32 {
        self.below.block_bytes()
    }

    fn recording(&self) -> Recording {
        self.below.recording()
    }

    fn media(&self) -> Box<dyn Media> {
        self.below.media()
    }

    fn read(&self, at: Extent<Pba>) -> Result<Bytes, StoreError> {
        self.below.read(at)
    }

    fn write(&self, at: Extent<Pba>, content: &Bytes) -> Result<(), StoreError> {
        self.take()?;
        self.below.write(at, content)
    }

    fn reset(&self, unit: Unit) -> Result<(), StoreError> {
        self.take()?;
        self.below.reset(unit)
    }

    fn flush(&self) -> Result<(), StoreError> {
        self.below.flush()
    }

    fn report(&self) -> Result<UnitReport, StoreError> {
        self.below.report()
    }
}

#[test]
fn a_volume_opens_wherever_the_power_fails_while_it_changes_hands() {
    let folder = tempfile::tempdir().unwrap();
    let stores = formatted(folder.path());
    let mut cuts = 0;
    loop {
        let Volume { members, mut superblocks, .. } = opened(&stores).unwrap();
        let left = Arc::new(AtomicI64::new(cuts));
        let cut = |below| Arc::new(Cut { below, left: Arc::clone(&left) }) as Arc<dyn Store>;
        let members: Members = members.into_iter().map(cut).collect();
        if volume::advance(&members, &mut superblocks).is_ok() {
            break;
        }
        drop(members);
        opened(&stores).unwrap();
        cuts += 1;
    }
    assert!(cuts >= 8, "{cuts} cuts: two copies of two members are written twice");
    serve(&stores, 1, || {});
}
