//! The threads that answer requests.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use imbrex_live::pool::Pool;
use imbrex_live::service::{Batches, Client, Content, Request, contents, errno};
use rustix::io::Errno;

use crate::abi;
use crate::request::result;
use crate::results::{Done, Results};

/// A queue, as the threads know it.
pub struct Origin {
    /// Where results go.
    pub results: Results,
    /// Short writes that wait.
    pub writes: Batches<Asked>,
}

/// A request of a queue.
#[derive(Copy, Clone)]
pub struct Asked {
    pub request: Request,
    pub tag: u16,
}

/// What a thread of the pool does.
pub struct Job {
    pub origin: Arc<Origin>,
    /// The request that it answers; or else it answers the short writes that wait.
    pub asked: Option<Asked>,
}

/// What a thread does until the pool ends.
pub fn work(pool: &Pool<Job>, client: &Client, device: &File) {
    let mut buffer = Vec::new();
    pool.work(|Job { origin, asked }| match asked {
        Some(asked) => {
            let came = asked.request.answer(client, &asked.content(&origin, device), &mut buffer);
            origin.results.put([asked.done(came)]);
            None
        }
        // Others come first before more writes: of them there may always be some.
        None => origin.write_some(client, device).then_some(Job { origin, asked: None }),
    });
}

impl Origin {
    /// Answers short writes that have come; says whether there were any, and it is to be asked for more.
    fn write_some(&self, client: &Client, device: &File) -> bool {
        let writes = self.writes.take();
        let mut fetched = Vec::with_capacity(writes.len());
        let len = |write: &Asked| write.request.len as usize;
        let (contents, places) = contents(&writes, len, |write, into| {
            let from = into.len();
            into.resize(from + len(write), 0);
            let came = write.content(self, device).put_into(&mut into[from..]);
            fetched.push(came.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO)));
        });
        let is_there = |at: &usize| fetched[*at].is_ok();
        let (there, missing): (Vec<_>, Vec<_>) = (0..writes.len()).partition(is_there);
        self.results.put(missing.into_iter().map(|at| writes[at].done(fetched[at])));
        if !there.is_empty() {
            let place = |at: &usize| (writes[*at].request.offset, places[*at].clone());
            client.write_batch(&contents, &there.iter().map(place).collect::<Vec<_>>(), &mut |written| {
                let done = |(at, came): (usize, Result<(), _>)| {
                    writes[there[at]].done(came.map_err(|failure| errno(&failure)))
                };
                self.results.put(written.into_iter().map(done));
            });
        }
        !writes.is_empty()
    }
}

impl Asked {
    fn done(&self, came: Result<(), Errno>) -> Done {
        Done { tag: self.tag, result: result(&self.request, came) }
    }

    fn content<'d>(&self, origin: &Origin, device: &'d File) -> Copied<'d> {
        Copied { device, at: abi::content_at(origin.results.queue(), self.tag) }
    }
}

/// The content of a request, at its place in the device of the driver.
struct Copied<'a> {
    device: &'a File,
    at: u64,
}

impl Copied<'_> {
    fn put_into(&self, content: &mut [u8]) -> io::Result<()> {
        self.device.read_exact_at(content, self.at)
    }
}

impl Content for Copied<'_> {
    fn fetch(&self, len: usize) -> io::Result<Vec<u8>> {
        let mut content = vec![0; len];
        self.put_into(&mut content)?;
        Ok(content)
    }

    fn hand_over(&self, content: &[u8]) -> io::Result<()> {
        self.device.write_all_at(content, self.at)
    }
}
