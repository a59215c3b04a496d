//! `imbrex serve`: a volume as a network block device, or served by this program itself.

#[cfg(all(any(feature = "ublk", feature = "vhost-user"), target_os = "linux"))]
mod itself;

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Result, anyhow};
use clap::{Args, ValueEnum};
use imbrex_live::service::Status;
use imbrex_live::service::control::{self, Question, Reply};
use imbrex_runs::values::size;
use imbrex_terminal::say::{note, tell_who_listens};
use imbrex_terminal::table::bytes;

use super::address::{self, Addresses};
use super::nbdkit::{self, Ended, Server, Signals};
use super::{manager, socket, web};

/// What only nbdkit does.
const OF_NBD: [&str; 8] =
    ["socket", "port", "address", "tls", "tls_certificates", "tls_psk", "tls_verify_peer", "plugin"];

/// How often the server is asked whether it serves.
const OFTEN: Duration = Duration::from_millis(20);

/// Requests of a connection that are served at a time: each has a thread, and a buffer as long as the longest request.
const MOST_THREADS: i64 = 256;
/// The longest process number.
const LONGEST_NUMBER: u64 = 20;

/// What is said when nbdkit is started again.
const HUNG_UP: &str = "nbdkit ended because a client hung up, by a fault that nbdkit 1.34 mended; it is started again";

/// Serve a volume over NBD, as a local block device with ublk, or as a disk of virtual machines with vhost-user, until
/// SIGTERM or Ctrl-C, which make everything durable; a second one ends at once
#[derive(Args)]
pub struct Serve {
    /// The volume's stores, in the order in which they were formatted
    #[arg(required = true)]
    stores: Vec<PathBuf>,
    /// Serve over NBD by nbdkit, which is the default
    #[arg(long, conflicts_with_all = ["ublk", "vhost_user"])]
    nbd: bool,
    /// Serve as Linux's block device /dev/ublkbN instead, by the driver ublk, without nbdkit: N, or one that is free
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, conflicts_with_all = OF_NBD)]
    ublk: Option<Option<u32>>,
    /// Serve as a disk of virtual machines instead, without nbdkit: at this Unix socket, which only its owner may use, to
    /// QEMU, cloud-hypervisor and others that know vhost-user
    #[arg(long, value_name = "SOCKET", conflicts_with_all = OF_NBD, conflicts_with = "ublk")]
    vhost_user: Option<PathBuf>,
    /// Bytes of a logical block of the device of ublk's: 512, or the volume's block of 4096
    #[arg(long, value_name = "BYTES", value_parser = ["512", "4096"], default_value = "512", requires = "ublk")]
    sector: String,
    /// The Unix socket to serve at, which only its owner may use; without it STORE.sock, or for a device
    /// imbrex-NAME.sock in $XDG_RUNTIME_DIR or /run
    #[arg(long, value_name = "PATH", conflicts_with = "port")]
    socket: Option<PathBuf>,
    /// Serve at a TCP port instead, to any client that can reach it; see --tls. 0 is a free one
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// The address of that port
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), requires = "port")]
    address: IpAddr,
    /// Leave the stores as they are; what recovery writes stays in memory, and clients may only read
    #[arg(long)]
    read_only: bool,
    /// MiB kept in memory for each store when nothing is written to it
    #[arg(long, value_name = "MIB", requires = "read_only")]
    overlay: Option<u64>,
    /// Answer when the drives that the images emulate would, or as soon as this machine can
    #[arg(long, value_enum, default_value_t = Pace::Host)]
    pace: Pace,
    /// The socket for `imbrex status` and `imbrex clean`; without it the socket's name and .control
    #[arg(long, value_name = "PATH")]
    control: Option<PathBuf>,
    #[command(flatten)]
    told: Addresses,
    /// Serve at addresses that other machines can reach, although nothing is encrypted there
    #[arg(long)]
    insecure: bool,
    /// Milliseconds without a request before cleaning is offered the time
    #[arg(long, value_name = "MS")]
    idle_after: Option<u64>,
    /// Milliseconds that a step of cleaning may take, 0 for any: steps are made small enough, and longer ones counted;
    /// 100 by default
    #[arg(long, value_name = "MS")]
    step_ms: Option<u64>,
    /// How much of the time background cleaning may take
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(1..=100))]
    throttle: Option<u8>,
    /// Keep the server's memory and its program in memory, whatever else needs some
    #[arg(long)]
    lock_memory: bool,
    /// Keep no more than SIZE of the map in memory this time, of a volume that has it in pages on the drive
    #[arg(long, value_name = "SIZE", value_parser = size)]
    map_memory: Option<u64>,
    /// Record what the volume is asked for as traces in Parquet: NAME.parquet gives NAME-0001.parquet, NAME-0002.parquet
    /// and so on, none of which may be there
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// How long a file of the recording gets before the next one begins; 1GiB by default, and 64KiB at least
    #[arg(long, value_name = "SIZE", value_parser = size, requires = "record")]
    record_size: Option<u64>,
    /// Requests of a connection, or of the device, that are served at a time
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=MOST_THREADS))]
    threads: u32,
    /// How to log to standard error
    #[arg(long, value_enum, default_value_t = Log::Text)]
    log: Log,
    /// Write the server's process number there
    #[arg(long, value_name = "FILE")]
    pidfile: Option<PathBuf>,
    /// Whether clients may or must use TLS
    #[arg(long, value_enum, default_value_t = Tls::Off)]
    tls: Tls,
    /// The folder of certificates for TLS
    #[arg(long, value_name = "DIR")]
    tls_certificates: Option<PathBuf>,
    /// The file of pre-shared keys for TLS
    #[arg(long, value_name = "FILE")]
    tls_psk: Option<PathBuf>,
    /// Clients need a certificate too
    #[arg(long)]
    tls_verify_peer: bool,
    /// nbdkit's plugin, if it is not beside this program
    #[arg(long, value_name = "FILE")]
    plugin: Option<PathBuf>,
}

