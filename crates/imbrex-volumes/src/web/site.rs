//! What is at each path. Nothing can be changed there, and what is asked of the server of the volume is bounded: an
//! answer is given again while it is fresh, and one question is under way at a time.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, REFERRER_POLICY};
use hyper::header::{X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS};
use hyper::{Method, Request, Response, StatusCode};
use imbrex_live::service::Status;
use imbrex_live::service::control::{self, Question, Reply};
use serde::Serialize;

use super::history::History;

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
const HTML: &str = "text/html; charset=utf-8";
/// Prometheus' text format.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// How long the answer to a question is taken for what would be answered now.
const FRESH: Duration = Duration::from_millis(200);
/// How long the answer to what lies where is taken for current: the server looks through the whole map for it.
const FRESH_UNITS: Duration = Duration::from_secs(5);

/// What an address tells.
pub enum Told {
    /// The metrics alone.
    Metrics,
    /// A page, what it asks for, and the metrics.
    Page(String),
}

/// What is told at an address of a volume.
pub struct Site {
    told: Told,
    address: IpAddr,
    volume: Arc<Volume>,
}

/// A volume that somebody serves.
pub struct Volume {
    control: PathBuf,
    status: Asked,
    metrics: Asked,
    units: Asked,
    events: Asked,
    history: Mutex<History>,
    refused: AtomicU64,
}

/// A question, and the last answer to it.
struct Asked {
    question: Question,
    fresh: Duration,
    last: tokio::sync::Mutex<Option<(Instant, Reply)>>,
}

