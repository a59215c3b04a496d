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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use imbrex::drive::DrivePreset;
    use imbrex::layers;
    use imbrex_live::service::{Service, ServiceOptions, What};
    use imbrex_live::store_path;
    use imbrex_live::volume::{FormatOptions, format};

    use super::*;

    const BLOCK: u64 = 4096;

    fn service(path: &Path) -> Arc<Service> {
        let drive = DrivePreset::named("small-zoned").unwrap().with_capacity(64 << 20).unwrap();
        let mut prepared = store_path::prepare(path, Some(&drive), false).unwrap();
        prepared.make().unwrap();
        let (layer, config) = (layers::find("log-greedy").unwrap(), toml::Table::new());
        let options = FormatOptions { layer, config: &config, buffer: None, journal_blocks: None, map_memory: None };
        format(vec![prepared.store()], &options).unwrap();
        prepared.keep();
        let mut options = ServiceOptions::default();
        options.set("store", path.to_str().unwrap()).unwrap();
        Arc::new(Service::start(&options).unwrap())
    }

    #[test]
    fn of_a_batch_only_what_cannot_be_fetched_fails() {
        let folder = tempfile::tempdir().unwrap();
        let service = service(&folder.path().join("volume.img"));
        service.engine().wait_until_serving().unwrap();
        // In place of the driver's device: it ends before the content of the last tag.
        let device =
            File::options().create_new(true).read(true).write(true).open(folder.path().join("device")).unwrap();
        for tag in [0, 1] {
            device.write_all_at(&[tag + 1; BLOCK as usize], abi::content_at(0, tag.into())).unwrap();
        }
        let origin = Origin { results: Results::of(0).unwrap(), writes: Batches::default() };
        let write = |tag: u16, block: u64| Asked {
            request: Request { what: What::Write, offset: block * BLOCK, len: BLOCK, durably: false },
            tag,
        };
        assert!(origin.writes.add(vec![write(0, 5), write(2, 6), write(1, 7)]));
        assert!(origin.write_some(&Client::of(&service), &device));
        let mut done = Vec::new();
        origin.results.take(&mut done);
        done.sort_unstable_by_key(|done| done.tag);
        let failed = -Errno::IO.raw_os_error();
        assert_eq!(done, [(0, BLOCK as i32), (1, BLOCK as i32), (2, failed)].map(|(tag, result)| Done { tag, result }));
        let holds = |block: u64| {
            let mut content = vec![9; BLOCK as usize];
            service.engine().read_bytes(0, block * BLOCK, &mut content).unwrap();
            content
        };
        assert_eq!([5, 6, 7].map(holds), [1, 0, 2].map(|byte| vec![byte; BLOCK as usize]));
    }
}
