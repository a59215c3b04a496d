//! A runner for a single caller without threads: one request and one operation after the other. What is done in order
//! is done the same way every time.

use bytes::Bytes;
use imbrex::perform::{Failure, Fatal, IoResult, Reply, Request, Stack};

use crate::store::Members;

/// A runner and the stores it works on.
pub struct Solo {
    /// The runner.
    pub stack: Stack,
    members: Members,
    next_id: u64,
    /// The errors of operations that failed, as far as they have not been taken.
    pub errors: Vec<String>,
}

/// Why a volume is not served.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unserved {
    /// What is on its members cannot be used.
    #[error(transparent)]
    Fatal(#[from] Fatal),
    /// It waits for something that does not come.
    #[error("the volume does not begin to serve")]
    Silent,
}

impl Solo {
    /// Lets a runner that was just started come to serve.
    ///
    /// # Errors
    /// Why it does not.
    pub fn begin(stack: Stack, members: Members) -> Result<Self, Unserved> {
        let mut solo = Self { stack, members, next_id: 0, errors: Vec::new() };
        solo.settle();
        match solo.stack.dead() {
            Some(why) => Err(why.clone().into()),
            None if solo.stack.is_serving() => Ok(solo),
            None => Err(Unserved::Silent),
        }
    }

    /// Carries operations out until there are none.
    pub fn settle(&mut self) {
        while let Some((drive, io)) = self.stack.poll_io() {
            let result = self.members[drive].perform(&io.kind).unwrap_or_else(|error| {
                self.errors.push(error.to_string());
                IoResult::Failed
            });
            self.stack.complete(io.id, result);
        }
    }

    /// Answers a request.
    ///
    /// # Errors
    /// Why it failed.
    pub fn call(&mut self, request: Request) -> Result<Bytes, Failure> {
        self.next_id += 1;
        self.stack.submit(0, self.next_id, request);
        self.settle();
        let replies = std::iter::from_fn(|| self.stack.poll_reply());
        let mut own = replies.filter(|Reply { id, .. }| *id == self.next_id);
        own.next().map_or(Err(Failure::Io), |reply| reply.result)
    }
}
