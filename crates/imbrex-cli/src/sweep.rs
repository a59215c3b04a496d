//! `imbrex sweep`: hands over to the package for Python, where sweeps and their clusters are.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Result, anyhow, bail};
use clap::Args;

/// Names the Python to take, where that is not `python3`.
const PYTHON: &str = "IMBREX_PYTHON";

/// Run every cell of a grid on workers of Dask, and write what they come to into a Parquet dataset
///
/// That is done by the package `imbrex` for Python, which has to be installed; docs/sweeps.md describes the grid.
#[derive(Args)]
pub struct Sweep {
    /// The grid: workloads, layers, fields, drives, options
    #[arg(value_name = "FILE.toml")]
    grid: PathBuf,
    /// The folder of the dataset; what is there is not done again
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    folder: PathBuf,
    /// The address of a Dask scheduler, or N for N processes of this machine; otherwise one for each core
    #[arg(long, value_name = "ADDRESS|N")]
    cluster: Option<OsString>,
    /// Run those again that failed
    #[arg(long)]
    retry: bool,
}

impl Sweep {
    pub fn run(self) -> Result<()> {
        let python = env::var_os(PYTHON).unwrap_or_else(|| "python3".into());
        let shown = python.to_string_lossy();
        // Nothing that lies in the current folder is the package.
        let is_missing = "import importlib.util, sys; sys.exit(not importlib.util.find_spec('imbrex'))";
        let found = Command::new(&python).args(["-P", "-c", is_missing]).stderr(Stdio::null()).status();
        let found = found.map_err(|e| anyhow!("sweeps are run by Python, and {shown} cannot be started: {e}"))?;
        if !found.success() {
            bail!(
                "sweeps are run by Python, and {shown} has no package imbrex; install it in a clone of Imbrex \
                 with pip install '.[sweep]', or name another Python in {PYTHON}"
            );
        }
        let mut command = Command::new(&python);
        command.args(["-P", "-m", "imbrex.sweeps"]).arg(&self.grid).arg("--output").arg(&self.folder);
        command.args(self.cluster.iter().flat_map(|cluster| ["--cluster".as_ref(), cluster.as_os_str()]));
        command.args(self.retry.then_some("--retry"));
        Err(anyhow!("{shown} cannot be started: {}", become_it(command)))
    }
}

/// The command takes the place of this program, and so Ctrl-C, its output and its status are its own.
#[cfg(unix)]
fn become_it(mut command: Command) -> io::Error {
    std::os::unix::process::CommandExt::exec(&mut command)
}

#[cfg(not(unix))]
fn become_it(mut command: Command) -> io::Error {
    match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(cause) => cause,
    }
}
