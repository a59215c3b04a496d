//! How many writes a second a server of vhost-user does: a guest is played that has so many under way. Arguments are the
//! socket, how many writes in all, how many at a time, over how many MiB, and how many KiB each has: those of 4 KiB go
//! anywhere, and longer ones where the one before ended.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "nothing but a failure helps")]

#[path = "../tests/monitor/mod.rs"]
mod monitor;

use std::path::PathBuf;
use std::time::Instant;

use monitor::Ring;

/// KiB of a write that goes anywhere.
const SHORT: u64 = 4;

fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [socket, writes, depth, mib, kib] = given.as_slice() else { panic!("SOCKET WRITES DEPTH MIB KIB") };
    let (mut left, depth, kib): (u64, u16, u64) =
        (writes.parse().unwrap(), depth.parse().unwrap(), kib.parse().unwrap());
    let places = (mib.parse::<u64>().unwrap() << 10) / kib;
    let content = vec![7; (kib << 10) as usize];
    let mut ring = Ring::new(&PathBuf::from(socket), depth, content.len());
    let (mut free, mut under_way, mut random) = ((0..depth).collect::<Vec<u16>>(), 0, 0x2545_f491_4f6c_dd1d_u64);
    let (since, all, mut next) = (Instant::now(), left, 0);
    while left > 0 || under_way > 0 {
        free.truncate(left.min(free.len() as u64) as usize);
        for slot in &free {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let place = if kib == SHORT { random } else { next };
            next += 1;
            ring.write(*slot, place % places * kib * 2, &content);
        }
        if !free.is_empty() {
            ring.push(&free);
        }
        left -= free.len() as u64;
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
    println!("{:.0}", all as f64 / since.elapsed().as_secs_f64());
}
