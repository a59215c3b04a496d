//! Each scene in a sentence or two.

use imbrex::block::Access;
use imbrex::plan::Why;
use imbrex::replay::{Asked, Did};
use imbrex_terminal::table::{bytes, count, nanoseconds};

use super::Kind;
use super::places::{Part, Places};
use super::scenes::Joined;

/// What is said of all scenes.
pub fn said(scenes: &[Joined<'_>], places: &Places<'_>, block_bytes: u32) -> Vec<String> {
    let words = Words { places, block_bytes: block_bytes.into() };
    let mut said = vec![String::new(); scenes.len()];
    for story in stories(scenes) {
        let parts: Vec<_> = story.iter().map(|at| &scenes[*at]).collect();
        let last = parts.iter().rposition(|scene| scene.cleans());
        for (part, at) in story.iter().enumerate() {
            let (before, scene) = (&parts[..part], parts[part]);
            said[*at] = words.intro(before, scene) + &words.scene(before, scene);
            if last == Some(part) {
                said[*at] += &words.sum(&parts[..=part]);
            }
        }
    }
    said
}

/// The scenes that belong together, by their numbers: those of a request, between which others may come, or those of one
/// rewrite in idle time.
fn stories(scenes: &[Joined<'_>]) -> Vec<Vec<usize>> {
    let mut stories: Vec<Vec<usize>> = Vec::new();
    for (at, scene) in scenes.iter().enumerate() {
        let goes_on = |story: &&mut Vec<usize>| {
            let last = story[story.len() - 1];
            let begins_anew = scene.why == Some(Why::Collect) && matches!(scenes[last].why, None | Some(Why::Destage));
            let follows = scene.request.is_some() || last + 1 == at && !begins_anew;
            scenes[last].request == scene.request && follows
        };
        match stories.iter_mut().rev().find(goes_on) {
            Some(story) => story.push(at),
            None => stories.push(vec![at]),
        }
    }
    stories
}

struct Words<'a> {
    places: &'a Places<'a>,
    block_bytes: u64,
}

/// A number of blocks.
fn blocks(blocks: u64) -> String {
    format!("{} {}", count(blocks), if blocks == 1 { "block" } else { "blocks" })
}

impl Words<'_> {
    fn bytes(&self, blocks: u64) -> String {
        bytes(blocks * self.block_bytes)
    }

    fn amount(&self, number: u64) -> String {
        format!("{} ({})", blocks(number), self.bytes(number))
    }

    /// What a request asks for.
    fn asks(&self, asked: &Asked) -> String {
        let does = match asked.request.access {
            Access::Read => "reads",
            Access::Write => "writes",
            Access::Trim => "trims",
        };
        let at = asked.request.at;
        let (size, first) = (self.bytes(at.blocks.into()), count(at.start.0));
        let preposition = if asked.request.access == Access::Write { "to" } else { "at" };
        format!("Request {} {does} {size} {preposition} block {first}", asked.number)
    }

    /// Why something is cleaned or rewritten, before the first scene that does so.
    fn intro(&self, before: &[&Joined<'_>], scene: &Joined<'_>) -> String {
        if !scene.cleans() || before.iter().any(|one| one.cleans()) {
            return String::new();
        }
        let Some(asked) = &scene.request else {
            return "The disk is idle, so the layer cleans. ".to_owned();
        };
        let number = asked.number;
        if scene.cleans && self.places.has_buffer() {
            return format!("The buffer is full, so request {number}, a write, has to wait. ");
        }
        if scene.cleans && self.places.is_log() {
            let unit = self.places.unit_word();
            return format!("Free {unit}s are running out, so request {number}, a write, has to wait. ");
        }
        match scene.why {
            Some(Why::Neighbour) => format!("{}, on a bottom track. ", self.asks(asked)),
            Some(Why::Collect) if self.places.is_sequential(scene.from) => {
                let zone = self.places.name(scene.from);
                let asks = self.asks(asked);
                format!("{asks}, in the middle of {zone}. Tracks overlap there, so it cannot be changed in place. ")
            }
            _ if asked.request.access == Access::Write => format!("{}. ", self.asks(asked)),
            _ => String::new(),
        }
    }

    fn scene(&self, before: &[&Joined<'_>], scene: &Joined<'_>) -> String {
        match scene.why {
            None => self.reset(scene),
            Some(Why::Host) => self.host(before, scene),
            Some(Why::Neighbour) => self.neighbour(scene),
            Some(Why::Pad) => {
                let (amount, to) = (blocks(scene.blocks()), self.places.name(scene.to));
                format!("Padding fills {amount} of {to}: it can only be written without gaps.")
            }
            Some(Why::Metadata) => "The journal notes where blocks lie now.".to_owned(),
            Some(why) => self.cleaning(before, scene, why),
        }
    }

    fn reset(&self, scene: &Joined<'_>) -> String {
        let name = self.places.capitalised(scene.to);
        if self.places.is_flash() {
            return format!("{name} is erased and can be written again.");
        }
        format!("{name} is reset: it is empty, and will be written from its beginning the next time.")
    }

    fn host(&self, before: &[&Joined<'_>], scene: &Joined<'_>) -> String {
        let asks = scene.request.as_ref().map_or_else(|| "The host asks".to_owned(), |asked| self.asks(asked));
        if scene.to == Part::Host {
            return match scene.from {
                Part::Buffer => format!("{asks}. Its newest content lies in the buffer."),
                Part::Ram => format!("{asks}. It lies in RAM."),
                Part::Nowhere => format!("{asks}. It was never written and reads as zeros."),
                from => format!("{asks}: from {}.", self.places.name(from)),
            };
        }
        let (name, amount) = (self.places.name(scene.to), blocks(scene.blocks()));
        let has_begun = before.iter().any(|one| one.cleans());
        let is_part = scene.request.is_some_and(|asked| scene.blocks() < asked.request.at.blocks.into());
        match (scene.to, self.places.kind(scene.to)) {
            (Part::Ram, _) => format!("{asks}. It is gathered in RAM."),
            (Part::Buffer, _) if is_part => format!("{asks}. The buffer has room for a part of it: {amount}."),
            (Part::Buffer, _) => format!("{asks}. Its place cannot be overwritten, so it goes to the buffer."),
            (_, Kind::Sequential) if self.places.is_log() && is_part => {
                format!("{asks}. A part of it is appended to {name}: {amount}.")
            }
            (_, Kind::Sequential) if self.places.is_log() => format!("{asks}. It is appended to {name}."),
            (_, Kind::Sequential) if has_begun => {
                let number = scene.request.map_or(0, |asked| asked.number);
                format!("What request {number} writes comes next in {name}, in place of what was there: {amount}.")
            }
            (_, Kind::Sequential) => format!("{asks}. It is what {name} can take next, and is appended there."),
            (_, Kind::Bottom) => self.to_bottom_track(before, scene, &asks),
            (_, Kind::Top) => {
                format!("{asks}. It lies on {name}, over which nothing lies, and is overwritten in place.")
            }
            _ => format!("{asks}. It overwrites in place what was there."),
        }
    }

    fn to_bottom_track(&self, before: &[&Joined<'_>], scene: &Joined<'_>, asks: &str) -> String {
        let name = self.places.name(scene.to);
        let destroyed: u64 =
            scene.steps.iter().flat_map(|step| &step.destroyed).map(|gone| u64::from(gone.blocks)).sum();
        let over = blocks(destroyed);
        match (destroyed, before.iter().any(|one| one.why == Some(Why::Neighbour))) {
            (0, _) => format!("{asks}. It lies on {name}, and nothing lies over it."),
            (_, true) => {
                let amount = blocks(scene.blocks());
                format!(
                    "Now {amount} can be written to {name}. The track is wide: that destroys {over} of the tracks over it."
                )
            }
            (_, false) => format!("{asks}. It lies on {name}; what lies over it holds nothing that is needed."),
        }
    }

    fn neighbour(&self, scene: &Joined<'_>) -> String {
        let amount = blocks(scene.blocks());
        match (scene.from, scene.to) {
            (Part::Ram, to) => format!("What was saved of {} is written back: {amount}.", self.places.name(to)),
            (from, _) => format!("What lies over it on {} is saved in RAM: {amount}.", self.places.name(from)),
        }
    }

    /// Cleaning proper: what is read and what is written again.
    fn cleaning(&self, before: &[&Joined<'_>], scene: &Joined<'_>, why: Why) -> String {
        if scene.to == Part::Ram {
            return self.gathered(before, scene);
        }
        let amount = self.amount(scene.blocks());
        let (from, to) = (self.places.name(scene.from), self.places.name(scene.to));
        let follows = before.iter().any(|one| one.to == scene.to && one.why == scene.why);
        match scene.from {
            Part::Ram if follows => format!("It follows in {to}: {amount}."),
            Part::Ram if self.places.is_log() => {
                format!("What is live is appended to {to}, {amount}; what is dead stays behind.")
            }
            Part::Ram if why == Why::Migrate => {
                format!("The new image is kept in {to} first, so that a power cut loses nothing: {amount}.")
            }
            Part::Ram if starts(scene, self.places) => {
                let what = if self.places.has_buffer() { "The new image" } else { "It" };
                format!("{what} is written to {to}, from its first block on: {amount}.")
            }
            Part::Ram => format!("It is written to {to}: {amount}."),
            Part::Buffer if scene.to == Part::Buffer => {
                format!("What is written often stays in the buffer, at its other end: {amount}.")
            }
            Part::Buffer => format!("What comes next in {to} is appended there from the buffer: {amount}."),
            _ => format!("What is needed of {from} is copied to {to}: {amount}."),
        }
    }

    /// What is read into RAM before it is written again.
    fn gathered(&self, before: &[&Joined<'_>], scene: &Joined<'_>) -> String {
        let (amount, from) = (self.amount(scene.blocks()), self.places.name(scene.from));
        let has_read = |is_so: &dyn Fn(Part) -> bool| before.iter().any(|one| one.to == Part::Ram && is_so(one.from));
        match scene.from {
            Part::Ram | Part::Nowhere => "In RAM, what is newer takes the place of what is older.".to_owned(),
            Part::Buffer if has_read(&|part| self.places.is_sequential(part)) => {
                let reads = scene.steps.len();
                let reads = if reads > 1 { format!(" with {} reads", count(reads as u64)) } else { String::new() };
                format!("What is newer comes from the buffer{reads}, and takes its place there: {amount}.")
            }
            Part::Buffer => format!("What the buffer holds of a zone is read: {amount}."),
            _ if has_read(&|part| part == scene.from) => format!("The rest of {from} is read: {amount}."),
            _ if self.places.is_log() => format!("What is needed of {from} is read: {amount}."),
            _ if self.places.has_buffer() => {
                format!("{} is read into RAM: {amount}.", self.places.capitalised(scene.from))
            }
            _ => format!("What {from} holds before it is read into RAM: {amount}."),
        }
    }

    /// What cleaning came to, behind the last of its scenes.
    fn sum(&self, story: &[&Joined<'_>]) -> String {
        let story = &story[story.iter().position(|scene| scene.cleans()).unwrap_or(0)..];
        let [read, written] = [|(read, _)| read, |(_, written)| written]
            .map(|of: fn((u64, u64)) -> u64| story.iter().map(|scene| of(scene.moved())).sum());
        let took = nanoseconds(story.last().map_or(0, |last| last.end_ns()).saturating_sub(story[0].begun_ns()));
        let whom = match &story[0].request {
            Some(asked) => format!("for a write of {}", self.bytes(asked.request.at.blocks.into())),
            None => "while nobody waited".to_owned(),
        };
        format!(" In all, {} were read and {} written in {took}, {whom}.", self.bytes(read), self.bytes(written))
    }
}

/// Whether a scene writes a unit from its beginning.
fn starts(scene: &Joined<'_>, places: &Places<'_>) -> bool {
    let Did::Copy { to: Some(imbrex::plan::Place::At(to)), .. } = scene.steps[0].did else { return false };
    matches!(scene.to, Part::At(first) if first == to.block()) && places.kind(scene.to) == Kind::Sequential
}
