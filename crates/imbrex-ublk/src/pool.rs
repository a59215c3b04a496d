//! The threads that answer requests.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use imbrex_live::pool::Pool;
use imbrex_live::service::{Client, Content, Request};

use crate::abi;
use crate::request::answer;
use crate::results::Results;

/// A request, and where its result is to go.
pub struct Job {
    pub request: Request,
    pub tag: u16,
    pub results: Arc<Results>,
}

/// What a thread does until the pool ends.
pub fn work(pool: &Pool<Job>, client: &Client, device: &File) {
    let mut buffer = Vec::new();
    while let Some(Job { request, tag, results }) = pool.take() {
        let at = abi::content_at(results.queue(), tag);
        results.put(tag, answer(&request, client, &Copied { device, at }, &mut buffer));
    }
}

/// The content of a request, at its place in the device of the driver.
struct Copied<'a> {
    device: &'a File,
    at: u64,
}

impl Content for Copied<'_> {
    fn fetch(&self, into: &mut [u8]) -> io::Result<()> {
        self.device.read_exact_at(into, self.at)
    }

    fn hand_over(&self, content: &[u8]) -> io::Result<()> {
        self.device.write_all_at(content, self.at)
    }
}
