//! From a path that a user names to a store, with a lock that no other program can take.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use imbrex::drive::DrivePreset;
use imbrex::plan::Unit;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::backing::Backing;
use crate::block_device::BlockDevice;
use crate::direct::{DeviceError, DirectDevice};
use crate::image::{Image, ImageError};
use crate::patience::until_free;
use crate::signature;
use crate::store::Store;
use crate::volume;
use crate::zoned_device::{self, ZonedDevice};

/// Why a path is no store.
#[derive(Debug, thiserror::Error)]
pub enum StorePathError {
    /// It cannot be opened, made or locked.
    #[error("cannot {doing} {path}: {source}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// The path.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// Another program has it.
    #[error("{0} is in use: another program has locked it, perhaps one that serves it")]
    InUse(PathBuf),
    /// It is neither a regular file nor a block device.
    #[error("{0} is neither an image nor a block device")]
    Kind(PathBuf),
    /// The file holds no usable image.
    #[error("{path}: {source}")]
    Image {
        /// The path.
        path: PathBuf,
        /// Why not.
        source: ImageError,
    },
    /// The block device cannot be used.
    #[error("{path}: {source}")]
    Device {
        /// The path.
        path: PathBuf,
        /// Why not.
        source: DeviceError,
    },
    /// Something is there that would be lost.
    #[error("{path} holds {what}; add --force to destroy it")]
    Occupied {
        /// The path.
        path: PathBuf,
        /// What is there.
        what: String,
    },
    /// A drive was described for something that is one.
    #[error("{0} is a drive itself; leave --drive and --capacity out")]
    IsDrive(PathBuf),
    /// It is to be served at the pace of a drive that it does not emulate.
    #[error("{0} is a drive itself, with a pace of its own; leave --pace drive out")]
    HasPace(PathBuf),
    /// No drive was described for an image.
    #[error("{0} is no block device, so an image is made there; say of which drive with --drive")]
    NeedsDrive(PathBuf),
}

/// Opens the store at `path` for this program alone.
///
/// # Errors
/// When there is none, it is damaged, or another program has it.
pub fn open(path: &Path) -> Result<Arc<dyn Store>, StorePathError> {
    opened(path, File::options().read(true).write(true))
}

/// Opens the store at `path` for a program that will not write to it.
///
/// # Errors
/// As for [`open`].
pub fn open_to_read(path: &Path) -> Result<Arc<dyn Store>, StorePathError> {
    opened(path, File::options().read(true))
}

fn opened(path: &Path, options: &fs::OpenOptions) -> Result<Arc<dyn Store>, StorePathError> {
    if is_device(path) {
        return device(path, options).map_err(|source| StorePathError::Device { path: path.to_owned(), source });
    }
    let (file, _) = locked(path, "open", options)?;
    let image = Image::open(file).map_err(|source| StorePathError::Image { path: path.to_owned(), source })?;
    Ok(Arc::new(image))
}

/// Locks the store at `path`, which is to be formatted: an image of the drive that `preset` describes, or a block
/// device. What is there already may be destroyed only with `force`, and is not before [`Prepared::make`].
///
/// # Errors
/// When the path cannot be used so.
pub fn prepare(path: &Path, preset: Option<&DrivePreset>, force: bool) -> Result<Prepared, StorePathError> {
    match preset {
        None if is_device(path) => {
            let store = open(path)?;
            if let Some(what) = found(path, store.as_ref())?.filter(|_| !force) {
                return Err(StorePathError::Occupied { path: path.to_owned(), what });
            }
            Ok(Prepared { path: path.to_owned(), store, file: None, is_new: false })
        }
        Some(_) if is_device(path) => Err(StorePathError::IsDrive(path.to_owned())),
        None => Err(StorePathError::NeedsDrive(path.to_owned())),
        Some(preset) => image(path, preset, force),
    }
}

/// Whether there is a block device at `path`.
#[must_use]
pub fn is_device(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_block_device())
}

/// A block device of this machine, with zones or without.
fn device(path: &Path, options: &fs::OpenOptions) -> Result<Arc<dyn Store>, DeviceError> {
    let device = DirectDevice::open(path, options)?;
    Ok(if zoned_device::is_zoned(&device)? {
        Arc::new(ZonedDevice::new(device)?)
    } else {
        Arc::new(BlockDevice::new(device)?)
    })
}

/// A store that is about to be formatted. A file that was not there before is removed again unless it is kept.
pub struct Prepared {
    path: PathBuf,
    store: Arc<dyn Store>,
    /// The file and the drive to make an image of, until that is done.
    file: Option<(File, DrivePreset)>,
    is_new: bool,
}

