//! How many writes a second a server of vhost-user does: a guest is played that has so many under way. Arguments are the
//! socket, how many writes in all, how many at a time, over how many MiB, and how many KiB each has: those of 4 KiB go
//! anywhere, and longer ones where the one before ended. With a file instead of a socket it is written to by this program,
//! one write after the other, which is what no server with a thread for a queue can exceed.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "nothing but a failure helps")]

#[path = "../tests/monitor/mod.rs"]
mod monitor;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

use monitor::Ring;

/// KiB of a write that goes anywhere.
const SHORT: u64 = 4;

/// What is written.
struct Writes {
    left: u64,
    depth: u16,
    kib: u64,
    /// How many places there are, and the last one.
    places: u64,
    place: u64,
    random: u64,
}

impl Writes {
    /// The KiB from which the next one goes on.
    fn next(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.place = if self.kib == SHORT { self.random } else { self.place + 1 } % self.places;
        self.place * self.kib
    }

    fn by_guest(mut self, socket: &Path, content: &[u8]) {
        let mut ring = Ring::new(socket, self.depth, content.len());
        let (mut free, mut under_way) = ((0..self.depth).collect::<Vec<u16>>(), 0);
        while self.left > 0 || under_way > 0 {
            free.truncate(self.left.min(free.len() as u64) as usize);
            for slot in &free {
                ring.write(*slot, self.next() * 2, content);
            }
            if !free.is_empty() {
                ring.push(&free);
            }
            self.left -= free.len() as u64;
            under_way += free.len();
            free.clear();
            ring.ended(&mut free);
            if free.is_empty() {
                ring.wait();
                ring.ended(&mut free);
            }
            assert!(free.iter().all(|slot| ring.status(*slot) == 0), "a write failed");
            under_way -= free.len();
        }
    }

    fn by_itself(mut self, file: &File, content: &[u8]) {
        for _ in 0..self.left {
            file.write_all_at(content, self.next() << 10).unwrap();
        }
    }
}

fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [path, writes, depth, mib, kib] = given.as_slice() else { panic!("SOCKET|FILE WRITES DEPTH MIB KIB") };
    let (left, depth, kib): (u64, u16, u64) = (writes.parse().unwrap(), depth.parse().unwrap(), kib.parse().unwrap());
    let places = (mib.parse::<u64>().unwrap() << 10) / kib;
    let (path, content) = (Path::new(path), vec![7; (kib << 10) as usize]);
    let writes = Writes { left, depth, kib, places, place: 0, random: 0x2545_f491_4f6c_dd1d };
    let since = Instant::now();
    if path.is_file() {
        writes.by_itself(&File::options().write(true).open(path).unwrap(), &content);
    } else {
        writes.by_guest(path, &content);
    }
    println!("{:.0}", left as f64 / since.elapsed().as_secs_f64());
}
