//! The driver's numbers and structures (`linux/ublk_cmd.h`), as bytes. Positions and lengths are in bytes unless they
//! are called sectors, which have 512.

use rustix::ioctl::{Opcode, opcode};

/// The driver's letter.
const GROUP: u8 = b'u';
/// `struct ublksrv_ctrl_cmd`.
type Command = [u64; 4];
/// `struct ublksrv_io_cmd`.
type Exchange = [u64; 2];

pub const GET_DEV_INFO: Opcode = opcode::read::<Command>(GROUP, 0x02);
pub const ADD_DEV: Opcode = opcode::read_write::<Command>(GROUP, 0x04);
pub const DEL_DEV: Opcode = opcode::read_write::<Command>(GROUP, 0x05);
pub const START_DEV: Opcode = opcode::read_write::<Command>(GROUP, 0x06);
pub const STOP_DEV: Opcode = opcode::read_write::<Command>(GROUP, 0x07);
pub const SET_PARAMS: Opcode = opcode::read_write::<Command>(GROUP, 0x08);
pub const START_USER_RECOVERY: Opcode = opcode::read_write::<Command>(GROUP, 0x10);
pub const END_USER_RECOVERY: Opcode = opcode::read_write::<Command>(GROUP, 0x11);
pub const DEL_DEV_ASYNC: Opcode = opcode::read::<Command>(GROUP, 0x14);
pub const GET_FEATURES: Opcode = opcode::read::<Command>(GROUP, 0x13);

pub const FETCH: Opcode = opcode::read_write::<Exchange>(GROUP, 0x20);
pub const COMMIT_AND_FETCH: Opcode = opcode::read_write::<Exchange>(GROUP, 0x21);

/// A device outlives its server, and waits for another one.
pub const USER_RECOVERY: u64 = 1 << 3;
/// What a server had not answered is asked of the next one.
pub const RECOVERY_REISSUE: u64 = 1 << 4;
/// Commands have the numbers above.
pub const IOCTL_ENCODE: u64 = 1 << 6;
/// The content of requests is read from the device, and written to it.
pub const USER_COPY: u64 = 1 << 7;
/// Without them there is no device of ours.
pub const NEEDED: u64 = USER_RECOVERY | RECOVERY_REISSUE | IOCTL_ENCODE | USER_COPY;

/// No device in particular: the driver chooses one.
pub const ANY: u32 = u32::MAX;
/// No server, or one that has ended without having answered everything.
pub const DEAD: u16 = 0;
/// A server serves it.
pub const LIVE: u16 = 1;
/// Its server is gone, and it waits for another one.
pub const QUIESCED: u16 = 2;

/// Requests that a queue can have at the same time.
pub const MOST_DEPTH: u16 = 4096;
/// Bytes of a request's descriptor.
pub const DESCRIPTOR_BYTES: usize = 24;

pub const READ: u8 = 0;
pub const WRITE: u8 = 1;
pub const FLUSH: u8 = 2;
pub const DISCARD: u8 = 3;
pub const WRITE_ZEROES: u8 = 5;
/// A flag of a request: durable before it is answered.
pub const FUA: u32 = 1 << 13;

const READ_ONLY: u32 = 1 << 0;
const ROTATIONAL: u32 = 1 << 1;
const VOLATILE_CACHE: u32 = 1 << 2;
const HAS_FUA: u32 = 1 << 3;

/// `struct ublksrv_ctrl_dev_info`, as far as it is used here.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Info {
    pub queues: u16,
    pub depth: u16,
    pub state: u16,
    pub request_bytes: u32,
    pub device: u32,
    pub pid: i32,
    pub flags: u64,
    /// A number that only the server knows the meaning of.
    pub own: u64,
}

pub const INFO_BYTES: usize = 64;

impl Info {
    pub fn to_bytes(self) -> [u8; INFO_BYTES] {
        let mut bytes = [0; INFO_BYTES];
        put(&mut bytes, 0, &self.queues.to_ne_bytes());
        put(&mut bytes, 2, &self.depth.to_ne_bytes());
        put(&mut bytes, 4, &self.state.to_ne_bytes());
        put(&mut bytes, 8, &self.request_bytes.to_ne_bytes());
        put(&mut bytes, 12, &self.device.to_ne_bytes());
        put(&mut bytes, 16, &self.pid.to_ne_bytes());
        put(&mut bytes, 24, &self.flags.to_ne_bytes());
        put(&mut bytes, 32, &self.own.to_ne_bytes());
        bytes
    }

    pub fn of(bytes: &[u8; INFO_BYTES]) -> Self {
        Self {
            queues: u16::from_ne_bytes(part(bytes, 0)),
            depth: u16::from_ne_bytes(part(bytes, 2)),
            state: u16::from_ne_bytes(part(bytes, 4)),
            request_bytes: u32::from_ne_bytes(part(bytes, 8)),
            device: u32::from_ne_bytes(part(bytes, 12)),
            pid: i32::from_ne_bytes(part(bytes, 16)),
            flags: u64::from_ne_bytes(part(bytes, 24)),
            own: u64::from_ne_bytes(part(bytes, 32)),
        }
    }
}

