//! Blocks in files that take little for those that are mostly the same byte, as pages of a map are of which little is
//! set: a store of millions of them fits on the disk of whoever runs the test.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// Bytes of a small block, of which the first two say how many follow. None are there for one that is kept whole.
const SMALL: usize = 256;
/// Fewer equal bytes than these are not worth a run.
const RUN: usize = 6;

/// The blocks.
pub struct Store {
    block: usize,
    small: File,
    whole: File,
}

impl Store {
    pub fn new(block: usize) -> Self {
        let file = || tempfile::tempfile().unwrap();
        Self { block, small: file(), whole: file() }
    }

    /// Reads blocks from `first` on; zeros of those that were not written.
    pub fn read(&self, first: u64, content: &mut [u8]) {
        for (number, block) in (first..).zip(content.chunks_mut(self.block)) {
            let mut small = [0; SMALL];
            read(&self.small, &mut small, number * SMALL as u64);
            match usize::from(u16::from_le_bytes([small[0], small[1]])) {
                0 => read(&self.whole, block, number * self.block as u64),
                length => unpack(&small[2..2 + length], block),
            }
        }
    }

    /// Writes blocks from `first` on.
    pub fn write(&self, first: u64, content: &[u8]) {
        for (number, block) in (first..).zip(content.chunks(self.block)) {
            let packed = pack(block);
            let fits = packed.len() <= SMALL - 2;
            let length = if fits { packed.len() as u16 } else { 0 };
            let mut small = length.to_le_bytes().to_vec();
            if fits {
                small.extend(packed);
            } else {
                self.whole.write_all_at(block, number * self.block as u64).unwrap();
            }
            self.small.write_all_at(&small, number * SMALL as u64).unwrap();
        }
    }
}

/// Reads what lies in a file, and zeros behind its end.
pub fn read(file: &File, bytes: &mut [u8], offset: u64) {
    let mut done = 0;
    while done < bytes.len() {
        match file.read_at(&mut bytes[done..], offset + done as u64).unwrap() {
            0 => return bytes[done..].fill(0),
            read => done += read,
        }
    }
}

/// Runs of a byte (length with the highest bit set, byte) and other bytes (length, bytes).
fn pack(block: &[u8]) -> Vec<u8> {
    let (mut packed, mut others) = (Vec::new(), 0);
    let mut at = 0;
    while at < block.len() {
        let run = block[at..].iter().take_while(|byte| **byte == block[at]).count();
        if run >= RUN {
            add_others(&mut packed, &block[others..at]);
            packed.extend((run as u16 | 1 << 15).to_le_bytes());
            packed.push(block[at]);
            others = at + run;
        }
        at += run;
    }
    add_others(&mut packed, &block[others..]);
    packed
}

fn add_others(packed: &mut Vec<u8>, others: &[u8]) {
    if !others.is_empty() {
        packed.extend((others.len() as u16).to_le_bytes());
        packed.extend(others);
    }
}

fn unpack(mut packed: &[u8], block: &mut [u8]) {
    let mut at = 0;
    while let [low, high, rest @ ..] = packed {
        let length = usize::from(u16::from_le_bytes([*low, high & 0x7f]));
        let part = &mut block[at..at + length];
        if high & 1 << 7 == 0 {
            part.copy_from_slice(&rest[..length]);
            packed = &rest[length..];
        } else {
            part.fill(rest[0]);
            packed = &rest[1..];
        }
        at += length;
    }
}

#[test]
fn what_is_written_is_read() {
    let store = Store::new(4096);
    let mut block = vec![u8::MAX; 4096];
    block[..20].copy_from_slice(b"twenty bytes of text");
    block[4000] = 7;
    let noise: Vec<u8> = (0..4096u32).map(|i| ((i * i) >> 5) as u8).collect();
    store.write(3, &[block.clone(), noise.clone()].concat());
    store.write(9, &vec![0; 4096]);
    let mut found = vec![1; 4 * 4096];
    store.read(2, &mut found);
    assert!(found == [vec![0; 4096], block, noise.clone(), vec![0; 4096]].concat());
    store.write(9, &noise);
    store.read(9, &mut found[..4096]);
    assert!(found[..4096] == noise);
}
