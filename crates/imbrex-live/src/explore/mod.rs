//! The crash explorer on images: everything between the runner and the sectors of a file is the code that serves.
//!
//! The image is made and formatted as a user would have it done, on a file in memory with a volatile cache. A power cut
//! drops image and volume; what is opened anew is what the sectors say. Formatting and mending are cut too, and one of
//! the two copies of all metadata is damaged as the run goes on.

mod drawing;
mod error;
mod hostile;
mod images;
mod old_volume;
mod parts;
mod rot;
mod rotting;
mod sums;
mod volatile;

use std::sync::Arc;

use imbrex::explore::{Devices, DevicesError, Dice, Subject};
use imbrex::layers::LayerInfo;

pub use error::ImagesError;
pub use hostile::open_hostile;
pub use images::Images;
pub use parts::Part;
pub use sums::Sums;
pub use volatile::{Ends, Volatile};

/// A layer on images.
#[must_use]
pub fn on_images(info: &'static LayerInfo) -> Subject {
    with_sums(info, Sums::None)
}

/// A layer on images with checksums, in which bytes change without a write.
#[must_use]
pub fn with_sums(info: &'static LayerInfo, sums: Sums) -> Subject {
    paged(info, sums, None)
}

/// A layer on images, with so many pages of its map in memory and the rest on the drive, if it says how many.
#[must_use]
pub fn paged(info: &'static LayerInfo, sums: Sums, map_pages: Option<u32>) -> Subject {
    let devices = move |rules, dice: &mut Dice| -> Result<Box<dyn Devices>, DevicesError> {
        Ok(Box::new(Images::draw_paged(info, rules, sums, map_pages, dice)?))
    };
    let checksums = if sums == Sums::None { "" } else { " with checksums" };
    let map = map_pages.map_or(String::new(), |pages| format!(" with {pages} pages of its map in memory"));
    Subject { name: format!("{} on images{checksums}{map}", info.name), devices: Arc::new(devices) }
}
