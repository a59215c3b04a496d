//! The switches, as the model and the configuration have them.

#[derive(Clone, Debug)]
pub struct Settings {
    pub utilisation: f64,
    pub update_blocks: u32,
    pub phases: u32,
    pub zig_zag: bool,
    pub percent: f64,
    pub least: u64,
    pub hits: &'static str,
    pub slowest: u32,
    pub opens: &'static str,
    pub swap: bool,
    pub when_full: &'static str,
    pub watched: f64,
    pub frame_tracks: u32,
    pub halve_after: u64,
    pub seed: u64,
    pub trim: bool,
    /// Whether blocks are needed that were never written.
    pub unwritten: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            utilisation: 1.0,
            update_blocks: 0,
            phases: 3,
            zig_zag: false,
            percent: 0.0,
            least: 0,
            hits: "place",
            slowest: 128,
            opens: "hit",
            swap: false,
            when_full: "end",
            watched: 0.5,
            frame_tracks: 0,
            halve_after: 0,
            seed: 1,
            trim: true,
            unwritten: true,
        }
    }
}

impl Settings {
    pub fn config(&self) -> toml::Table {
        let direction = if self.zig_zag { "zig-zag" } else { "inwards" };
        let valid = if self.unwritten { "allocated" } else { "written" };
        let Self { utilisation, update_blocks, phases, percent, least, hits, slowest, .. } = self;
        let Self { opens, swap, when_full, watched, frame_tracks, halve_after, seed, trim, .. } = self;
        let text = format!(
            "utilisation = {utilisation:?}\nupdate_blocks = {update_blocks}\nphases = {phases}\n\
             direction = '{direction}'\nbuffer_percent = {percent:?}\nleast_entries = {least}\nidle_free = 0.0\nhits = '{hits}'\nslowest = {slowest}\n\
             opens = '{opens}'\nswap = {swap}\nwhen_full = '{when_full}'\nwatched = {watched:?}\n\
             frame_tracks = {frame_tracks}\n\
             halve_after = {halve_after}\nseed = {seed}\ntrim = {trim}\nvalid = '{valid}'"
        );
        text.parse().expect("TOML")
    }
}
