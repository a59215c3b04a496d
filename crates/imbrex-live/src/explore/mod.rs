//! The crash explorer on images: everything between the runner and the sectors of a file is the code that serves.
//!
//! The image is made and formatted as a user would have it done, on a file in memory with a volatile cache. A power cut
//! drops image and volume; what is opened anew is what the sectors say. Formatting and mending are cut too, and one of
//! the two copies of all metadata is damaged as the run goes on.

mod ground;
mod hostile;
mod old_volume;
mod parts;
mod volatile;

use std::sync::Arc;

use imbrex::explore::{Dice, Ground, Subject};
use imbrex::layers::LayerInfo;

pub use ground::Images;
pub use hostile::open_hostile;
pub use parts::Part;
pub use volatile::{Ends, Volatile};

/// A layer on images.
#[must_use]
pub fn on_images(info: &'static LayerInfo) -> Subject {
    let ground = move |rules, dice: &mut Dice| -> Result<Box<dyn Ground>, String> {
        Ok(Box::new(Images::draw(info, rules, dice)?))
    };
    Subject { name: format!("{} on images", info.name), ground: Arc::new(ground) }
}
