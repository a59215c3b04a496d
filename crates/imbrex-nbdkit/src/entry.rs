//! The function by which nbdkit finds the plugin, and the one callback that the binding does not have.
#![allow(unsafe_code, reason = "nbdkit's interface is one of C")]

use std::ffi::{c_int, c_void};

use nbdkit::{Builder, Plugin};

use super::{Connection, block_bytes};

/// The longest request that nbdkit passes on, in bytes.
const LONGEST: u32 = 64 << 20;

/// nbdkit's `struct nbdkit_plugin` as far as `block_size`, which came with 1.30. The binding's ends before. An older
/// nbdkit reads as much of it as it knows.
#[repr(C)]
struct Extended {
    plugin: Plugin,
    list_exports: Option<extern "C" fn()>,
    default_export: Option<extern "C" fn()>,
    export_description: Option<extern "C" fn()>,
    cleanup: Option<extern "C" fn()>,
    block_size: Option<extern "C" fn(*mut c_void, *mut u32, *mut u32, *mut u32) -> c_int>,
}

/// Tells nbdkit what there is. It keeps it for as long as the plugin is loaded.
#[unsafe(no_mangle)]
pub extern "C" fn plugin_init() -> *const Plugin {
    let mut builder = Builder::new();
    for has in [
        &mut builder.after_fork,
        &mut builder.can_extents,
        &mut builder.can_fast_zero,
        &mut builder.can_flush,
        &mut builder.can_fua,
        &mut builder.can_multi_conn,
        &mut builder.can_trim,
        &mut builder.can_write,
        &mut builder.can_zero,
        &mut builder.config,
        &mut builder.config_complete,
        &mut builder.config_help,
        &mut builder.extents,
        &mut builder.flush,
        &mut builder.is_rotational,
        &mut builder.thread_model,
        &mut builder.trim,
        &mut builder.unload,
        &mut builder.write_at,
        &mut builder.zero,
    ] {
        *has = true;
    }
    // SAFETY: what the binding returns is initialised, never freed, and has no owner who would drop it.
    let mut plugin = unsafe { builder.into_ptr::<Connection>().read() };
    plugin._struct_size = size_of::<Extended>() as u64;
    let [list_exports, default_export, export_description, cleanup] = [None; 4];
    let block_size: extern "C" fn(*mut c_void, *mut u32, *mut u32, *mut u32) -> c_int = block_size;
    let block_size = Some(block_size);
    let extended = Extended { plugin, list_exports, default_export, export_description, cleanup, block_size };
    std::ptr::from_ref(Box::leak(Box::new(extended))).cast()
}

/// Any size will do, a block is best. Nothing is said of blocks that NBD has no way to speak of.
extern "C" fn block_size(_: *mut c_void, minimum: *mut u32, preferred: *mut u32, maximum: *mut u32) -> c_int {
    let Some(bytes) = block_bytes().filter(|bytes| bytes.is_power_of_two() && (512..=32 << 20).contains(bytes)) else {
        return 0;
    };
    // SAFETY: nbdkit passes three places for numbers, which are its own during the call.
    unsafe {
        minimum.write(1);
        preferred.write(bytes);
        maximum.write(LONGEST);
    }
    0
}
