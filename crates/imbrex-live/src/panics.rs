//! What a panic comes to. A thread of a server that has panicked leaves state behind that nobody may rely on, and
//! others who wait for it for ever. So the server ends, as if it had been killed: what was flushed is durable, clients see
//! their connections end, and the next start recovers. Where a thread only looks at the volume and changes nothing, a
//! panic costs no more than the answer.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::process;
use std::thread;
use std::time::Duration;

/// How long it may take to say that there was a panic: the reader of the messages may have stopped reading.
const SAID_WITHIN: Duration = Duration::from_secs(1);

thread_local! {
    static IS_CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// Ends this process when a thread panics, after `say` has been given one line that says why.
pub fn end_the_process(say: impl Fn(&str) + Send + Sync + 'static) {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if IS_CONTAINED.get() {
            before(info);
            return;
        }
        let patience = thread::Builder::new().spawn(|| {
            thread::sleep(SAID_WITHIN);
            process::abort();
        });
        if patience.is_ok() {
            say(&described(info));
        }
        process::abort();
    }));
}

fn described(info: &PanicHookInfo<'_>) -> String {
    let current = thread::current();
    let place = info.location().map_or(String::new(), |at| format!(" at {}:{}", at.file(), at.line()));
    let payload = info.payload();
    let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let why = text.unwrap_or("for no reason that can be said");
    format!("thread {} panicked{place}: {why}", current.name().unwrap_or("without a name"))
}

/// Does something that changes nothing, whose panic is no more than the lack of a result.
pub(crate) fn contained<T>(look: impl FnOnce() -> T) -> Option<T> {
    IS_CONTAINED.set(true);
    let result = catch_unwind(AssertUnwindSafe(look));
    IS_CONTAINED.set(false);
    result.ok()
}

/// Panics if the environment variable `IMBREX_PANIC` is `PLACE@FILE`, this is the place, and there is such a file: so
/// checks see what a panic comes to. Without debug assertions it does nothing.
pub fn injected(place: &str) {
    #[cfg(debug_assertions)]
    {
        use std::sync::OnceLock;
        static WANTED: OnceLock<Option<(String, String)>> = OnceLock::new();
        let wanted = WANTED.get_or_init(|| {
            let wanted = std::env::var("IMBREX_PANIC").ok()?;
            wanted.split_once('@').map(|(place, file)| (place.to_owned(), file.to_owned()))
        });
        if let Some((_, file)) = wanted.as_ref().filter(|(wanted, _)| wanted == place) {
            assert!(!std::path::Path::new(file).exists(), "as IMBREX_PANIC asks");
        }
    }
    #[cfg(not(debug_assertions))]
    let _ = place;
}
