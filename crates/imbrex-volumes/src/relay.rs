//! What nbdkit says, passed on to standard error. Whatever becomes of that, nbdkit is listened to: a server that cannot
//! get rid of its messages would stand still.

use std::io::{BufRead, BufReader, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use imbrex_live::service::NOT_DURABLE;
use imbrex_terminal::say::note;
use serde_json::json;

/// Lines that wait for standard error at most. More are left out.
const MOST_WAITING: usize = 1024;
/// The longest line; the rest of a longer one is another line.
const LONGEST: u64 = 16 << 10;
/// How long standard error has for what waits when nbdkit has ended.
const PATIENCE: Duration = Duration::from_secs(1);
/// What nbdkit before 1.34 says when it ends because a client hung up while several of its requests were being
/// answered.
const HUNG_UP: &str = "raw_send_socket: Assertion `sock >= 0' failed";

/// The listeners to nbdkit.
pub struct Relay {
    heard: Arc<Mutex<Heard>>,
    reader: JoinHandle<()>,
    written: Receiver<()>,
}

/// What nbdkit said that matters when it has ended.
#[derive(Default)]
pub struct Heard {
    /// The last error that explains its end.
    pub error: Option<String>,
    /// Whether it ends by a fault of its own, since a client hung up.
    pub hung_up: bool,
    /// Whether the volume is served: errors are not those of the start any more.
    serving: bool,
}

/// Lines on their way to standard error.
struct Queue {
    lines: SyncSender<String>,
    left_out: Arc<AtomicU64>,
}

impl Relay {
    /// Listens to `lines`. With `json`, what is passed on is JSON, whichever program said it.
    pub fn start(lines: impl Read + Send + 'static, json: bool) -> Self {
        let heard = Arc::new(Mutex::new(Heard::default()));
        let (queue, waiting) = mpsc::sync_channel(MOST_WAITING);
        let (done, written) = mpsc::channel();
        let left_out = Arc::new(AtomicU64::new(0));
        let queue = Queue { lines: queue, left_out: Arc::clone(&left_out) };
        let listener = Arc::clone(&heard);
        let reader = thread::spawn(move || listen(lines, &listener, &queue));
        thread::spawn(move || {
            write_out(&waiting, &left_out, json);
            drop(done);
        });
        Self { heard, reader, written }
    }

    /// From now on the volume is served.
    pub fn serving(&self) {
        let mut heard = lock(&self.heard);
        (heard.serving, heard.error) = (true, None);
    }

    /// What was heard until nbdkit's end.
    pub fn end(self) -> Heard {
        let _ = self.reader.join();
        // Nothing is sent: it is told that the writer has gone, or is left where it stands.
        let _ = self.written.recv_timeout(PATIENCE);
        std::mem::take(&mut lock(&self.heard))
    }
}

fn lock(heard: &Mutex<Heard>) -> MutexGuard<'_, Heard> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}

fn listen(lines: impl Read, heard: &Mutex<Heard>, queue: &Queue) {
    let mut lines = BufReader::new(lines);
    let mut line = Vec::new();
    while lines.by_ref().take(LONGEST).read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        if lock(heard).is_to_be_passed_on(&text) && queue.lines.try_send(text).is_err() {
            queue.left_out.fetch_add(1, Ordering::Relaxed);
        }
        line.clear();
    }
}

impl Heard {
    /// Takes note of a line. What is said again at the end is not passed on.
    fn is_to_be_passed_on(&mut self, line: &str) -> bool {
        if line.contains(HUNG_UP) {
            self.hung_up = true;
            return false;
        }
        match error(line).filter(|error| !self.serving || error.starts_with(NOT_DURABLE)) {
            Some(error) => self.error = Some(error.to_owned()),
            None => return true,
        }
        false
    }
}

/// What an error line of nbdkit itself says, such as `nbdkit: error: no space left on device`. Those about a client
/// name a connection or a thread of it, as in `nbdkit: imbrex[1]: error: ...` and `nbdkit: imbrex.0: error: ...`.
fn error(line: &str) -> Option<&str> {
    line.strip_prefix("nbdkit: error: ")
}

fn write_out(lines: &Receiver<String>, left_out: &AtomicU64, json: bool) {
    let write = |level: &str, line: &str| match json && !line.starts_with('{') {
        true => note(json!({ "level": level, "fields": { "message": line }, "target": "nbdkit" })),
        false => note(line),
    };
    for line in lines {
        write("ERROR", &line);
        let left_out = left_out.swap(0, Ordering::Relaxed);
        if left_out > 0 {
            write("WARN", &format!("{left_out} lines are left out here, since they could not be written fast enough"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_start_are_told_from_those_of_requests() {
        let mut heard = Heard::default();
        assert!(!heard.is_to_be_passed_on("nbdkit: error: a.img is in use"));
        assert_eq!(heard.error.as_deref(), Some("a.img is in use"));
        for client in ["nbdkit: imbrex[1]: error: input/output error", "nbdkit: imbrex.0: error: read failed"] {
            assert!(heard.is_to_be_passed_on(client), "{client}");
        }
        assert!(heard.is_to_be_passed_on("2026-01-01T00:00:00Z  WARN an operation failed error: x"));
        assert_eq!(heard.error.as_deref(), Some("a.img is in use"));
        heard.serving = true;
        assert!(heard.is_to_be_passed_on("nbdkit: error: accept: Too many open files"), "no reason for its end");
        assert!(!heard.is_to_be_passed_on(&format!("nbdkit: error: {NOT_DURABLE}: x")));
        assert_eq!(heard.error, Some(format!("{NOT_DURABLE}: x")));
    }

    #[test]
    fn all_is_listened_to_when_nothing_can_be_written() {
        let (queue, waiting) = mpsc::sync_channel(2);
        let queue = Queue { lines: queue, left_out: Arc::default() };
        listen("line\n".repeat(10).as_bytes(), &Mutex::default(), &queue);
        assert_eq!((waiting.try_iter().count(), queue.left_out.load(Ordering::Relaxed)), (2, 8));
        listen("x".repeat(40_000).as_bytes(), &Mutex::default(), &queue);
        assert_eq!(waiting.try_iter().map(|line| line.len()).max(), Some(LONGEST as usize));
    }
}
