//! How far work has come that takes a while: a bar, or somebody who is told; and whether it shall end.

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::say::note;
use crate::stop;

/// Work shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_secs(2);

/// Is told how far work has come, from any of the threads that do it, and may end it.
pub trait Listener: Send + Sync {
    /// A part of the whole is done.
    fn reached(&self, done: u64, of: u64);

    /// Whether the work shall end with an error before it is done. It looks here every few thousand requests.
    fn wants_to_stop(&self) -> bool {
        false
    }
}

/// Work that is under way.
pub struct Progress(Shown);

enum Shown {
    /// By a bar on standard error, if that is a terminal.
    Bar(ProgressBar),
    /// By somebody else.
    Told { listener: Arc<dyn Listener>, done: AtomicU64, of: u64 },
}

impl Progress {
    /// Nothing done yet of work that is `doing` something `total` times.
    pub fn new(doing: &'static str, total: u64) -> Self {
        let template = "{msg} {wide_bar} {percent}%, {eta} left";
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden()).with_message(doing);
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        Self(Shown::Bar(bar.with_style(style)))
    }

    /// Nothing done yet of work in `total` steps, of which `listener` is told.
    pub fn told(listener: Arc<dyn Listener>, total: u64) -> Self {
        Self(Shown::Told { listener, done: AtomicU64::new(0), of: total })
    }

    /// Counts `more` as done.
    pub fn add(&self, more: u64) {
        match &self.0 {
            Shown::Bar(bar) => {
                bar.inc(more);
                if bar.is_hidden() && bar.elapsed() > PATIENCE {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                }
            }
            Shown::Told { listener, done, of } => {
                listener.reached(done.fetch_add(more, Ordering::Relaxed) + more, *of);
            }
        }
    }

    /// A line on standard error about the work, which no bar overwrites.
    pub fn note(&self, line: impl Display) {
        match &self.0 {
            Shown::Bar(bar) => bar.suspend(|| note(line)),
            Shown::Told { .. } => note(line),
        }
    }

    /// Whether the work shall end before it is done, because of Ctrl-C or because the listener wants that.
    pub fn is_stopped(&self) -> bool {
        let by_listener = || match &self.0 {
            Shown::Bar(_) => false,
            Shown::Told { listener, .. } => listener.wants_to_stop(),
        };
        stop::is_asked_for() || by_listener()
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

    /// Nothing done yet of `pieces` pieces of work.
    pub fn of_pieces(doing: &'static str, pieces: usize) -> Self {
        Self::new(doing, pieces as u64 * Self::STEPS)
    }

    /// Nothing done yet of `pieces` pieces of work, of which `listener` is told.
    pub fn told_of_pieces(listener: Arc<dyn Listener>, pieces: usize) -> Self {
        Self::told(listener, pieces as u64 * Self::STEPS)
    }

    /// The next piece.
    pub fn piece(&self) -> Piece<'_> {
        Piece { progress: self, shown: 0 }
    }
}

impl<'a> Piece<'a> {
    /// The work that it is a piece of.
    pub fn progress(&self) -> &'a Progress {
        self.progress
    }

    /// A part of it is done, from 0 to 1.
    pub fn reach(&mut self, share: f64) {
        let steps = (share * Progress::STEPS as f64) as u64;
        self.progress.add(steps.saturating_sub(self.shown));
        self.shown = self.shown.max(steps);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Shown::Bar(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
