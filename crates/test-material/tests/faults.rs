//! The faults that tests must find still fit the sources.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::process::Command;

use test_material::repository;

#[test]
fn every_fault_has_its_line() {
    let output = Command::new(repository().join("checks/faults.py")).arg("--dry-run").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
