//! Where a server listens: names of sockets, made from the store's and from each other's.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use tempfile::TempDir;

/// Bytes that the path of a socket has at most.
const LONGEST: usize = 107;

/// The socket of the volume whose first store is at `store`: beside an image, and in the folder for such things for a
/// device.
pub fn default(store: &Path) -> PathBuf {
    let is_device = fs::metadata(store).is_ok_and(|metadata| metadata.file_type().is_block_device());
    if !is_device {
        return with(store, ".sock");
    }
    let folder = env::var_os("XDG_RUNTIME_DIR").map_or_else(|| PathBuf::from("/run"), PathBuf::from);
    let name = store.file_name().unwrap_or_default().to_string_lossy().into_owned();
    folder.join(format!("imbrex-{name}.sock"))
}

/// The control socket beside a socket.
pub fn control(socket: &Path) -> PathBuf {
    with(socket, ".control")
}

/// The control socket of the server that `path` names: by its own name, by its control socket, or by the store.
pub fn control_of(path: &Path) -> PathBuf {
    let candidates = [control(path), control(&default(path))];
    candidates.into_iter().find(|path| path.exists()).unwrap_or_else(|| path.to_owned())
}

/// Refuses a path that is too long for a socket.
pub fn check(path: &Path) -> Result<()> {
    let bytes = path.as_os_str().len();
    if bytes > LONGEST {
        bail!("{} has {bytes} bytes, and a socket's path at most {LONGEST}; choose a shorter one", path.display());
    }
    Ok(())
}

/// A socket in a folder that only its owner can enter, until it is shown.
pub struct Hidden {
    folder: TempDir,
}

impl Hidden {
    /// In the folder that it will be shown in.
    pub fn beside(place: &Path) -> Result<Self> {
        let parent = place.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let owners = fs::Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new().prefix(".").permissions(owners).tempdir_in(parent);
        let folder = folder.map_err(|e| anyhow!("a socket cannot be made in {}: {e}", parent.display()))?;
        let hidden = Self { folder };
        check(&hidden.path())?;
        Ok(hidden)
    }

    /// Where it is until then.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("s")
    }

    /// Makes it its owner's alone and gives it its name.
    pub fn show_at(self, place: &Path) -> Result<()> {
        let shown = fs::set_permissions(self.path(), fs::Permissions::from_mode(0o600));
        let shown = shown.and_then(|()| fs::rename(self.path(), place));
        shown.map_err(|e| anyhow!("the socket {} cannot be made: {e}", place.display()))
    }
}

fn with(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_from_each_other() {
        let socket = default(Path::new("/a/disk.img"));
        assert_eq!(socket, Path::new("/a/disk.img.sock"));
        assert_eq!(control(&socket), Path::new("/a/disk.img.sock.control"));
        assert_eq!(control_of(Path::new("/a/x.control")), Path::new("/a/x.control"));
        assert!(check(&socket).is_ok() && check(Path::new(&"x".repeat(108))).is_err());
    }

    #[test]
    fn a_socket_is_its_owners_before_it_is_shown() {
        let folder = tempfile::tempdir().unwrap();
        let (place, hidden) = (folder.path().join("a.sock"), Hidden::beside(&folder.path().join("a.sock")).unwrap());
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(hidden.path().parent().unwrap()), 0o700);
        let _listener = std::os::unix::net::UnixListener::bind(hidden.path()).unwrap();
        hidden.show_at(&place).unwrap();
        assert_eq!(mode(&place), 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
