//! Where a server listens: names of sockets, made from the store's and from each other's.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
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

/// A link to a control socket, where commands that are given the volume's first store look for one.
pub struct Link(PathBuf);

impl Link {
    /// Beside `store`, unless the control socket is there itself. The volume must be this program's.
    pub fn to(control: &Path, store: &Path) -> Result<Option<Self>> {
        let place = self::control(&default(store));
        if std::path::absolute(&place)? == std::path::absolute(control)? {
            return Ok(None);
        }
        // The volume is this program's, so a link that is there is one that a killed server left.
        if fs::symlink_metadata(&place).is_ok_and(|metadata| metadata.file_type().is_symlink()) {
            fs::remove_file(&place)?;
        }
        let made = symlink(std::path::absolute(control)?, &place);
        made.map_err(|e| anyhow!("{}: no link to the control socket can be made there: {e}", place.display()))?;
        Ok(Some(Self(place)))
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // The next server takes one away that is left.
        let _ = fs::remove_file(&self.0);
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
    fn a_server_is_found_by_its_store_wherever_its_socket_is() {
        let folder = tempfile::tempdir().unwrap();
        let (store, socket) = (folder.path().join("a.img"), folder.path().join("elsewhere.control"));
        let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let link = Link::to(&socket, &store).unwrap().unwrap();
        let found = control_of(&store);
        assert_eq!(fs::canonicalize(&found).unwrap(), fs::canonicalize(&socket).unwrap());
        let remove_stale = imbrex_live::service::control::remove_stale;
        assert!(remove_stale(&found).is_err(), "somebody listens there");
        drop((listener, fs::remove_file(&socket)));
        std::mem::forget(link);
        assert!(remove_stale(&found).is_ok(), "nobody does any more");
        symlink(&socket, &found).unwrap();
        assert!(Link::to(&socket, &store).unwrap().is_some(), "one that a killed server left is replaced");
        assert!(fs::symlink_metadata(&found).is_err());
        fs::write(&found, "a file of somebody's").unwrap();
        assert!(Link::to(&socket, &store).is_err());
        assert!(Link::to(&found, &store).unwrap().is_none());
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