/// How the server logs.
#[derive(Copy, Clone, PartialEq, Eq, ValueEnum)]
enum Log {
    /// For people
    Text,
    /// For programs
    Json,
}

/// When a volume answers.
#[derive(Copy, Clone, PartialEq, Eq, ValueEnum)]
enum Pace {
    /// As soon as this machine has done what was asked
    Host,
    /// When the drives that the images emulate would
    Drive,
}

/// Whether clients use TLS.
#[derive(Copy, Clone, PartialEq, Eq, ValueEnum)]
enum Tls {
    /// No client does
    Off,
    /// Clients that ask for it do
    On,
    /// Every client has to
    Require,
}

impl Serve {
    /// Serves the volume until it is asked to stop.
    ///
    /// # Errors
    /// When it cannot be served.
    pub fn run(self) -> Result<()> {
        self.told.check(self.insecure)?;
        self.pidfile.as_deref().map_or(Ok(()), check_pidfile)?;
        if let Some(port) = self.port.filter(|_| self.tls != Tls::Require) {
            address::check("--address", SocketAddr::new(self.address, port), self.insecure)?;
        }
        match (self.ublk, &self.vhost_user) {
            (Some(number), _) => self.run_ublk(number),
            (_, Some(place)) => self.run_vhost_user(place),
            _ => self.run_nbd(),
        }
    }

    #[cfg(not(all(feature = "ublk", target_os = "linux")))]
    fn run_ublk(&self, _number: Option<u32>) -> Result<()> {
        Err(anyhow!(
            "this program is built without ublk, which Linux has and the feature `ublk` brings; serve with --nbd"
        ))
    }

    #[cfg(not(all(feature = "vhost-user", target_os = "linux")))]
    fn run_vhost_user(&self, _place: &Path) -> Result<()> {
        Err(anyhow!(
            "this program is built without vhost-user, which needs Linux and the feature `vhost-user`; serve with --nbd"
        ))
    }

    fn run_nbd(self) -> Result<()> {
        let program = nbdkit::program("nbdkit")?;
        let plugin = self.plugin.clone().map_or_else(nbdkit::plugin, Ok)?;
        let place = self.place();
        let control = self.control.clone().unwrap_or_else(|| socket::control(&place));
        let served_at = self.port.is_none().then_some(place.as_path());
        for path in served_at.into_iter().chain([control.as_path()]) {
            socket::check(path)?;
            control::remove_stale(path)?;
        }
        let web = web::Child::start(&self.told, &control)?;
        let signals = Signals::take()?;
        let run = |restarted: bool| {
            // nbdkit's socket is anybody's, so it is made where nobody else comes, and moved when it is its owner's
            // alone.
            let hidden = served_at.map(socket::Hidden::beside).transpose()?;
            let mut arguments = self.arguments(&plugin, hidden.as_ref(), &control);
            arguments.extend(restarted.then(|| "restarted=true".into()));
            let mut server = Server::start(&program, &arguments, &signals, self.log == Log::Json)?;
            let mut _link = None;
            if let Some(status) = status_of(&mut server, &control) {
                server.serving();
                if let Some(hidden) = hidden {
                    hidden.show_at(&place)?;
                }
                _link = socket::Link::to(&control, &self.stores[0])?;
                self.announce(&status, &place, &web);
            }
            server.wait()
        };
        let mut restarted = false;
        let ended = loop {
            match run(restarted) {
                Ok(Ended::Told) => break Ok(()),
                Ok(Ended::HungUp) if signals.to_end() => {
                    break Err(anyhow!("nbdkit ended by a fault of its own before everything was durable"));
                }
                Ok(Ended::HungUp) => note(format_args!("warning: {HUNG_UP}")),
                Err(e) => break Err(e),
            }
            restarted = true;
        };
        for path in served_at.into_iter().chain([control.as_path()]) {
            // A server that was ended at once leaves them. The start of the next one removes them if this fails.
            let _ = control::remove_stale(path);
        }
        ended
    }

    /// The Unix socket that is served at, or what would be its name.
    fn place(&self) -> PathBuf {
        self.socket.clone().unwrap_or_else(|| socket::default(&self.stores[0]))
    }

