//! A queue of the device: its thread takes requests and hands results over. The driver wants both from one thread.

use std::fs::File;
use std::io;
use std::sync::Arc;

use imbrex_live::panics;
use imbrex_live::pool::Pool;
use imbrex_live::service::Client;

use crate::pool::{Asked, Job, Origin};
use crate::request::request;
use crate::results::Done;
use crate::ring::{Descriptors, Event, QueueRing};

/// What a queue's thread does until the device ends.
pub fn run(origin: &Arc<Origin>, depth: u16, device: &File, client: &Client, pool: &Pool<Job>) -> io::Result<()> {
    let results = &origin.results;
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
        let asked = events.drain(..).filter_map(|event| match event {
            Event::Request(tag) => Some(Asked { request: request(descriptors.get(tag)), tag }),
            _ => None,
        });
        let (writes, others): (Vec<_>, Vec<_>) = asked.partition(|asked| asked.request.may_be_in_batch(client));
        let batch = origin.writes.add(writes).then_some(None);
        let jobs = others.into_iter().map(Some).chain(batch);
        pool.give(jobs.map(|asked| Job { origin: Arc::clone(origin), asked }));
        results.take(&mut done);
        for Done { tag, result } in done.drain(..) {
            ring.commit(device, tag, result)?;
        }
    }
    Ok(())
}
