//! nbdkit's sockets: where it listens, and its clients' connections. Its interface names none of them, so they are
//! found among the files that this process has open.

use std::fs;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};

use rustix::net::{Shutdown, SocketAddrAny, getpeername, getsockname, shutdown, sockopt};

/// The addresses at which this process listens: before anybody else does, nbdkit's.
pub fn listening() -> Vec<SocketAddrAny> {
    let listens = |socket: &OwnedFd| sockopt::socket_acceptconn(socket).unwrap_or(false);
    open().iter().filter(|socket| listens(socket)).filter_map(|socket| getsockname(socket).ok()).collect()
}

/// The port of an address, if it has one.
pub fn port(address: &SocketAddrAny) -> Option<u16> {
    std::net::SocketAddr::try_from(address.clone()).ok().map(|address| address.port())
}

/// Lets every connection that was made to one of the addresses be read to its end, which is there at once.
pub fn end_reading(to: &[SocketAddrAny]) {
    let is_one = |socket: &&OwnedFd| {
        getpeername(*socket).is_ok_and(|peer| peer.is_some())
            && getsockname(*socket).is_ok_and(|own| to.iter().any(|at| is_of(&own, at)))
    };
    for connection in open().iter().filter(is_one) {
        // The client may have gone.
        let _ = shutdown(connection, Shutdown::Read);
    }
}

/// Whether a connection's own address is what was listened at: the same, or of TCP the same port, since who listens
/// at every address of this machine is spoken to at one of them.
fn is_of(own: &SocketAddrAny, at: &SocketAddrAny) -> bool {
    own == at || port(own).is_some_and(|own| port(at) == Some(own))
}

/// The sockets that are open. They stay so as long as the result is kept, whatever else closes them meanwhile.
fn open() -> Vec<OwnedFd> {
    let Ok(all) = fs::read_dir("/proc/self/fd") else { return Vec::new() };
    let numbers = all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers.filter_map(socket).collect()
}

/// The socket of that number, if it is one.
#[allow(unsafe_code, reason = "a file that is not ours has no name but its number")]
fn socket(number: RawFd) -> Option<OwnedFd> {
    // SAFETY: the number is used for one call, which fails if nothing is open under it by then.
    let file = unsafe { BorrowedFd::borrow_raw(number) }.try_clone_to_owned().ok()?;
    sockopt::socket_type(&file).is_ok().then_some(file)
}
