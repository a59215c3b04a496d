//! What goes wrong with images under a volume, before and beside what the explorer itself finds.

use imbrex::layers::ConfigError;
use imbrex::perform::Failure;

use crate::image::ImageError;
use crate::volume::VolumeError;

/// Why images under a volume cannot be made, opened or used.
#[derive(Debug, thiserror::Error)]
pub enum ImagesError {
    /// The layer has no configuration that can be drawn.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A drive cannot be emulated, or a file holds no image.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The volume cannot be opened or served.
    #[error(transparent)]
    Volume(#[from] VolumeError),
    /// No drive that was drawn is large enough: why the last one is not.
    #[error("no drive is large enough: {0}")]
    TooSmall(String),
    /// Formatting fails on drives that were drawn, for another reason than their size.
    #[error("formatting failed: {source}; {drives}")]
    Drawn {
        /// Why it fails.
        source: VolumeError,
        /// The layer and the drives.
        drives: String,
    },
    /// Formatting fails on the drives of a run.
    #[error("formatting failed: {0}")]
    Format(#[source] VolumeError),
    /// A request to a volume fails that is served without faults.
    #[error("a {request} fails: {source}")]
    Request {
        /// The request: a write or a flush.
        request: &'static str,
        /// How it fails.
        source: Failure,
    },
    /// An interrupted format leaves a volume that opens and is not whole.
    #[error("after an interrupted format the volume opens, and {0}")]
    NotWhole(String),
}