/// What is answered: the status, what the content is, and the content.
type Answer = (StatusCode, &'static str, String);

impl Volume {
    /// The volume whose server listens at `control`.
    pub fn new(control: PathBuf) -> Self {
        let asked = |question, fresh| Asked { question, fresh, last: tokio::sync::Mutex::default() };
        Self {
            control,
            status: asked(Question::Status, FRESH),
            metrics: asked(Question::Metrics, FRESH),
            units: asked(Question::Units, FRESH_UNITS),
            events: asked(Question::Events, FRESH),
            history: Mutex::default(),
            refused: AtomicU64::new(0),
        }
    }

    /// How the volume stands.
    pub async fn status(&self) -> Result<Box<Status>, String> {
        match self.ask(&self.status).await? {
            Reply::Status(status) => Ok(status),
            _ => Err("the server does not say how the volume stands".to_owned()),
        }
    }

    /// What it did in the last minutes.
    pub fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Connections that were ended without an answer.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Asks the server, whatever was answered before. Others go on meanwhile.
    pub async fn ask_now(&self, question: Question) -> Result<Reply, String> {
        let control = self.control.clone();
        let asking = tokio::task::spawn_blocking(move || control::ask(&control, question));
        asking.await.map_err(|e| e.to_string())?.map_err(|e| e.to_string())
    }

    async fn ask(&self, asked: &Asked) -> Result<Reply, String> {
        let mut last = asked.last.lock().await;
        if let Some((_, reply)) = last.as_ref().filter(|(at, _)| at.elapsed() < asked.fresh) {
            return Ok(reply.clone());
        }
        let reply = self.ask_now(asked.question).await?;
        *last = Some((Instant::now(), reply.clone()));
        Ok(reply)
    }
}

impl Site {
    /// Tells so much of `volume` at `address`.
    pub fn new(told: Told, address: IpAddr, volume: &Arc<Volume>) -> Self {
        Self { told, address, volume: Arc::clone(volume) }
    }

    /// Counts a connection that is ended without an answer.
    pub fn refuse(&self) {
        self.volume.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// The response to a request, of whose body nothing is read.
    pub async fn answer<B>(&self, request: &Request<B>) -> Response<Full<Bytes>> {
        let (status, content, text) = self.answered(request.method(), request.uri(), request.headers()).await;
        let mut response = Response::new(Full::new(Bytes::from(text)));
        *response.status_mut() = status;
        let headers: [(HeaderName, &'static str); 5] = [
            (CONTENT_TYPE, content),
            (CACHE_CONTROL, "no-store"),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (X_FRAME_OPTIONS, "DENY"),
            (REFERRER_POLICY, "no-referrer"),
        ];
        let allow = (status == StatusCode::METHOD_NOT_ALLOWED).then_some((ALLOW, "GET, HEAD"));
        let values = headers.into_iter().chain(allow).map(|(name, value)| (name, HeaderValue::from_static(value)));
        response.headers_mut().extend(values);
        response
    }

    async fn answered(&self, method: &Method, uri: &hyper::Uri, headers: &HeaderMap) -> Answer {
        if !matches!(*method, Method::GET | Method::HEAD) {
            return text(StatusCode::METHOD_NOT_ALLOWED, "nothing can be changed here");
        }
        if !self.is_asked_for_by_name(headers) {
            return text(StatusCode::MISDIRECTED_REQUEST, "ask for this by the address that it was given");
        }
        let told = match (&self.told, uri.path()) {
            (Told::Metrics, "/") | (_, "/metrics") => self.metrics().await,
            (Told::Page(page), "/") => Ok((StatusCode::OK, HTML, page.clone())),
            (Told::Page(_), "/status.json") => self.volume.status().await.map(|status| json(&status)),
            (Told::Page(_), "/history.json") => Ok(json(&self.volume.history().after(after(uri)))),
            (Told::Page(_), "/units.json") => self.units().await,
            (Told::Page(_), "/events.json") => self.events().await,
            _ => Ok(text(StatusCode::NOT_FOUND, "there is nothing at this path")),
        };
        told.unwrap_or_else(|why| text(StatusCode::SERVICE_UNAVAILABLE, &why))
    }

    async fn metrics(&self) -> Result<Answer, String> {
        match self.volume.ask(&self.volume.metrics).await? {
            Reply::Metrics(text) => Ok((StatusCode::OK, METRICS, text)),
            _ => Err("the server tells no metrics".to_owned()),
        }
    }

    async fn units(&self) -> Result<Answer, String> {
        match self.volume.ask(&self.volume.units).await? {
            Reply::Units(units) => Ok(json(&units)),
            _ => Err("the server does not say what lies where".to_owned()),
        }
    }

    async fn events(&self) -> Result<Answer, String> {
        match self.volume.ask(&self.volume.events).await? {
            Reply::Events(events) => Ok(json(&events)),
            _ => Err("the server does not say what happened".to_owned()),
        }
    }

    /// Whether a browser was sent here by a name of this machine, where only this machine can ask: another site's name
    /// that is made to lead here must not read what is told.
    fn is_asked_for_by_name(&self, headers: &HeaderMap) -> bool {
        let named = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        let port = |port: &str| port.parse::<u16>().is_ok();
        let name = named.rsplit_once(':').filter(|(_, of)| port(of)).map_or(named, |(name, _)| name);
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        let is_own = |ip: IpAddr| ip.is_loopback();
        matches!(self.told, Told::Metrics)
            || !self.address.is_loopback()
            || name == "localhost"
            || bare.parse().is_ok_and(is_own)
    }
}

/// The seconds of a query `after=SECONDS`.
fn after(uri: &hyper::Uri) -> f64 {
    uri.query().and_then(|query| query.strip_prefix("after=")?.parse().ok()).unwrap_or(0.0)
}

fn text(status: StatusCode, line: &str) -> Answer {
    (status, TEXT, format!("{line}\n"))
}

fn json(content: &impl Serialize) -> Answer {
    match serde_json::to_string(content) {
        Ok(text) => (StatusCode::OK, JSON, text),
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn status(told: Told, method: &str, path: &str, host: &str) -> u16 {
        // Nobody listens there.
        let volume = Arc::new(Volume::new("/nonexistent/imbrex.control".into()));
        let site = Site::new(told, Ipv4Addr::LOCALHOST.into(), &volume);
        let request = Request::builder().method(method).uri(path).header(HOST, host).body(()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(site.answer(&request)).status().as_u16()
    }

    #[test]
    fn a_page_is_only_read_and_only_by_a_name_of_this_machine() {
        let page = || Told::Page("<p>".to_owned());
        for (method, path, host, expected) in [
            ("GET", "/", "localhost:80", 200),
            ("HEAD", "/", "[::1]:80", 200),
            ("GET", "/history.json?after=x", "127.0.0.1", 200),
            ("GET", "/status.json", "127.0.0.1", 503),
            ("GET", "/metrics", "127.0.0.1", 503),
            ("GET", "/events.json", "127.0.0.1", 503),
            ("POST", "/", "127.0.0.1", 405),
            ("GET", "/else", "127.0.0.1", 404),
            ("GET", "/", "elsewhere.example", 421),
            ("GET", "/", "127.0.0.1.elsewhere.example:80", 421),
        ] {
            assert_eq!(status(page(), method, path, host), expected, "{method} {path} of {host}");
        }
    }

    #[test]
    fn metrics_are_all_that_their_address_tells() {
        for (method, path, expected) in
            [("GET", "/metrics", 503), ("GET", "/", 503), ("GET", "/status.json", 404), ("PUT", "/metrics", 405)]
        {
            assert_eq!(status(Told::Metrics, method, path, "collector"), expected, "{method} {path}");
        }
    }
}
