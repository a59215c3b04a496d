//! `--pdf`: a page printed by a browser, where there is one.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use imbrex_terminal::stop;

/// Names the browser that prints.
const BROWSER: &str = "IMBREX_BROWSER";
/// What browsers that print without a window are called.
const NAMES: [&str; 6] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge"];
/// How long one may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long the page may take by its own clock, which does not run while it works.
const PAGE_MS: u32 = 60_000;

/// A browser that prints pages.
pub struct Browser(PathBuf);

impl Browser {
    /// The one that is there.
    ///
    /// # Errors
    /// When there is none.
    pub fn find() -> Result<Self> {
        let named = env::var_os(BROWSER).map(PathBuf::from);
        let path = env::var_os("PATH").unwrap_or_default();
        let known = || env::split_paths(&path).flat_map(|folder| NAMES.map(|name| folder.join(name)));
        named.or_else(|| known().find(|program| program.is_file())).map(Self).with_context(|| {
            format!(
                "--pdf: no browser is here that prints; install Chromium, name one like it in {BROWSER}, or write \
                 --html and print that"
            )
        })
    }

    /// Prints a page.
    ///
    /// # Errors
    /// When the browser does not.
    pub fn print(&self, page: &str) -> Result<Vec<u8>> {
        let folder = tempfile::tempdir().context("--pdf: there is no folder for temporary files")?;
        let [from, to] = ["page.html", "page.pdf"].map(|name| folder.path().join(name));
        fs::write(&from, page).with_context(|| format!("--pdf: cannot write {}", from.display()))?;
        let mut command = Command::new(&self.0);
        command.args([
            "--headless",
            "--disable-gpu",
            "--disable-extensions",
            "--no-first-run",
            "--no-pdf-header-footer",
        ]);
        // A browser of the superuser refuses to start in its sandbox. The page loads nothing from anywhere.
        command.args(is_superuser().then_some("--no-sandbox"));
        command.arg(format!("--virtual-time-budget={PAGE_MS}"));
        command.args([
            option("--user-data-dir=", folder.path()),
            option("--print-to-pdf=", &to),
            from.into_os_string(),
        ]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let browser = command.spawn().map_err(|cause| self.failed(&format!("cannot be started: {cause}")))?;
        self.wait(browser)?;
        fs::read(&to).ok().filter(|pdf| pdf.starts_with(b"%PDF")).ok_or_else(|| self.failed("printed nothing"))
    }

    /// Waits for its end, and ends it where that takes too long or the work was to stop.
    fn wait(&self, mut browser: Child) -> Result<()> {
        let begun = Instant::now();
        loop {
            if browser.try_wait().map_err(|cause| self.failed(&cause.to_string()))?.is_some() {
                return Ok(());
            }
            let is_late = begun.elapsed() > PATIENCE;
            if is_late || stop::is_asked_for() {
                // It may have ended already.
                let _ = browser.kill();
                let _ = browser.wait();
                if is_late {
                    return Err(self.failed("took longer than two minutes"));
                }
                bail!("stopped");
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn failed(&self, how: &str) -> anyhow::Error {
        anyhow!("--pdf: {} {how}; name another browser in {BROWSER}, or write --html and print that", self.0.display())
    }
}

fn option(name: &str, value: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(value);
    option
}

/// Chromium has no sandbox for root.
#[cfg(unix)]
fn is_superuser() -> bool {
    rustix::process::geteuid().is_root()
}

#[cfg(not(unix))]
fn is_superuser() -> bool {
    false
}
