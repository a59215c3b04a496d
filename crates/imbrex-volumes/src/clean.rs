//! `imbrex clean`: cleaning of a volume that is served, asked for, paused or resumed.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use imbrex_live::service::Status;
use imbrex_live::service::control::{self, Question, Reply};
use imbrex_terminal::output::print_line;

use super::{socket, status};

/// How often the server is asked whether it has cleaned.
const OFTEN: Duration = Duration::from_millis(100);

/// Clean a served volume, or pause its cleaning
#[derive(Args)]
pub struct Clean {
    /// The server's socket, its control socket, or the volume's first store
    socket: PathBuf,
    /// Clean only when a write finds no room
    #[arg(long, conflicts_with_all = ["resume", "wait"])]
    pause: bool,
    /// Clean when nobody asks for anything, as at the start
    #[arg(long, conflicts_with = "wait")]
    resume: bool,
    /// Wait until nothing is left to clean
    #[arg(long)]
    wait: bool,
    /// Let background cleaning take that much of the time
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(1..=100))]
    throttle: Option<u8>,
}

impl Clean {
    /// Asks for cleaning.
    ///
    /// # Errors
    /// When no server answers, or it refuses.
    pub fn run(self) -> Result<()> {
        let control = socket::control_of(&self.socket);
        let mut last = None;
        if let Some(percent) = self.throttle {
            last = Some(ask(&control, Question::Throttle { percent })?);
        }
        let question = match (self.pause, self.resume) {
            (true, _) => Some(Question::Pause),
            (_, true) => Some(Question::Resume),
            _ => (self.wait || self.throttle.is_none()).then_some(Question::Clean),
        };
        if let Some(question) = question {
            last = Some(ask(&control, question)?);
        }
        let is_cleaning = |status: &Status| status.cleaning.state == "now" && status.dead.is_none();
        while self.wait && last.as_ref().is_some_and(is_cleaning) {
            thread::sleep(OFTEN);
            last = Some(ask(&control, Question::Status)?);
        }
        if let Some(why) = last.as_ref().and_then(|status| status.dead.as_ref()) {
            bail!("the volume cannot be used: {why}");
        }
        if let Some(status) = last {
            print_line(status::shown(&status).trim_end_matches('\n'))?;
        }
        Ok(())
    }
}

fn ask(control: &Path, question: Question) -> Result<Status> {
    match control::ask(control, question)? {
        Reply::Status(status) => Ok(*status),
        _ => bail!("the server answers what it was not asked"),
    }
}
