use imbrex::drive::DrivePreset;
use imbrex::layers;
use imbrex::media::Media;
use imbrex::recording::Recording;
use imbrex::replay::{DiskStep, Observer, ReplayOptions, Setup, TraceMoment, replay};
use imbrex::trace::Workload;

use super::*;

/// The stories of a layer on a drive.
struct Stories {
    layer: &'static LayerInfo,
    told: Vec<Story>,
}

impl Observer for Stories {
    fn steps(&mut self, steps: &[DiskStep], media: &dyn Media) {
        self.told = [Story::of, Story::short].map(|tell| tell(steps, media, self.layer, 4096)).into();
    }
}

/// What a page and a picture tell.
fn stories(layer: &str, drive: &str) -> [Story; 2] {
    let layer = layers::find(layer).unwrap();
    let mut workload = Workload::named("default").unwrap();
    workload.set_requests(3000);
    let drive = DrivePreset::named(drive).unwrap();
    let config = toml::Table::new();
    let setup = Setup { drive: &drive, layer, config: &config, buffer: "2MiB".parse().unwrap(), workload: &workload };
    let beyond = imbrex::replay::Beyond::Wrap;
    let options = ReplayOptions { watch_disk: Some(TraceMoment::Requests(0)), beyond, ..ReplayOptions::default() };
    let mut stories = Stories { layer, told: Vec::new() };
    replay(&setup, &options, &mut stories).unwrap();
    stories.told.try_into().unwrap_or_else(|_| panic!("{} tells no story", layer.name))
}

/// The sentences that cleaning comes with, by their reasons.
fn said<'a>(story: &'a Story, why: &str) -> &'a str {
    &story.scenes.iter().find(|scene| scene.why == why).unwrap().says
}

#[test]
fn a_rewrite_is_told_in_words() {
    let [story, short] = stories("fifo-log", "small-zoned");
    assert!(story.scenes.iter().any(|scene| scene.says.ends_with("so it goes to the buffer.")));
    let collected = said(&story, "collect");
    assert!(
        collected.starts_with("The buffer is full, so request 178, a write, has to wait. Zone 49 is read into RAM")
    );
    assert!(said(&story, "destage").starts_with("The new image is written to zone 63, from its first block on: 1,024"));
    assert!(said(&story, "reset").starts_with("Zone 49 is reset: it is empty"));
    let sums = story.scenes.iter().filter(|scene| scene.says.contains(" In all, "));
    assert_eq!(sums.count(), story.scenes.iter().filter(|scene| scene.says.starts_with("The buffer is full")).count());
    assert_eq!(story.scenes[story.start + BEFORE].why, "collect");
    assert!(short.scenes.len() <= IN_PICTURE && short.rows.len() < story.rows.len());
}

#[test]
fn other_disks_have_other_words() {
    let [tracks, _] = stories("tracklace", "tiny-interlaced");
    assert!(said(&tracks, "host").contains("destroys"), "{}", said(&tracks, "host"));
    assert!(tracks.scenes.iter().flat_map(|scene| &scene.pieces).any(|piece| !piece.destroyed.is_empty()));
    let [bands, _] = stories("skylight", "small-banded");
    assert!(said(&bands, "collect").starts_with("The disk is idle, so the layer cleans. Band "));
    let [log, _] = stories("log-greedy", "small-zoned");
    assert!(said(&log, "migrate").starts_with("What is live is appended to band "));
    let [zones, _] = stories("in-place", "small-zoned");
    assert!(said(&zones, "collect").contains("in the middle of zone "));
    let [plain, _] = stories("conventional", "small-zoned");
    assert!(!plain.cleans && plain.scenes.len() == WITHOUT_CLEANING);
    assert_eq!(plain.rows.iter().map(|row| row.kind).collect::<Vec<_>>(), [Kind::Host, Kind::Place]);
}

#[test]
fn stories_stay_within_their_rows_and_their_bounds() {
    for layer in layers::known().filter(|layer| layer.recording != Recording::Cached) {
        let drive = match layer.recording {
            Recording::Interlaced => "tiny-interlaced",
            Recording::Banded => "small-banded",
            Recording::Hybrid => "small-hybrid",
            Recording::Flash => "tiny-flash",
            _ => "small-zoned",
        };
        for story in stories(layer.name, drive) {
            assert!(story.scenes.len() <= MOST_SCENES && !story.scenes.is_empty(), "{}", layer.name);
            let ends = story.scenes.iter().flat_map(|scene| &scene.pieces).flat_map(|piece| [piece.from, piece.to]);
            assert!(ends.flatten().all(|End(row, at)| at < story.rows[row].blocks), "{}", layer.name);
            assert!(
                story.rows.iter().all(|row| row.written.is_none_or(|written| written <= row.blocks)),
                "{}",
                layer.name
            );
            assert!(story.scenes.iter().all(|scene| scene.says.ends_with('.')), "{}", layer.name);
        }
    }
}

#[test]
fn a_picture_has_a_frame_for_each_scene_and_is_small() {
    let [_, short] = stories("fifo-log", "small-zoned");
    let picture = short.picture("a < b & c");
    assert_eq!(picture.matches("<g class=\"f ").count(), short.scenes.len());
    assert_eq!(picture.matches(" still\">").count(), 1, "one frame stands where nothing may move");
    assert!(picture.contains("<title>a &lt; b &amp; c: what the disk does, step by step</title>"));
    assert!(picture.len() < 100_000, "{} bytes", picture.len());
    assert_eq!(picture, short.picture("a < b & c"));
}
