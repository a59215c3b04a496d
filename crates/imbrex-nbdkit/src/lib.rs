//! A plugin for nbdkit that serves a volume. Everything but the callbacks is in `imbrex-live`.
//!
//! nbdkit opens a handle for each connection. It is a client of its own, so that a flush that has to fail fails on
//! every connection. Nothing is opened before nbdkit has forked: locks and threads would not survive that.

mod entry;
mod log;
mod sockets;
mod stop;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use imbrex::perform::Failure;
use imbrex_live::carriers::{Here, Threads};
use imbrex_live::panics;
use imbrex_live::service::{
    Answering, Client, KEYS, NOT_DURABLE, Service, ServiceError, ServiceOptions, allocator, errno,
};
use nbdkit::{Error, ExtentHandle, ExtentType, Flags, FuaFlags, Result, Server, ThreadModel};

/// What the command line says.
static OPTIONS: Mutex<Option<ServiceOptions>> = Mutex::new(None);
/// The volume, between fork and unloading.
static SERVICE: RwLock<Option<Serving>> = RwLock::new(None);

/// A volume, and what answers questions about it.
struct Serving {
    service: Arc<Service>,
    answering: Answering,
}

/// A connection.
struct Connection(Client);

fn options() -> MutexGuard<'static, Option<ServiceOptions>> {
    OPTIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn invalid(why: impl std::fmt::Display) -> Error {
    Error::new(libc::EINVAL, why.to_string())
}

/// Bytes of a block, while the volume is served.
fn block_bytes() -> Option<u32> {
    let serving = SERVICE.read().unwrap_or_else(PoisonError::into_inner);
    serving.as_ref().map(|serving| serving.service.engine().block_bytes())
}

/// What a client is told.
fn failed(failure: Failure) -> Error {
    Error::new(errno(&failure).raw_os_error(), failure.to_string())
}

/// Makes everything durable, takes the sockets away and says so; the process ends if that failed. False when
/// another thread does all that.
fn end() -> bool {
    let serving = SERVICE.write().unwrap_or_else(PoisonError::into_inner).take();
    let Some(Serving { service, answering }) = serving else { return false };
    let stopped = service.stop();
    drop(answering);
    if let Some(path) = options().as_ref().and_then(|options| options.shown.as_ref()) {
        // The program that made this socket may have ended.
        let _ = std::fs::remove_file(path);
    }
    match stopped {
        Ok(()) => tracing::info!("everything is durable, stopped"),
        Err(why) => {
            log::end(format_args!("{NOT_DURABLE}: {why}"));
            // nbdkit itself would end as if all were well.
            std::process::exit(1);
        }
    }
    true
}

