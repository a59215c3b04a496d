//! `imbrex web`: a page and metrics of a volume that is served, over HTTP, in a process of its own. It asks the server
//! of the volume like any other client of the control socket, so that nothing that is sent to it can harm the disk.

mod child;
mod history;
mod server;
mod site;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use clap::Args;
use imbrex_live::service::control::{self, Question};
use imbrex_terminal::say::tell;
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::time::{MissedTickBehavior, interval};

pub use child::Child;
use site::{Site, Told, Volume};

use super::address::Addresses;
use super::socket;

/// How often a sample is taken for the page.
const EVERY: Duration = Duration::from_secs(1);
/// What this process says where another one has started it: a line of JSON with what is told where, or why nothing is.
type Said = std::result::Result<Addresses, String>;
/// Threads that wait for answers of the server.
const ASKING: usize = 4;

/// Show the state of a served volume on a page, and serve its metrics, over HTTP
///
/// It only reads, and it is no part of the server: it asks the control socket. `imbrex serve` starts it for --http and
/// --metrics.
#[derive(Args)]
pub struct Web {
    /// The server's socket, its control socket, or the volume's first store
    socket: PathBuf,
    #[command(flatten)]
    at: Addresses,
    /// Serve it at addresses that other machines can reach, although nothing is encrypted there
    #[arg(long)]
    insecure: bool,
    /// Say what is told where in one line or why nothing can be, and end when standard input does
    #[arg(long, hide = true)]
    child: bool,
    /// How often it was started again
    #[arg(long, hide = true, default_value_t = 0)]
    restarts: u32,
}

impl Web {
    /// Shows the page and the metrics over HTTP until it is asked to stop.
    ///
    /// # Errors
    /// When the address cannot be used, or no server answers.
    pub fn run(self) -> Result<()> {
        if !self.child {
            self.at.check(self.insecure)?;
            return self.serve();
        }
        if let Err(why) = self.serve() {
            tell(serde_json::to_string(&Said::Err(format!("{why:#}")))?);
            std::process::exit(1);
        }
        Ok(())
    }

    fn serve(self) -> Result<()> {
        if self.at.is_empty() {
            return Err(anyhow!("say where: --http PORT for the page, --metrics PORT for Prometheus"));
        }
        let control = socket::control_of(&self.socket);
        if !self.child {
            // A server that starts this one is not there yet.
            control::ask(&control, Question::Status)?;
        }
        let volume = Arc::new(Volume::new(control));
        let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(ASKING).build();
        runtime.context("there is no thread for HTTP")?.block_on(async {
            let page = || Told::Page(imbrex_page::live());
            let mut told = self.at.clone();
            for (at, what) in [(&mut told.http, page()), (&mut told.metrics, Told::Metrics)] {
                let Some(at) = at else { continue };
                let listener = TcpListener::bind(*at).await;
                let listener = listener.with_context(|| format!("nothing can be told at {at}"))?;
                *at = listener.local_addr()?;
                tokio::spawn(server::serve(listener, Arc::new(Site::new(what, at.ip(), &volume))));
            }
            if !self.child {
                tell(&told);
            } else {
                tell(serde_json::to_string(&Said::Ok(told))?);
                thread::spawn(end_with_standard_input);
            }
            watch(&volume, self.restarts).await;
            Ok(())
        })
    }
}

/// Takes samples of the volume, and has its server know what became of this process.
async fn watch(volume: &Volume, restarts: u32) {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut known, mut uptime) = (None, 0.0);
    loop {
        ticks.tick().await;
        let Ok(status) = volume.status().await else { continue };
        let refused = volume.refused();
        // A server that was started again knows nothing yet.
        if known != Some(refused) || status.uptime_seconds < uptime {
            let told = volume.ask_now(Question::Web { restarts, refused }).await;
            known = told.is_ok().then_some(refused);
        }
        uptime = status.uptime_seconds;
        volume.history().add((&*status).into());
    }
}

/// The process that started this one keeps its standard input open for as long as it runs itself.
fn end_with_standard_input() {
    let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
    std::process::exit(0);
}
