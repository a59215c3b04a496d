//! The HTTP server: what a client may take of time, memory and connections.
//!
//! A connection is for one request and ends with its answer. Nothing of a body is read, headers have a size and a time,
//! and so has the connection as a whole. Where there are too many, the oldest one is ended, so that clients that do
//! nothing keep nobody else out.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::{sleep, timeout};

use super::site::Site;

/// Connections of an address at a time.
pub const MOST_CONNECTIONS: usize = 64;
/// How long a client has to send its request.
const HEADERS_WITHIN: Duration = Duration::from_secs(5);
/// How long a connection may last, from its first byte to the last of the answer.
const ENDS_WITHIN: Duration = Duration::from_secs(15);
/// Bytes that are kept of what a client sends: more headers are an error.
const MOST_HEADER_BYTES: usize = 16 << 10;
/// Lines of headers.
const MOST_HEADERS: usize = 64;
/// How long it is waited when no connection can be taken, as when there are no files left.
const LATER: Duration = Duration::from_millis(100);

/// Answers every connection to `listener`, for ever.
pub async fn serve(listener: TcpListener, site: Arc<Site>) -> Infallible {
    let mut open: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(LATER).await;
            continue;
        };
        open.retain(|connection| !connection.is_finished());
        if open.len() == MOST_CONNECTIONS {
            site.refuse();
            open.pop_front().as_ref().map(AbortHandle::abort);
        }
        open.push_back(connection(stream, Arc::clone(&site)).abort_handle());
    }
}

/// Answers the one request of a connection.
fn connection(stream: TcpStream, site: Arc<Site>) -> JoinHandle<()> {
    tokio::spawn(async move {
        let answer = service_fn(|request: Request<Incoming>| {
            let site = Arc::clone(&site);
            async move { Ok::<Response<Full<Bytes>>, Infallible>(site.answer(&request).await) }
        });
        let mut http = http1::Builder::new();
        http.keep_alive(false).half_close(true).max_buf_size(MOST_HEADER_BYTES).max_headers(MOST_HEADERS);
        http.timer(TokioTimer::new()).header_read_timeout(HEADERS_WITHIN);
        let served = timeout(ENDS_WITHIN, http.serve_connection(TokioIo::new(stream), answer)).await;
        // A client that sends nothing, or does not wait for the answer, gets none.
        if !matches!(served, Ok(Ok(()))) {
            site.refuse();
        }
    })
}
