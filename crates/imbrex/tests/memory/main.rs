//! What a layer says of its memory holds: it never takes more, not much less where everything is mapped, and gives most
//! of it back when everything is trimmed. What the live engine says of its journal holds too.
#![allow(unsafe_code, reason = "an allocator that counts is an unsafe trait to implement")]
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod journal;
mod map;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use imbrex::block::{Extent, Lba};
use imbrex::drive::DrivePreset;
use imbrex::layer::{Freed, Pressure, Step, TranslationLayer, UnitReport, Write};
use imbrex::layers::{self, LayerInfo};
use imbrex::media::Media;
use imbrex::plan::{Op, Plan, Record};
use imbrex::recording::Recording;
use imbrex::space::{Home, Space};

thread_local! {
    static BYTES: Cell<i64> = const { Cell::new(0) };
    static MOST: Cell<i64> = const { Cell::new(0) };
}

struct Counting;

fn count(bytes: i64) {
    // During a thread's end the counters may be gone; nothing is measured then.
    let _ = BYTES.try_with(|now| {
        now.set(now.get() + bytes);
        let _ = MOST.try_with(|most| most.set(most.get().max(now.get())));
    });
}

// SAFETY: every call is handed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: as promised by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: as promised by the caller.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as i64 - layout.size() as i64);
        // SAFETY: as promised by the caller.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: as promised by the caller.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Operations of a plan beyond which it would take memory of its own.
const LONGEST: usize = 1 << 17;
/// Bytes that a layer has for itself, whatever it maps.
const ITS_OWN: i64 = 16 << 10;
/// How much more than it takes a layer may say it takes at most.
const LOOSE: u64 = 3;

/// The drive that a layer is filled on: large enough that maps outweigh everything else.
fn drive(recording: Recording) -> Box<dyn Media> {
    let (name, bytes) = match recording {
        Recording::Conventional | Recording::Zoned | Recording::WholeZones => ("small-zoned", 1 << 30),
        Recording::Banded => ("small-banded", 512 << 20),
        Recording::Interlaced => ("tiny-interlaced", 256 << 20),
        Recording::Hybrid => ("small-hybrid", 512 << 20),
        Recording::Flash | Recording::Cached => ("ssd-pore", 256 << 20),
    };
    let alone = if recording == Recording::Cached { Recording::Flash } else { recording };
    DrivePreset::named(name).unwrap().with_capacity(bytes).unwrap().media(alone).unwrap()
}

/// A layer, and what carries its plans out: nothing but what it waits for.
struct Bench {
    layer: Box<dyn TranslationLayer>,
    media: Box<dyn Media>,
    plan: Plan,
    /// Bytes in use before the layer was made, and of an empty one.
    before: i64,
    empty: i64,
}

impl Bench {
    fn new(info: &LayerInfo) -> Self {
        let media = drive(info.recording);
        let mut space = Space::of(media.as_ref(), 0);
        if info.recording == Recording::Cached {
            space.home = Some(Home::behind(1 << 17));
            space.zones = None;
            space.conventional_blocks = 1 << 14;
        }
        space.buffer_blocks = if info.buffered { space.conventional_blocks.min(1 << 14) as u32 } else { 0 };
        space.spares_ram = true;
        let mut plan = Plan::new();
        (0..LONGEST).for_each(|_| plan.record(Record::Unmap(Extent::new(Lba(0), 1))));
        plan.clear();
        let units = UnitReport { devices: vec![Vec::new(), media.report()] };
        let before = BYTES.get();
        let mut layer = info.build(&space, &toml::Table::new()).unwrap();
        layer.recovered(&units, &mut plan).unwrap();
        MOST.set(BYTES.get());
        let mut bench = Self { layer, media, plan, before, empty: BYTES.get() - before };
        bench.carry_out();
        bench
    }

    /// The most that the layer has taken so far.
    fn most(&self) -> i64 {
        MOST.get() - self.before
    }

    fn now(&self) -> i64 {
        BYTES.get() - self.before
    }

    fn carry_out(&mut self) {
        assert!(self.plan.ops().len() <= LONGEST);
        for at in 0..self.plan.ops().len() {
            match self.plan.ops()[at] {
                Op::Reset(unit) => self.layer.freed(self.media.extent_of(unit), Freed::GivenUp),
                Op::Free(space) => self.layer.freed(space, Freed::GivenUp),
                _ => {}
            }
        }
        self.plan.clear();
    }

    fn write(&mut self, at: Extent<Lba>) {
        let mut done = 0;
        while done < at.blocks {
            let rest = at.skip(done);
            let write = Write { at: rest, request_bytes: Some(u64::from(rest.blocks) * 4096) };
            let taken = self.layer.write(write, &mut self.plan);
            self.carry_out();
            done += taken;
            if taken == 0 && !self.clean(Pressure::Blocked(rest)) {
                return;
            }
        }
    }

    /// Whether there is room, or nothing is left to be cleaned.
    fn clean(&mut self, why: Pressure) -> bool {
        loop {
            let step = self.layer.clean(why, &[], &mut self.plan);
            self.carry_out();
            match step {
                Step::Done => return true,
                Step::Nothing => return false,
                Step::More | Step::Hold | Step::Wait => {}
            }
        }
    }

    fn fill(&mut self) {
        let blocks = self.layer.capacity();
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..2 * blocks {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            self.write(Extent::new(Lba((random >> 20) % blocks), 1));
        }
    }

    fn trim_all(&mut self) {
        let mut at = Extent::new(Lba(0), u32::try_from(self.layer.capacity()).unwrap());
        while at.blocks > 0 {
            let done = self.layer.trim(at, &mut self.plan);
            self.carry_out();
            at = at.skip(done);
        }
        self.clean(Pressure::Asked);
    }
}

fn holds(info: &LayerInfo) {
    let mut bench = Bench::new(info);
    let stated = bench.layer.facts().memory;
    bench.fill();
    let (most, name) = (bench.most(), info.name);
    assert!(most <= stated.most as i64 + ITS_OWN, "{name} takes {most} bytes and says {}", stated.most);
    assert!(stated.empty <= bench.empty as u64, "{name} is made of {} bytes and says {}", bench.empty, stated.empty);
    bench.trim_all();
    let (left, empty) = (bench.now(), bench.empty);
    println!("{name}: {empty} empty, {most} at most, {} stated, {left} after trim", stated.most);
    assert!(
        bench.most() <= stated.most as i64 + ITS_OWN,
        "{name} takes {} to trim and says {}",
        bench.most(),
        stated.most
    );
    let loosely = LOOSE * (bench.most() + ITS_OWN) as u64;
    assert!(stated.most <= loosely, "{name} takes {} bytes and says {}", bench.most(), stated.most);
    // Layers on interlaced tracks know what was trimmed, and caches keep what they hold.
    let falls = !matches!(info.recording, Recording::Interlaced | Recording::Cached);
    assert!(
        !falls || left - empty <= (most - empty) / 2 + ITS_OWN,
        "{name} keeps {left} bytes of {most}, {empty} empty"
    );
}

#[test]
fn a_layer_takes_no_more_than_it_says() {
    // What is counted is each thread's own.
    std::thread::scope(|scope| {
        for part in layers::ALL.chunks(layers::ALL.len().div_ceil(4)) {
            scope.spawn(|| part.iter().for_each(holds));
        }
    });
}
