//! `imbrex manual`: the manual pages, from what `--help` says and what nbdkit's plugin takes.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, italic, roman};
use imbrex_live::service::KEYS;
use imbrex_terminal::new_file::NewFile;

use crate::examples;

/// The page of nbdkit's plugin.
const PLUGIN: &str = "nbdkit-imbrex-plugin";

/// Write the manual pages, one for each command and one for nbdkit's plugin, into a folder
///
/// `man -l DIR/imbrex-serve.1` shows one of them.
#[derive(Args)]
pub struct Manual {
    /// The folder, which is made if it is not there, such as /usr/local/share/man/man1
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Manual {
    /// Writes the pages of `program`.
    pub fn run(self, mut program: Command) -> Result<()> {
        fs::create_dir_all(&self.folder).with_context(|| format!("{}: no such folder", self.folder.display()))?;
        program.build();
        let mut pages = vec![(format!("{PLUGIN}.1"), of_plugin())];
        add_pages(&program, &mut pages)?;
        for (name, page) in pages {
            let mut file = NewFile::create(&self.folder.join(name))?;
            file.write_all(&page)?;
            file.finish()?;
        }
        Ok(())
    }
}

/// Adds the page of a command and those of the commands below.
fn add_pages(command: &Command, pages: &mut Vec<(String, Vec<u8>)>) -> Result<()> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    // What comes after the help is examples, which have a section of their own.
    let page = Man::new(command.clone().after_help(None::<&str>)).source(source()).manual("Imbrex");
    let mut written = Vec::new();
    page.render(&mut written)?;
    end(&name).to_writer(&mut written)?;
    pages.push((page.get_filename(), written));
    command.get_subcommands().filter(|below| !below.is_hide_set()).try_for_each(|below| add_pages(below, pages))
}

fn source() -> String {
    format!("imbrex {}", env!("CARGO_PKG_VERSION"))
}

/// What ends the page called `name`: examples, and where there is more.
fn end(name: &str) -> Roff {
    let mut roff = Roff::new();
    let words = name.split('-').skip(1).collect::<Vec<_>>().join(" ");
    add_examples(&mut roff, examples::of(&words));
    roff.control("SH", ["SEE ALSO"]);
    let above = if words.is_empty() { PLUGIN } else { name.rsplit_once('-').map_or("imbrex", |(above, _)| above) };
    roff.text([bold(above), roman("(1); the documentation of Imbrex explains words, layers and results.")]);
    roff
}

fn add_examples(roff: &mut Roff, lines: &[&str]) {
    if lines.is_empty() {
        return;
    }
    roff.control("SH", ["EXAMPLES"]).control("nf", []);
    for line in lines {
        roff.text([roman(*line)]);
    }
    roff.control("fi", []);
}

/// The page of nbdkit's plugin, with all that it takes.
fn of_plugin() -> Vec<u8> {
    let mut roff = Roff::new();
    roff.control("TH", [PLUGIN, "1", "", &source(), "Imbrex"]);
    roff.control("SH", ["NAME"]).text([roman(format!("{PLUGIN} - a volume of Imbrex as a network block device"))]);
    roff.control("SH", ["SYNOPSIS"]);
    let more = |word: &str| [roman(" ["), roman(word.to_owned()), roman("]...")];
    let synopsis = [bold("nbdkit imbrex"), roman(" [store=]"), italic("STORE")].into_iter();
    roff.text(synopsis.chain(more("STORE")).chain(more("KEY=VALUE")).collect::<Vec<_>>());
    roff.control("SH", ["DESCRIPTION"]);
    roff.text([roman(
        "Serves a volume that imbrex format has made. imbrex serve runs nbdkit with this plugin, finds it, and says \
         where the volume is served; the plugin alone is for those who want nbdkit's other options or filters. A \
         store is locked while it is served. SIGTERM makes everything durable and ends the server.",
    )]);
    roff.control("SH", ["PARAMETERS"]);
    for (form, meaning) in KEYS.iter().chain([&("log=text|json", "how to log to standard error")]) {
        let (key, value) = form.split_once('=').unwrap_or((form, ""));
        let form: [Inline; 3] = [bold(key), roman("="), italic(value)];
        roff.control("TP", []).text(form).text([roman(*meaning)]);
    }
    add_examples(&mut roff, &["nbdkit --foreground --unix disk.sock imbrex disk.img"]);
    roff.control("SH", ["SEE ALSO"]).text([bold("imbrex-serve"), roman("(1), "), bold("nbdkit"), roman("(1)")]);
    roff.to_roff().into_bytes()
}
