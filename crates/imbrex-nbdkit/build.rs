//! Keeps the plugin in memory until the server's process ends: threads of the HTTP server, and what Rust notes of its
//! own, may outlive the moment at which nbdkit unloads it.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
