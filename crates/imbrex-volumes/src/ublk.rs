//! A volume as a block device of Linux's ublk, served by this program itself.

use std::io;
use std::sync::mpsc::channel;
use std::thread;

use anyhow::{Result, anyhow};
use imbrex_live::service::{ServiceOptions, Status};
use imbrex_ublk::{Control, Device, DeviceOptions, End};

use super::by_itself::{self, Ended, Front};

/// Serves a volume as a device until a signal comes or the device is taken away; see [`by_itself::serve`].
pub fn serve<T>(
    options: &ServiceOptions,
    device: &DeviceOptions,
    json: bool,
    announce: impl FnOnce(&Status, &str) -> Result<T>,
) -> Result<()> {
    let control = Control::open().map_err(|why| anyhow!("{why}, or serve with --nbd"))?;
    let again = "serve the volume again to take its device over";
    by_itself::serve(
        options,
        json,
        again,
        |service, tell| {
            let (tell_end, ended) = channel();
            let device = Device::serve(control, service, device, &tell_end)?;
            let of = |end| match end {
                End::Gone => Ended::Gone,
                End::Failed(error) => Ended::Failed(error),
            };
            thread::spawn(move || ended.into_iter().for_each(|end| drop(tell.send(of(end)))));
            Ok(Box::new(device) as Box<dyn Front>)
        },
        announce,
    )
}

impl Front for Device {
    fn place(&self) -> String {
        let again = if self.recovered() { ", which a killed server left: the next flush fails" } else { "" };
        format!("{}{again}", self.path().display())
    }

    fn sync(&self) -> io::Result<()> {
        Self::sync(self)
    }

    fn end(self: Box<Self>) -> Result<()> {
        Ok(Self::end(*self)?)
    }
}
