//! `imbrex serve --ublk` where there is no ublk: one line says what is missing and what helps.
#![cfg(all(feature = "ublk", target_os = "linux"))]

use std::fs::File;
use std::path::Path;

use crate::program::imbrex;

#[test]
fn what_is_missing_is_one_line_with_the_remedy() {
    let output = imbrex("serve --ublk none.img");
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.lines().count()), (Some(1), 1), "{said}");
    let control = Path::new("/dev/ublk-control");
    if !control.exists() {
        let expected = "error: ublk is missing: there is no /dev/ublk-control; load the kernel's module with \
             `modprobe ublk_drv`, or serve with --nbd\n";
        assert_eq!(said, expected);
    } else if File::options().write(true).open(control).is_err() {
        assert!(said.contains("only root may open /dev/ublk-control; run this as root, or serve with --nbd"), "{said}");
    } else {
        // An old kernel, or the store.
        assert!(said.contains("or serve with --nbd") || said.contains("none.img"), "{said}");
    }
}

#[test]
fn what_only_nbd_has_is_refused() {
    for options in ["--nbd", "--port 1", "--socket a.sock", "--tls on"] {
        let output = imbrex(&format!("serve --ublk {options} none.img"));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && said.contains("cannot be used with"), "{options}: {said}");
    }
}
