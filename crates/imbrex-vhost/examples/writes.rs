//! How many writes a second a server of vhost-user does: a guest is played that has so many random writes of 4 KiB under
//! way. Arguments are the socket, how many writes in all, how many at a time, and over how many MiB.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "nothing but a failure helps")]

#[path = "../tests/monitor/mod.rs"]
mod monitor;

use std::path::PathBuf;
use std::time::Instant;

use monitor::Ring;

const BLOCK: usize = 4096;

fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [socket, writes, depth, mib] = given.as_slice() else { panic!("SOCKET WRITES DEPTH MIB") };
    let (mut left, depth): (u64, u16) = (writes.parse().unwrap(), depth.parse().unwrap());
    let blocks = mib.parse::<u64>().unwrap() << 20 >> 12;
    let mut ring = Ring::new(&PathBuf::from(socket), depth, BLOCK);
    let (mut free, mut under_way, mut random) = ((0..depth).collect::<Vec<u16>>(), 0, 0x2545_f491_4f6c_dd1d_u64);
    let (since, all, content) = (Instant::now(), left, [7; BLOCK]);
    while left > 0 || under_way > 0 {
        free.truncate(left.min(free.len() as u64) as usize);
        for slot in &free {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            ring.write(*slot, random % blocks * 8, &content);
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