/// `struct ublk_params` with what is common to all devices and with what concerns discarding.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Params {
    pub read_only: bool,
    pub rotational: bool,
    pub logical_shift: u8,
    pub physical_shift: u8,
    pub most_sectors: u32,
    pub device_sectors: u64,
    pub discard_granularity: u32,
    pub most_discard_sectors: u32,
    pub most_zeroes_sectors: u32,
}

pub const PARAMS_BYTES: usize = 60;

impl Params {
    /// The bytes that the driver takes. The device has a volatile cache and takes FUA.
    pub fn to_bytes(self) -> [u8; PARAMS_BYTES] {
        let mut bytes = [0; PARAMS_BYTES];
        let flag = |is: bool, flag| if is { flag } else { 0 };
        let has = VOLATILE_CACHE | HAS_FUA | flag(self.read_only, READ_ONLY) | flag(self.rotational, ROTATIONAL);
        put(&mut bytes, 0, &(PARAMS_BYTES as u32).to_ne_bytes());
        // What is common, and discarding.
        put(&mut bytes, 4, &3_u32.to_ne_bytes());
        put(&mut bytes, 8, &has.to_ne_bytes());
        put(&mut bytes, 12, &[self.logical_shift, self.physical_shift, self.physical_shift, self.physical_shift]);
        put(&mut bytes, 16, &self.most_sectors.to_ne_bytes());
        put(&mut bytes, 24, &self.device_sectors.to_ne_bytes());
        put(&mut bytes, 44, &self.discard_granularity.to_ne_bytes());
        put(&mut bytes, 48, &self.most_discard_sectors.to_ne_bytes());
        put(&mut bytes, 52, &self.most_zeroes_sectors.to_ne_bytes());
        // The driver knows requests of one segment only.
        put(&mut bytes, 56, &1_u16.to_ne_bytes());
        bytes
    }
}

/// `struct ublksrv_ctrl_cmd` for no queue in particular, with a buffer, as a ring of large entries takes it.
pub fn command(device: u32, data: u64, address: u64, len: u16) -> [u8; 80] {
    let mut bytes = [0; 80];
    put(&mut bytes, 0, &device.to_ne_bytes());
    put(&mut bytes, 4, &u16::MAX.to_ne_bytes());
    put(&mut bytes, 6, &len.to_ne_bytes());
    put(&mut bytes, 8, &address.to_ne_bytes());
    put(&mut bytes, 16, &data.to_ne_bytes());
    bytes
}

/// `struct ublksrv_io_cmd` without an address: content is copied.
pub fn exchange(queue: u16, tag: u16, result: i32) -> [u8; 16] {
    let mut bytes = [0; 16];
    put(&mut bytes, 0, &queue.to_ne_bytes());
    put(&mut bytes, 2, &tag.to_ne_bytes());
    put(&mut bytes, 4, &result.to_ne_bytes());
    bytes
}

/// Where the descriptors of a queue are, for mapping them.
pub fn descriptors_at(queue: u16) -> u64 {
    u64::from(queue) * u64::from(MOST_DEPTH) * DESCRIPTOR_BYTES as u64
}

/// Where the content of a request is read or written.
pub fn content_at(queue: u16, tag: u16) -> u64 {
    0x8000_0000 + (u64::from(queue) << 41 | u64::from(tag) << 25)
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

fn part<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut part = [0; N];
    part.copy_from_slice(&bytes[at..at + N]);
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers are those that a C compiler makes of `linux/ublk_cmd.h` on x86-64.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn numbers_are_the_headers() {
        let numbers = [GET_DEV_INFO, ADD_DEV, START_DEV, GET_FEATURES, FETCH, COMMIT_AND_FETCH];
        let expected = [0x8020_7502, 0xc020_7504, 0xc020_7506, 0x8020_7513, 0xc010_7520, 0xc010_7521];
        assert_eq!(numbers, expected);
    }

    #[test]
    fn what_a_device_says_of_itself_is_read_as_it_was_written() {
        let (queues, depth, state, request_bytes, device, pid) = (1, 2, 3, 4, 5, 6);
        let info = Info { queues, depth, state, request_bytes, device, pid, flags: 7, own: u64::MAX - 8 };
        let bytes = info.to_bytes();
        assert_eq!(Info::of(&bytes), info);
        assert_eq!((bytes[12], bytes[16], bytes[24], bytes[40]), (5, 6, 7, 0));
    }

    #[test]
    fn contents_of_requests_do_not_overlap() {
        assert_eq!(content_at(0, 0), 0x8000_0000);
        assert_eq!(content_at(0, 1) - content_at(0, 0), 32 << 20);
        assert!(content_at(1, 0) > content_at(0, u16::MAX));
        assert_eq!(descriptors_at(2), 2 * 4096 * 24);
    }
}
