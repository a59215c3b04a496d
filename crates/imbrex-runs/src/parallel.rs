//! Independent pieces of work on several threads, with a result that does not depend on how many.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use anyhow::Result;

/// Does `work` on every item, `jobs` at a time. The results are in the order of the items, and so are errors: the first
/// item that fails is the one reported.
pub fn each<T: Sync, R: Send>(jobs: usize, items: &[T], work: impl Fn(&T) -> Result<R> + Sync) -> Result<Vec<R>> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (sender, results) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..jobs.min(items.len()) {
            let (sender, next, failed, work) = (sender.clone(), &next, &failed, &work);
            scope.spawn(move || {
                // Items are begun in order: when one fails, all before it have begun and will be finished.
                while !failed.load(Ordering::Relaxed) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { break };
                    let result = work(item);
                    failed.fetch_or(result.is_err(), Ordering::Relaxed);
                    // The receiver outlives the threads.
                    let _ = sender.send((index, result));
                }
            });
        }
    });
    drop(sender);
    let mut results: Vec<_> = results.into_iter().collect();
    results.sort_unstable_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// As many threads as there are cores.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}