impl Prepared {
    /// The store; for a file before it is made, a drive that keeps nothing.
    #[must_use]
    pub fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store)
    }

    /// Makes the image, where it is to be one. What was in the file is gone.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn make(&mut self) -> Result<(), StorePathError> {
        let Some((file, preset)) = self.file.take() else { return Ok(()) };
        let of = |source| StorePathError::Image { path: self.path.clone(), source };
        let len = Image::<File>::len(&preset).map_err(|e| of(e.into()))?;
        file.set_len(0).and_then(|()| file.set_len(len)).map_err(|e| match e.kind() {
            io::ErrorKind::FileTooLarge => of(ImageError::TooLong(len)),
            _ => of(e.into()),
        })?;
        self.store = Arc::new(Image::create(file, &preset).map_err(of)?);
        Ok(())
    }

    /// Leaves the file where it is.
    pub fn keep(mut self) {
        self.is_new = false;
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        if self.is_new {
            // The error that led here is the one to report.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn image(path: &Path, preset: &DrivePreset, force: bool) -> Result<Prepared, StorePathError> {
    let draft = Image::draft(preset).map_err(|source| StorePathError::Image { path: path.to_owned(), source })?;
    let is_new = !path.exists();
    // What a disk holds is its owner's.
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let (file, metadata) = locked(path, "make", &options)?;
    if metadata.len() > 0 && !force {
        let what = signature::find(&file, &[]).ok().flatten();
        let what = what.map_or_else(|| format!("{} bytes", metadata.len()), str::to_owned);
        return Err(StorePathError::Occupied { path: path.to_owned(), what });
    }
    let file = Some((file, preset.clone()));
    Ok(Prepared { path: path.to_owned(), store: Arc::new(draft), file, is_new })
}

/// What is on a block device, if it is something that is known or cannot be read.
fn found(path: &Path, store: &dyn Store) -> Result<Option<String>, StorePathError> {
    let io = |source| StorePathError::Io { doing: "open", path: path.to_owned(), source };
    let file = File::open(path).map_err(io)?;
    let media = store.media();
    let second = Unit::disk(1);
    let zones =
        media.has_pointer(second).then(|| media.extent_of(second).start.block() * u64::from(store.block_bytes()));
    let known = signature::find(&file as &dyn Backing, zones.as_slice());
    Ok(match known {
        Ok(Some(what)) => Some(what.to_owned()),
        Ok(None) => volume::bears_superblock(store).then(|| "an Imbrex volume".to_owned()),
        Err(e) => Some(format!("something that cannot be read ({e})")),
    })
}

/// Opens a file and locks it.
fn locked(path: &Path, doing: &'static str, options: &fs::OpenOptions) -> Result<(File, Metadata), StorePathError> {
    let io = |source| StorePathError::Io { doing, path: path.to_owned(), source };
    // Anything else might let this wait for ever, as a FIFO does that nobody writes to.
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(StorePathError::Kind(path.to_owned()));
    }
    let file = options.open(path).map_err(io)?;
    until_free(|e| *e == Errno::WOULDBLOCK, || flock(&file, FlockOperation::NonBlockingLockExclusive)).map_err(
        |e| match e {
            Errno::WOULDBLOCK => StorePathError::InUse(path.to_owned()),
            e => io(e.into()),
        },
    )?;
    let metadata = file.metadata().map_err(io)?;
    Ok((file, metadata))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_is_neither_file_nor_device_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let preset = DrivePreset::named("tiny-zoned").unwrap();
        for path in [fifo.as_path(), folder.path()] {
            assert!(matches!(open(path), Err(StorePathError::Kind(_))));
            assert!(matches!(open_to_read(path), Err(StorePathError::Kind(_))));
            assert!(matches!(prepare(path, Some(&preset), true).map(drop), Err(StorePathError::Kind(_))));
        }
    }

    #[test]
    fn an_image_is_made_once_and_opened_by_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.img");
        let preset = DrivePreset::named("tiny-zoned").unwrap();
        drop(prepare(&path, Some(&preset), false).unwrap());
        assert!(!path.exists(), "what was not formatted is no image");
        let make = |force| {
            let mut prepared = prepare(&path, Some(&preset), force)?;
            prepared.make()?;
            prepared.keep();
            Ok(())
        };
        make(false).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let store = open(&path).unwrap();
        assert!(matches!(open(&path), Err(StorePathError::InUse(_))));
        assert!(matches!(make(true), Err(StorePathError::InUse(_))));
        std::thread::scope(|scope| {
            // A program that is ending lets go late, too.
            scope.spawn(move || {
                std::thread::sleep(std::time::Duration::from_millis(100));
                drop(store);
            });
            assert!(open(&path).is_ok());
        });
        assert!(matches!(make(false), Err(StorePathError::Occupied { .. })));
        let before = fs::read(&path).unwrap();
        drop(prepare(&path, Some(&preset), true).unwrap());
        assert_eq!(fs::read(&path).unwrap(), before, "what is not made destroys nothing");
        make(true).unwrap();
        assert!(matches!(prepare(&path, None, true), Err(StorePathError::NeedsDrive(_))));
    }
}
