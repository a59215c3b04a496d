//! The control socket: a program that may open it asks for the state of the volume, has it cleaned, and adds space to
//! it.
//!
//! A question is a line of JSON, and so is its answer: `{"ask":"status"}` has an object with the key `ok`, or with the
//! key `error`. A connection is for one question, and no client keeps
//! others waiting. Only its owner may open the socket.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::fs::Mode;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::services::{CONTROL, WEB};
use super::{Event, Service, ServiceStatus, Status};
use crate::engine::{Cleaning, NotGrowing};
use crate::panics::{self, contained};
use crate::threads;

/// The longest question.
const LONGEST: usize = 4 << 10;
/// How long a program that asks waits for the answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the server waits for a question, in however many pieces it comes: a program that asks may be slow on a busy
/// machine.
const ASKED_WITHIN: Duration = Duration::from_secs(2);
/// How long it waits for room for the answer.
const SOON: Duration = Duration::from_millis(500);
/// How often it is checked whether all questions have their answers, at the end.
const OFTEN: Duration = Duration::from_millis(2);
/// Questions that are answered at a time; a growth takes as long as it takes.
const MOST_ASKING: usize = 64;

/// A question.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Question {
    /// How the volume stands.
    Status,
    /// How the volume stands, for Prometheus.
    Metrics,
    /// What lies where.
    Units,
    /// What has happened.
    Events,
    /// How the process for HTTP stands, which tells this itself.
    Web {
        /// How often it had to begin again.
        restarts: u32,
        /// Connections that it ended without an answer.
        refused: u64,
    },
    /// Clean now, until nothing is left to clean.
    Clean,
    /// Do not clean unless a write finds no room.
    Pause,
    /// Clean when idle.
    Resume,
    /// How much of the time cleaning may take, in per cent.
    Throttle {
        /// From 1 to 100.
        percent: u8,
    },
    /// Read everything that has a checksum; the status says how that stands.
    Scrub {
        /// How much of the time that may take, from 1 to 100.
        percent: u8,
    },
    /// Grow; the answer comes when that is durable.
    Grow {
        /// How many bytes are added at least.
        bytes: u64,
    },
}

/// An answer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// What was asked for.
    Ok(Reply),
    /// Why not.
    Error(String),
}

/// What an answer says.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// How the volume stands, which is also the answer to a request to clean or to grow.
    Status(Box<Status>),
    /// Text for Prometheus.
    Metrics(String),
    /// What lies where, in the form of a look that a page draws: of the layer that serves the host first.
    Units(Vec<Value>),
    /// What has happened, the newest first.
    Events(Vec<Event>),
}

/// Why a question has no reply.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// No server answers at the socket.
    #[error("{}: no server answers there: {source}", .path.display())]
    NoServer {
        /// The socket.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The server answers that it does not do what it was asked for, and why.
    #[error("{0}")]
    Refused(String),
}

