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

/// The same, beginning with the items that are expected to take most seconds, so that no core waits long for the last
/// one.
pub fn longest_first<T: Sync, R: Send>(
    jobs: usize,
    items: &[T],
    seconds: impl Fn(&T) -> f64,
    work: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by(|one, other| seconds(&items[*other]).total_cmp(&seconds(&items[*one])));
    let results = each(jobs, &order, |at| work(&items[*at]))?;
    let mut results: Vec<_> = order.into_iter().zip(results).collect();
    results.sort_unstable_by_key(|(at, _)| *at);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

/// As many threads as there are cores.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn what_takes_longest_is_begun_first_and_results_keep_their_order() {
        let begun = Mutex::new(Vec::new());
        let work = |item: &u32| {
            begun.lock().unwrap().push(*item);
            Ok(2 * item)
        };
        assert_eq!(longest_first(1, &[3, 1, 7, 3], |item| f64::from(*item), work).unwrap(), [6, 2, 14, 6]);
        assert_eq!(*begun.lock().unwrap(), [7, 3, 3, 1]);
    }
}
