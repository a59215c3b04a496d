//! The progress bar of work that takes a while.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_secs(2);

const WITH_TOTAL: &str = "{msg} {wide_bar} {percent}%, {eta} left";

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// A bar on standard error, if that is a terminal.
pub struct Progress(ProgressBar);

impl Progress {
    /// Nothing done yet of work that is `doing` something `total` times; without a total the bar only counts.
    pub fn new(doing: &'static str, total: Option<u64>) -> Self {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden()).with_message(doing);
        Self(bar.with_style(style(if total.is_some() { WITH_TOTAL } else { "{msg} {human_pos}" })))
    }

    /// There seem to be so many in all.
    pub fn expect(&self, total: u64) {
        if self.0.length().is_none() {
            self.0.set_style(style(WITH_TOTAL));
        }
        self.0.set_length(total);
    }

    /// So many more are done.
    pub fn add(&self, done: u64) {
        self.0.inc(done);
        if self.0.is_hidden() && self.0.elapsed() > PATIENCE {
            self.0.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