/// A socket that is listened at.
pub struct Control {
    path: PathBuf,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Control {
    /// Listens at `path`. What a server that was killed left there is removed.
    ///
    /// # Errors
    /// When that is not possible.
    pub fn listen(path: &Path, service: Arc<Service>) -> io::Result<Self> {
        remove_stale(path)?;
        // No other thread of the server makes a file.
        let mask = rustix::process::umask(Mode::from_raw_mode(0o177));
        let listener = UnixListener::bind(path);
        rustix::process::umask(mask);
        let (listener, ended) = (listener?, Arc::new(AtomicBool::new(false)));
        let end = Arc::clone(&ended);
        let thread = threads::own("control").spawn(move || answer_all(&listener, &service, &end))?;
        Ok(Self { path: path.to_owned(), ended, thread: Some(thread) })
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // Wakes the thread. When it cannot, no client can ask either.
        let woken = UnixStream::connect(&self.path);
        if let Some(thread) = self.thread.take().filter(|_| woken.is_ok()) {
            let _ = thread.join();
        }
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Removes a socket that no program listens at.
///
/// # Errors
/// When one does, or something else is there.
pub fn remove_stale(path: &Path) -> io::Result<()> {
    let Ok(metadata) = std::fs::symlink_metadata(path) else { return Ok(()) };
    let taken = |what: &str| Err(io::Error::new(io::ErrorKind::AddrInUse, format!("{} {what}", path.display())));
    // A server whose control socket is elsewhere leaves a link to it here.
    let is_link = metadata.file_type().is_symlink();
    let is_socket = std::fs::metadata(path).map_or(is_link, |metadata| metadata.file_type().is_socket());
    if !is_socket {
        return taken("is there and is no socket");
    }
    let gone = match UnixStream::connect(path) {
        Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => std::fs::remove_file(path),
        Err(e) if e.kind() == io::ErrorKind::NotFound && is_link => std::fs::remove_file(path),
        Err(e) => Err(e),
        Ok(_) => return taken("is the socket of a server that runs"),
    };
    let say = |e: io::Error| {
        format!("{}: the socket that is there cannot be taken away: {e}; choose another", path.display())
    };
    gone.map_err(|e| io::Error::new(e.kind(), say(e)))
}

/// Connections whose question has no answer yet.
#[derive(Default)]
struct Asking(Mutex<Vec<Arc<UnixStream>>>);

impl Asking {
    /// Takes one more, unless there are too many.
    fn add(&self, stream: UnixStream) -> Option<Arc<UnixStream>> {
        let mut all = self.all();
        let stream = (all.len() < MOST_ASKING).then(|| Arc::new(stream))?;
        all.push(Arc::clone(&stream));
        Some(stream)
    }

    fn remove(&self, stream: &Arc<UnixStream>) {
        self.all().retain(|other| !Arc::ptr_eq(other, stream));
    }

    /// Takes no more questions, and waits a short time for the answers to be read. An operation that a client asked for
    /// is waited for by the thread that does it.
    fn end(&self) {
        let since = Instant::now();
        let shut = |how| self.all().iter().for_each(|stream| drop(stream.shutdown(how)));
        shut(Shutdown::Read);
        while !self.all().is_empty() && since.elapsed() < SOON {
            thread::sleep(OFTEN);
        }
        shut(Shutdown::Both);
    }

    fn all(&self) -> MutexGuard<'_, Vec<Arc<UnixStream>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answers every connection, each for itself, and comes to an end with the last of them.
fn answer_all(listener: &UnixListener, service: &Service, end: &AtomicBool) {
    let asking = Asking::default();
    let one = |stream: &Arc<UnixStream>| {
        if let Err(error) = answer(stream, service) {
            tracing::debug!(%error, "a client asked and did not wait for the answer");
        }
        asking.remove(stream);
    };
    let one = &one;
    thread::scope(|scope| {
        for stream in listener.incoming().take_while(|_| !end.load(Ordering::Relaxed)) {
            let Ok(stream) = stream else {
                thread::sleep(SOON);
                continue;
            };
            let Some(stream) = asking.add(stream) else {
                service.services.refused(CONTROL);
                continue;
            };
            let asks = Arc::clone(&stream);
            if threads::own("control").spawn_scoped(scope, move || one(&asks)).is_err() {
                asking.remove(&stream);
                service.services.refused(CONTROL);
            }
        }
        asking.end();
    });
}

/// The line of a question, or as much of it as there is.
fn question(mut stream: &UnixStream) -> io::Result<Vec<u8>> {
    let until = Instant::now() + ASKED_WITHIN;
    let (mut line, mut part) = (Vec::new(), [0; 512]);
    while !line.contains(&b'\n') && line.len() < LONGEST {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut part)? {
            0 => break,
            bytes => line.extend_from_slice(&part[..bytes]),
        }
    }
    Ok(line)
}

/// Answers the question of a connection.
fn answer(mut stream: &UnixStream, service: &Service) -> io::Result<()> {
    stream.set_write_timeout(Some(SOON))?;
    let line = question(stream)?;
    let answer = match serde_json::from_slice(&line) {
        Ok(question) if changes_nothing(question) => contained(|| reply(question, service)).unwrap_or_else(|| {
            service.services.restarted(CONTROL);
            Answer::Error("the question could not be answered; the log says why".to_owned())
        }),
        Ok(question) => reply(question, service),
        Err(e) => Answer::Error(format!("that is no question: {e}")),
    };
    let mut text = serde_json::to_vec(&answer)?;
    text.push(b'\n');
    stream.write_all(&text)
}

fn changes_nothing(question: Question) -> bool {
    use Question::{Events, Metrics, Status, Units, Web};
    matches!(question, Status | Metrics | Units | Events | Web { .. })
}

fn reply(question: Question, service: &Service) -> Answer {
    let engine = service.engine();
    panics::injected("control");
    match question {
        Question::Units => return Answer::Ok(Reply::Units(service.units())),
        Question::Events => return Answer::Ok(Reply::Events(service.events())),
        Question::Web { restarts, refused } => {
            service.services.set(WEB, ServiceStatus { restarts: restarts.into(), refused });
        }
        Question::Metrics => return Answer::Ok(Reply::Metrics(service.metrics())),
        Question::Clean | Question::Resume if service.read_only() => {
            return Answer::Error("the volume is only read: nothing is cleaned".to_owned());
        }
        Question::Grow { .. } if service.read_only() => {
            return Answer::Error("the volume is only read: it does not grow".to_owned());
        }
        Question::Throttle { percent: 0 | 101.. } | Question::Scrub { percent: 0 | 101.. } => {
            return Answer::Error("a throttle is a percentage from 1 to 100".to_owned());
        }
        Question::Status => {}
        Question::Clean => engine.set_cleaning(Cleaning::Now),
        Question::Pause => engine.set_cleaning(Cleaning::Paused),
        Question::Resume => engine.set_cleaning(Cleaning::WhenIdle),
        Question::Scrub { percent } => {
            if let Err(why) = service.scrub(percent) {
                return Answer::Error(why.to_string());
            }
        }
        Question::Throttle { percent } => engine.set_throttle(percent),
        Question::Grow { bytes } => {
            let block_bytes = engine.block_bytes();
            match engine.grow(bytes.div_ceil(block_bytes.into())) {
                Ok(()) => {}
                Err(NotGrowing::Layer(why)) => return Answer::Error(why.to_bytes(bytes, block_bytes)),
                Err(why) => return Answer::Error(why.to_string()),
            }
        }
    }
    Answer::Ok(Reply::Status(Box::new(service.status())))
}

/// Asks the server whose control socket is at `path`.
///
/// # Errors
/// When no server answers, or the server refuses.
pub fn ask(path: &Path, question: Question) -> Result<Reply, AskError> {
    match exchange(path, question) {
        Ok(Answer::Ok(reply)) => Ok(reply),
        Ok(Answer::Error(why)) => Err(AskError::Refused(why)),
        Err(source) => Err(AskError::NoServer { path: path.to_owned(), source }),
    }
}

fn exchange(path: &Path, question: Question) -> io::Result<Answer> {
    let mut stream = UnixStream::connect(path)?;
    // How long the drives take to make something durable is not the server's to say.
    let patience = if let Question::Grow { .. } = question { None } else { Some(PATIENCE) };
    stream.set_read_timeout(patience)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut text = serde_json::to_vec(&question)?;
    text.push(b'\n');
    stream.write_all(&text)?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}