impl Server for Connection {
    fn name() -> &'static str {
        "imbrex"
    }

    fn longname() -> Option<&'static str> {
        Some("Imbrex")
    }

    fn version() -> Option<&'static str> {
        Some(env!("CARGO_PKG_VERSION"))
    }

    fn description() -> Option<&'static str> {
        Some("serves volumes on disks whose tracks overlap")
    }

    fn config_help() -> Option<&'static str> {
        let lines: Vec<String> = KEYS.iter().map(|(form, meaning)| format!("{form:22} {meaning}")).collect();
        let log = format!("{:22} how to log to standard error", "log=text|json");
        // nbdkit keeps it for as long as the plugin is loaded.
        Some(Box::leak(format!("{}\n{log}", lines.join("\n")).into_boxed_str()))
    }

    fn magic_config_key() -> Option<&'static str> {
        Some("store")
    }

    fn config(key: &str, value: &str) -> Result<()> {
        if key == "log" {
            return log::choose(value).map_err(invalid);
        }
        match options().get_or_insert_default().set(key, value) {
            Ok(true) => Ok(()),
            Ok(false) => Err(invalid(format!("there is no parameter {key}"))),
            Err(why) => Err(invalid(why)),
        }
    }

    fn config_complete() -> Result<()> {
        let named = options().as_ref().is_some_and(|options| !options.stores.is_empty());
        if named { Ok(()) } else { Err(invalid("name the volume's stores with store=PATH")) }
    }

    fn thread_model() -> Result<ThreadModel> {
        Ok(ThreadModel::Parallel)
    }

    fn after_fork() -> Result<()> {
        log::start();
        let options = options().clone().unwrap_or_default();
        let sockets = [options.shown.clone(), options.control.clone()];
        panics::end_the_process(move |why| {
            log::end(format_args!("{NOT_DURABLE}: {why}"));
            // The program that started this may have ended, and the next server need not find a socket that nothing
            // listens at.
            sockets.iter().flatten().for_each(|path| drop(std::fs::remove_file(path)));
        });
        let refused = |why: ServiceError| Error::new(libc::EIO, why.to_string());
        let service = Arc::new(Service::start_for(&options, Arc::new(Threads)).map_err(refused)?);
        let own = sockets::listening();
        own.iter().find_map(sockets::port).into_iter().for_each(|port| service.served_at(port));
        stop::on_signals(Arc::clone(&service), own, options.shown.clone().into_iter().chain(options.control.clone()))
            .map_err(|e| Error::new(libc::EIO, format!("signals cannot be taken: {e}")))?;
        allocator::keep_small(&service);
        let answering = service.answer(&options).map_err(refused)?;
        *SERVICE.write().unwrap_or_else(PoisonError::into_inner) = Some(Serving { service, answering });
        Ok(())
    }

    fn unload() {
        end();
    }

    fn open(_readonly: bool) -> Result<Box<dyn Server>> {
        let serving = SERVICE.read().unwrap_or_else(PoisonError::into_inner);
        let service = serving.as_ref().map(|serving| Arc::clone(&serving.service));
        let service = service.ok_or_else(|| Error::new(libc::ESHUTDOWN, "the volume is not served"))?;
        Ok(Box::new(Self(Client::of(&service))))
    }

    fn get_size(&self) -> Result<i64> {
        i64::try_from(self.0.service().bytes())
            .map_err(|_| Error::new(libc::EOVERFLOW, "the volume is too large for NBD"))
    }

    fn can_write(&self) -> Result<bool> {
        Ok(!self.0.service().read_only())
    }

    fn can_flush(&self) -> Result<bool> {
        Ok(true)
    }

    fn can_fua(&self) -> Result<FuaFlags> {
        Ok(FuaFlags::Native)
    }

    fn can_multi_conn(&self) -> Result<bool> {
        Ok(true)
    }

    fn can_trim(&self) -> Result<bool> {
        Ok(true)
    }

    fn can_zero(&self) -> Result<bool> {
        Ok(true)
    }

    fn can_extents(&self) -> Result<bool> {
        Ok(true)
    }

    fn can_fast_zero(&self) -> Result<bool> {
        // nbdkit before 1.34 ends over a client that asks for what it was not offered. It is refused at once.
        Ok(true)
    }

    fn is_rotational(&self) -> Result<bool> {
        Ok(self.0.service().rotational())
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> Result<()> {
        let _here = Here::now().with_buffer(into.len());
        self.0.read(offset, into).map_err(failed)
    }

    fn write_at(&self, bytes: &[u8], offset: u64, flags: Flags) -> Result<()> {
        let _here = Here::soon().with_buffer(bytes.len());
        self.0.write(offset, bytes, flags.contains(Flags::FUA)).map_err(failed)
    }

    fn trim(&self, count: u32, offset: u64, flags: Flags) -> Result<()> {
        let _here = Here::now();
        self.0.trim(offset, count.into(), flags.contains(Flags::FUA)).map_err(failed)
    }

    fn zero(&self, count: u32, offset: u64, flags: Flags) -> Result<()> {
        let _here = Here::now();
        // A client that asks for no hole wants room for what it writes there later: the layer has it for every block.
        if flags.contains(Flags::FAST_ZERO) && !self.0.service().engine().zeros_are_fast() {
            return Err(Error::new(libc::EOPNOTSUPP, "zeros are written as data, which is not faster"));
        }
        self.0.zero(offset, count.into(), flags.contains(Flags::FUA)).map_err(failed)
    }

    fn extents(&self, count: u32, offset: u64, _flags: Flags, told: &mut ExtentHandle) -> Result<()> {
        let _here = Here::now();
        for run in self.0.service().engine().known_zeros(offset, count.into()).map_err(failed)? {
            let kind = if run.zeros { ExtentType::HoleZero } else { ExtentType::Allocated };
            told.add(run.offset, run.bytes, kind)?;
        }
        Ok(())
    }

    fn flush(&self) -> Result<()> {
        let _here = Here::now();
        self.0.flush().map_err(failed)
    }
}
