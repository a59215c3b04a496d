//! A queue of the device: its thread takes requests and hands results over. The driver wants both from one thread.

use std::fs::File;
use std::io;
use std::sync::Arc;

use imbrex_live::panics;
use imbrex_live::pool::Pool;

use crate::pool::Job;
use crate::request::request;
use crate::results::{Done, Results};
use crate::ring::{Descriptors, Event, QueueRing};

/// What a queue's thread does until the device ends.
pub fn run(results: &Arc<Results>, depth: u16, device: &File, pool: &Pool<Job>) -> io::Result<()> {
    let descriptors = Descriptors::of(device, results.queue(), depth)?;
    let mut ring = QueueRing::new(results.queue(), depth)?;
    for tag in 0..depth {
        ring.fetch(device, tag)?;
    }
    ring.wake_by(results.counter())?;
    let (mut events, mut done, mut left) = (Vec::new(), Vec::new(), depth);
    while left > 0 {
        ring.wait(&mut events)?;
        panics::injected("queue");
        if events.contains(&Event::Woken) {
            results.heard();
            ring.wake_by(results.counter())?;
        }
        left -= events.iter().filter(|event| matches!(event, Event::Ended(_))).count() as u16;
        let job = |event| match event {
            Event::Request(tag) => {
                Some(Job { request: request(descriptors.get(tag)), tag, results: Arc::clone(results) })
            }
            _ => None,
        };
        pool.give(events.drain(..).filter_map(job));
        results.take(&mut done);
        for Done { tag, result } in done.drain(..) {
            ring.commit(device, tag, result)?;
        }
    }
    Ok(())
}
