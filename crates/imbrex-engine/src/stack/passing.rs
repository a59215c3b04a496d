//! How operations of the top become requests to the devices below, and their answers become results.

use bytes::Bytes;

use super::Stack;
use crate::{Failure, Io, IoKind, IoResult, Reply, Request};
use imbrex_core::block::{Extent, Lba, Pba};

/// The only client of a device below.
const ABOVE: u32 = 0;

/// An operation of the top that waits for devices below.
pub(super) struct Asked {
    /// The request that it is for alone, if there is one.
    pub request: Option<u64>,
    is_read: bool,
    left: usize,
    failed: bool,
}

impl Stack {
    /// Passes operations down and answers up until there is nothing to pass.
    pub(super) fn settle(&mut self) {
        if self.below.is_empty() {
            return;
        }
        loop {
            let ended = self.below.iter().map(Self::ended).sum();
            if ended > self.ended_below {
                self.ended_below = ended;
                self.top.device_restarted();
            }
            let answers: Vec<Reply> =
                self.below.iter_mut().flat_map(|device| std::iter::from_fn(|| device.poll_reply())).collect();
            let asked: Vec<Io> = std::iter::from_fn(|| self.top.poll_io()).collect();
            if answers.is_empty() && asked.is_empty() {
                return;
            }
            answers.into_iter().for_each(|Reply { id, result }| self.answered(id, result));
            asked.into_iter().for_each(|io| self.ask(io));
        }
    }

    /// Passes an operation of the top to the devices that it is for.
    fn ask(&mut self, io: Io) {
        let Io { id, kind, request: whose } = io;
        let is_read = matches!(kind, IoKind::Read(_));
        let (at, request) = match kind {
            IoKind::Report => return self.top.complete(id, IoResult::Report(self.top.unit_report())),
            // The devices are written in place: no layer may plan this.
            IoKind::Reset(_) => return self.top.complete(id, IoResult::Failed),
            IoKind::Flush => {
                self.asked.insert(id, Asked { request: whose, is_read, left: self.below.len(), failed: false });
                return self.below.iter_mut().for_each(|device| device.submit(ABOVE, id, Request::Flush));
            }
            IoKind::Read(at) => (at, Request::Read(logical(at))),
            IoKind::Write(at, data) => (at, Request::Write(logical(at), data)),
        };
        let device = usize::from(at.start.device()).checked_sub(usize::from(Pba::DISK));
        match device.and_then(|index| self.below.get_mut(index)) {
            Some(device) => {
                self.asked.insert(id, Asked { request: whose, is_read, left: 1, failed: false });
                device.submit(ABOVE, id, request);
            }
            None => self.top.complete(id, IoResult::Failed),
        }
    }

    /// Takes a device's answer to an operation of the top.
    fn answered(&mut self, id: u64, result: Result<Bytes, Failure>) {
        let Some(asked) = self.asked.get_mut(&id) else { return };
        asked.left -= 1;
        asked.failed |= result.is_err();
        let Asked { is_read, left: 0, failed, .. } = *asked else { return };
        self.asked.remove(&id);
        self.top.complete(
            id,
            match result {
                _ if failed => IoResult::Failed,
                Ok(data) if is_read => IoResult::Data(data),
                _ => IoResult::Done,
            },
        );
    }
}

/// The blocks of a device as its runner knows them.
fn logical(at: Extent<Pba>) -> Extent<Lba> {
    Extent::new(Lba(at.start.block()), at.blocks)
}
