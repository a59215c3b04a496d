//! Metrics over HTTP, for those who collect them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tiny_http::{Header, Response, Server};

use super::Service;

/// What the text is.
const CONTENT_TYPE: &str = "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8";

/// An address at which metrics are told.
pub struct Http {
    server: Arc<Server>,
    thread: Option<JoinHandle<()>>,
}

impl Http {
    /// Tells the metrics of `service` to whoever asks at `address`, whatever the path.
    ///
    /// # Errors
    /// One line that says why not.
    pub fn listen(address: SocketAddr, service: Arc<Service>) -> Result<Self, String> {
        let server = Arc::new(Server::http(address).map_err(|e| format!("metrics cannot be told at {address}: {e}"))?);
        let asked = Arc::clone(&server);
        let thread = thread::spawn(move || {
            for request in asked.incoming_requests() {
                let header = CONTENT_TYPE.parse::<Header>();
                let response = Response::from_string(service.metrics());
                // Whoever does not wait for the answer does without.
                let _ = request.respond(header.into_iter().fold(response, Response::with_header));
            }
        });
        Ok(Self { server, thread: Some(thread) })
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        self.server.unblock();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
