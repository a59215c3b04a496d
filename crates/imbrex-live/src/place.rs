//! From a path that a user names to a store, with a lock that nobody else can have.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use imbrex::drive::DrivePreset;
use rustix::fs::{FlockOperation, flock};

use crate::backing::Backing;
use crate::block_device::BlockDevice;
use crate::direct::{DeviceError, DirectDevice};
use crate::image::{Image, ImageError};
use crate::signature;
use crate::store::Store;
use crate::zoned_device::{self, ZonedDevice};

/// Why a path is no store.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
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
    /// No drive was described for an image.
    #[error("{0} is no block device, so an image is made there; say of which drive with --drive")]
    NeedsDrive(PathBuf),
}

/// Opens the store at `path` for this program alone.
///
/// # Errors
/// When there is none, it is damaged, or somebody else has it.
pub fn open(path: &Path) -> Result<Arc<dyn Store>, PlaceError> {
    opened(path, File::options().read(true).write(true))
}

/// The same, for a program that will not write to it.
///
/// # Errors
/// As [`open`].
pub fn open_to_read(path: &Path) -> Result<Arc<dyn Store>, PlaceError> {
    opened(path, File::options().read(true))
}

fn opened(path: &Path, options: &fs::OpenOptions) -> Result<Arc<dyn Store>, PlaceError> {
    if is_device(path) {
        return device(path, options).map_err(|source| PlaceError::Device { path: path.to_owned(), source });
    }
    let (file, metadata) = locked(path, "open", options)?;
    if metadata.is_file() {
        let image = Image::open(file).map_err(|source| PlaceError::Image { path: path.to_owned(), source })?;
        return Ok(Arc::new(image));
    }
    Err(PlaceError::Kind(path.to_owned()))
}

/// Makes the store at `path` ready to be formatted: an image of the drive that `preset` describes, or a block device. What is
/// there already is destroyed only with `force`.
///
/// # Errors
/// When the path cannot be used so.
pub fn prepare(path: &Path, preset: Option<&DrivePreset>, force: bool) -> Result<Prepared, PlaceError> {
    match preset {
        None if is_device(path) => {
            if let Some(what) = found(path)?.filter(|_| !force) {
                return Err(PlaceError::Occupied { path: path.to_owned(), what });
            }
            Ok(Prepared { store: open(path)?, new: None })
        }
        Some(_) if is_device(path) => Err(PlaceError::IsDrive(path.to_owned())),
        None => Err(PlaceError::NeedsDrive(path.to_owned())),
        Some(preset) => image(path, preset, force),
    }
}

fn is_device(path: &Path) -> bool {
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
    store: Arc<dyn Store>,
    new: Option<PathBuf>,
}

impl Prepared {
    /// The store.
    #[must_use]
    pub fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store)
    }

    /// Leaves the file where it is.
    pub fn keep(mut self) {
        self.new = None;
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        if let Some(path) = &self.new {
            // The error that led here is the one to report.
            let _ = fs::remove_file(path);
        }
    }
}

fn image(path: &Path, preset: &DrivePreset, force: bool) -> Result<Prepared, PlaceError> {
    let of = |source| PlaceError::Image { path: path.to_owned(), source };
    let len = Image::<File>::len(preset).map_err(|e| of(e.into()))?;
    let is_new = !path.exists();
    let (file, metadata) = locked(path, "make", File::options().read(true).write(true).create(true).truncate(false))?;
    let new = is_new.then(|| path.to_owned());
    if !metadata.is_file() {
        return Err(PlaceError::Kind(path.to_owned()));
    }
    if metadata.len() > 0 && !force {
        let what = signature::find(&file).map_or_else(|| format!("{} bytes", metadata.len()), str::to_owned);
        return Err(PlaceError::Occupied { path: path.to_owned(), what });
    }
    let made = file.set_len(0).and_then(|()| file.set_len(len)).map_err(ImageError::from);
    let made = made.and_then(|()| Image::create(file, preset));
    match made {
        Ok(image) => Ok(Prepared { store: Arc::new(image), new }),
        Err(source) => {
            drop(new.map(fs::remove_file));
            Err(of(source))
        }
    }
}

/// What is on a block device, if it is something that is known.
fn found(path: &Path) -> Result<Option<String>, PlaceError> {
    let io = |source| PlaceError::Io { doing: "open", path: path.to_owned(), source };
    let file = File::open(path).map_err(io)?;
    Ok(signature::find(&file as &dyn Backing).map(str::to_owned))
}

/// Opens a file and locks it.
fn locked(path: &Path, doing: &'static str, options: &fs::OpenOptions) -> Result<(File, Metadata), PlaceError> {
    let io = |source| PlaceError::Io { doing, path: path.to_owned(), source };
    let file = options.open(path).map_err(io)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => return Err(PlaceError::InUse(path.to_owned())),
        Err(e) => return Err(io(e.into())),
    }
    let metadata = file.metadata().map_err(io)?;
    Ok((file, metadata))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn an_image_is_made_once_and_opened_by_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.img");
        let preset = DrivePreset::named("tiny-zoned").unwrap();
        drop(prepare(&path, Some(&preset), false).unwrap());
        assert!(!path.exists(), "what was not formatted is no image");
        prepare(&path, Some(&preset), false).unwrap().keep();
        let store = open(&path).unwrap();
        assert!(matches!(open(&path), Err(PlaceError::InUse(_))));
        drop(store);
        assert!(matches!(prepare(&path, Some(&preset), false), Err(PlaceError::Occupied { .. })));
        prepare(&path, Some(&preset), true).unwrap().keep();
        assert!(matches!(prepare(&path, None, true), Err(PlaceError::NeedsDrive(_))));
        assert!(matches!(open(folder.path()), Err(PlaceError::Io { .. })));
    }
}
