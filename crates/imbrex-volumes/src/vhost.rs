//! A volume as a disk of virtual machines, by vhost-user, served by this program itself.

use std::io;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use imbrex_live::service::{ServiceOptions, Status, control};
use imbrex_vhost::{Options, Server};

use super::by_itself::{self, Front};
use super::socket::Hidden;

/// A server, and its socket.
struct At {
    server: Server,
    place: PathBuf,
}

/// Serves a volume to virtual machines at `place` until a signal comes; see [`by_itself::serve`].
pub fn serve<T>(
    options: &ServiceOptions,
    place: &Path,
    server: Options,
    json: bool,
    announce: impl FnOnce(&Status, &str) -> Result<T>,
) -> Result<()> {
    let again = "serve the volume again, and start what used it";
    by_itself::serve(
        options,
        json,
        again,
        |service, _| {
            let hidden = Hidden::beside(place)?;
            let made = UnixListener::bind(hidden.path());
            let listener = made.with_context(|| format!("the socket {} cannot be made", place.display()))?;
            let server = Server::serve(listener, service, server)?;
            hidden.show_at(place)?;
            Ok(Box::new(At { server, place: place.to_owned() }) as Box<dyn Front>)
        },
        announce,
    )
}

impl Front for At {
    fn place(&self) -> String {
        format!("vhost-user socket {}", self.place.display())
    }

    /// What a guest has in memory is its own.
    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn end(self: Box<Self>) -> Result<()> {
        self.server.end();
        Ok(control::remove_stale(&self.place)?)
    }
}