    /// Says where the volume is served, and how it was found.
    fn announce(&self, status: &Status, place: &Path, web: &web::Child) {
        let at = match self.port {
            // Of port 0 the kernel makes one that is free.
            Some(port) => format!("nbd://{}", SocketAddr::new(self.address, status.port.unwrap_or(port))),
            None => format!("nbd+unix:///?socket={}", place.display()),
        };
        tell_served(status, &at, web);
    }

    fn arguments(&self, plugin: &Path, socket: Option<&socket::Hidden>, control: &Path) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = ["--foreground", "--exit-with-parent", "--threads"].map(Into::into).into();
        arguments.push(self.threads.to_string().into());
        if let Some(port) = self.port {
            arguments.extend([format!("--ipaddr={}", self.address).into(), format!("--port={port}").into()]);
        }
        arguments.extend(socket.into_iter().flat_map(|socket| ["--unix".into(), socket.path().into()]));
        if let Some(pidfile) = &self.pidfile {
            arguments.extend(["--pidfile".into(), pidfile.into()]);
        }
        self.add_tls(&mut arguments);
        arguments.push(plugin.into());
        let shown = self.port.is_none().then(|| ("shown", self.place().into()));
        let log = ("log", if self.log == Log::Json { "json" } else { "text" }.into());
        for (key, value) in self.service_pairs(control).into_iter().chain(shown).chain([log]) {
            arguments.push(pair(key, &value));
        }
        arguments
    }

    /// What is said to whatever serves, in pairs of a key and a value.
    fn service_pairs(&self, control: &Path) -> Vec<(&'static str, OsString)> {
        let stores = self.stores.iter().map(|store| ("store", Some(store.clone().into_os_string())));
        let in_bytes = |size: Option<u64>| size.map(|bytes| format!("{bytes}B").into());
        let number = |number: Option<u64>| number.map(|number| number.to_string().into());
        let pairs = [
            ("control", Some(control.into())),
            ("readonly", self.read_only.then(|| "true".into())),
            ("overlay", number(self.overlay)),
            ("pace", (self.pace == Pace::Drive).then(|| "drive".into())),
            ("idle-after", number(self.idle_after)),
            ("step-ms", number(self.step_ms)),
            ("throttle", number(self.throttle.map(u64::from))),
            ("lock-memory", self.lock_memory.then(|| "true".into())),
            ("map-memory", in_bytes(self.map_memory)),
            ("record", self.record.clone().map(PathBuf::into_os_string)),
            ("record-size", in_bytes(self.record_size)),
        ];
        stores.chain(pairs).filter_map(|(key, value)| Some((key, value?))).collect()
    }

    fn add_tls(&self, arguments: &mut Vec<OsString>) {
        let tls = match self.tls {
            Tls::Off => return,
            Tls::On => "on",
            Tls::Require => "require",
        };
        arguments.push(format!("--tls={tls}").into());
        let paths = [("--tls-certificates", &self.tls_certificates), ("--tls-psk", &self.tls_psk)];
        for (option, path) in paths {
            arguments.extend(path.as_ref().map(|path| pair(option, path.as_os_str())));
        }
        arguments.extend(self.tls_verify_peer.then(|| "--tls-verify-peer".into()));
    }
}

/// Refuses a file that is there and holds something else than the number of a process that has ended.
fn check_pidfile(path: &Path) -> Result<()> {
    let Ok(metadata) = std::fs::symlink_metadata(path) else { return Ok(()) };
    let is_number = || {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'\n')
    };
    if metadata.is_file() && metadata.len() <= LONGEST_NUMBER && is_number() {
        return Ok(());
    }
    Err(anyhow!("{} is there and holds no process number; take it away, or name another --pidfile", path.display()))
}

/// How the volume stands as soon as it is served; nothing when the server ends instead.
fn status_of(server: &mut Server, control: &Path) -> Option<Status> {
    loop {
        match control::ask(control, Question::Status) {
            Ok(Reply::Status(status)) => return Some(*status),
            Ok(_) => return None,
            Err(_) if !server.runs() => return None,
            Err(_) => thread::sleep(OFTEN),
        }
    }
}

fn pair(key: &str, value: &std::ffi::OsStr) -> OsString {
    let mut pair = OsString::from(key);
    pair.push("=");
    pair.push(value);
    pair
}

/// Tells who started the server where the volume is served, and how it was found.
fn tell_served(status: &Status, at: &str, web: &web::Child) {
    let described = described(status, at);
    manager::ready(&described);
    tell_who_listens(described + &web.told());
}

fn described(status: &Status, at: &str) -> String {
    let Status { layer, capacity_bytes, entries_read, images_replayed, units_lost, .. } = status;
    let access = if status.read_only { ", read only" } else { "" };
    let lost = if *units_lost > 0 { format!(", {units_lost} units are lost") } else { String::new() };
    let did = format!("recovery read {entries_read} journal entries and wrote {images_replayed} blocks again{lost}");
    format!("serving {layer}, {}{access}, at {at}\n{did}", bytes(*capacity_bytes))
}
