//! What a service manager that started the server is told: that the volume is served, and that it ends.
//!
//! Source: sd_notify(3), for units with `Type=notify`. Without a manager that asks, nothing is said.

use imbrex_terminal::say::note;
use sd_notify::NotifyState;

/// The volume is served: what waits for it may begin. `described` says where it is.
pub fn ready(described: &str) {
    // A status is one line.
    let status = described.lines().collect::<Vec<_>>().join("; ");
    tell(&[NotifyState::Ready, NotifyState::Status(&status)]);
}

/// The server ends, which may take a while.
pub fn stopping() {
    tell(&[NotifyState::Stopping, NotifyState::Status("making everything durable")]);
}

fn tell(state: &[NotifyState<'_>]) {
    if let Err(why) = sd_notify::notify(state) {
        note(format_args!("warning: the service manager at $NOTIFY_SOCKET cannot be told: {why}"));
    }
}
