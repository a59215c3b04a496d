//! What is told over HTTP: metrics for those who collect them, and a page for people. Nothing can be changed there.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tiny_http::{Header, Method, Request, Response, Server};

use super::Service;
use super::exposition::CONTENT_TYPE;
use super::history::History;

const JSON: &str = "application/json";
const HTML: &str = "text/html; charset=utf-8";

/// An address at which a volume is told about.
pub struct Http {
    server: Arc<Server>,
    thread: Option<JoinHandle<()>>,
}

/// What an address tells.
enum Told {
    /// The metrics, whatever the path.
    Metrics,
    /// A page, what it asks for, and the metrics.
    Page { history: History, page: String, address: IpAddr },
}

/// What is answered: the status, what the content is, and the content.
type Answer = (u16, &'static str, String);

impl Http {
    /// Tells the metrics of `service` to whoever asks at `address`, whatever the path.
    ///
    /// # Errors
    /// One line that says why not.
    pub fn metrics(address: SocketAddr, service: Arc<Service>) -> Result<Self, String> {
        Self::listen(address, service, Told::Metrics)
    }

    /// Shows how `service` stands to whoever asks at `address`.
    ///
    /// # Errors
    /// One line that says why not.
    pub fn page(address: SocketAddr, service: Arc<Service>) -> Result<Self, String> {
        let history = History::begin(Arc::clone(&service));
        Self::listen(address, service, Told::Page { history, page: imbrex_page::live(), address: address.ip() })
    }

    fn listen(address: SocketAddr, service: Arc<Service>, told: Told) -> Result<Self, String> {
        let server = Server::http(address).map_err(|e| format!("nothing can be told at {address}: {e}"))?;
        let server = Arc::new(server);
        let asked = Arc::clone(&server);
        let thread = thread::spawn(move || {
            for request in asked.incoming_requests() {
                let (status, content_type, text) = told.answer(&service, &request);
                let headers = [
                    ("Content-Type", content_type),
                    ("Cache-Control", "no-store"),
                    ("X-Content-Type-Options", "nosniff"),
                    ("X-Frame-Options", "DENY"),
                    ("Referrer-Policy", "no-referrer"),
                ];
                let headers = headers.iter().filter_map(|(name, value)| Header::from_bytes(*name, *value).ok());
                let response = Response::from_string(text).with_status_code(status);
                // Whoever does not wait for the answer does without.
                let _ = request.respond(headers.fold(response, Response::with_header));
            }
        });
        Ok(Self { server, thread: Some(thread) })
    }
}

impl Told {
    fn answer(&self, service: &Service, request: &Request) -> Answer {
        let Self::Page { history, page, address } = self else { return (200, CONTENT_TYPE, service.metrics()) };
        if !matches!(request.method(), Method::Get | Method::Head) {
            return (405, "text/plain", "nothing can be changed here\n".to_owned());
        }
        if !is_asked_for_by_name(request, *address) {
            return (421, "text/plain", "ask for this by the address that it was given\n".to_owned());
        }
        let (path, query) = request.url().split_once('?').unwrap_or((request.url(), ""));
        let after = query.strip_prefix("after=").and_then(|text| text.parse().ok()).unwrap_or(0.0);
        match path {
            "/" => (200, HTML, page.clone()),
            "/status.json" => json(&service.status()),
            "/history.json" => json(&history.after(after)),
            "/units.json" => json(&service.units()),
            "/metrics" => (200, CONTENT_TYPE, service.metrics()),
            _ => (404, "text/plain", "there is nothing at this path\n".to_owned()),
        }
    }
}

/// Whether a browser was sent here by a name of this machine, where only this machine can ask: another site's name that
/// is made to lead here must not read what is told.
fn is_asked_for_by_name(request: &Request, address: IpAddr) -> bool {
    let host = request.headers().iter().find(|header| header.field.equiv("Host"));
    let named = host.map(|header| header.value.as_str()).unwrap_or_default();
    let name = named.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).map_or(named, |(name, _)| name);
    let is_own = |ip: IpAddr| ip.is_loopback();
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    !address.is_loopback() || name == "localhost" || bare.parse().is_ok_and(is_own)
}

fn json(content: &impl serde::Serialize) -> Answer {
    match serde_json::to_string(content) {
        Ok(text) => (200, JSON, text),
        Err(error) => (500, "text/plain", format!("{error}\n")),
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
