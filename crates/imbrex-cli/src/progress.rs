//! The progress bar of work that takes a while.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_secs(2);

/// A bar on standard error, if that is a terminal.
pub struct Progress(ProgressBar);

impl Progress {
    /// Nothing done yet of work that is `doing` something `total` times.
    pub fn new(doing: &'static str, total: u64) -> Self {
        let template = "{msg} {wide_bar} {percent}%, {eta} left";
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden()).with_message(doing);
        Self(bar.with_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())))
    }

    /// So many more are done.
    pub fn add(&self, done: u64) {
        self.0.inc(done);
        if self.0.is_hidden() && self.0.elapsed() > PATIENCE {
            self.0.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

/// One of several pieces of work whose share is known, but not its size.
pub struct Piece<'a> {
    progress: &'a Progress,
    shown: u64,
}

impl Progress {
    /// Steps in which a piece of work is shown.
    const STEPS: u64 = 1000;

    /// Nothing done yet of so many pieces of work.
    pub fn of_pieces(doing: &'static str, pieces: usize) -> Self {
        Self::new(doing, pieces as u64 * Self::STEPS)
    }

    /// The next piece.
    pub fn piece(&self) -> Piece<'_> {
        Piece { progress: self, shown: 0 }
    }
}

impl Piece<'_> {
    /// So much of it is done, from 0 to 1.
    pub fn reach(&mut self, share: f64) {
        let steps = (share * Progress::STEPS as f64) as u64;
        self.progress.add(steps.saturating_sub(self.shown));
        self.shown = self.shown.max(steps);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
