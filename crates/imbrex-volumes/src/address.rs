//! Addresses at which something is served: what they look like, and who may reach them.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Result, bail};
use clap::Args;
use serde::{Deserialize, Serialize};

/// Where something is told about a volume over HTTP.
#[derive(Args, Clone, Default, Serialize, Deserialize)]
pub struct Addresses {
    /// Serve metrics for Prometheus over HTTP, at a port of this machine or where said
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = parse)]
    pub metrics: Option<SocketAddr>,
    /// Show how the volume stands on a page, at a port of this machine or where said: it updates itself and only reads
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = parse)]
    pub http: Option<SocketAddr>,
}

impl Addresses {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.metrics.is_none() && self.http.is_none()
    }

    /// Refuses what other machines can reach, unless that is wanted.
    pub fn check(&self, insecure: bool) -> Result<()> {
        for (option, at) in [("--metrics", self.metrics), ("--http", self.http)] {
            at.map_or(Ok(()), |at| check(option, at, insecure))?;
        }
        Ok(())
    }
}

/// What is told where.
impl fmt::Display for Addresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [("page", self.http), ("metrics", self.metrics)];
        let told: Vec<_> = all.iter().filter_map(|(what, at)| Some(format!("{what} at http://{}/", (*at)?))).collect();
        f.write_str(&told.join(", "))
    }
}

/// An address and a port; a port alone is one of this machine.
pub fn parse(text: &str) -> Result<SocketAddr, String> {
    let own = text.parse().ok().map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    own.map_or_else(|| text.parse(), Ok)
        .map_err(|_| "write a port such as 8080, or an address and a port such as 127.0.0.1:8080".to_owned())
}

/// Refuses an address that other machines can reach, unless that is wanted.
pub fn check(option: &str, at: SocketAddr, insecure: bool) -> Result<()> {
    if at.ip().is_loopback() || insecure {
        return Ok(());
    }
    bail!(
        "{option} {at}: other machines can reach this address, and nothing is encrypted there; use TLS (--tls require, for \
         pages a reverse proxy before 127.0.0.1), or say that it is meant so with --insecure"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_one_of_this_machine() {
        assert_eq!(parse("80"), Ok(SocketAddr::from(([127, 0, 0, 1], 80))));
        assert_eq!(parse("[::1]:80").map(|at| at.port()), Ok(80));
        assert!(parse("localhost").is_err() && parse("70000").is_err());
    }

    #[test]
    fn what_is_told_where_is_said() {
        let mut at = Addresses { http: parse("8080").ok(), metrics: parse("[::1]:9100").ok() };
        assert_eq!(at.to_string(), "page at http://127.0.0.1:8080/, metrics at http://[::1]:9100/");
        at.http = None;
        assert_eq!(at.to_string(), "metrics at http://[::1]:9100/");
    }

    #[test]
    fn others_reach_an_address_only_where_that_is_said() {
        let refused = check("--http", SocketAddr::from(([0, 0, 0, 0], 80)), false);
        assert!(refused.is_err_and(|why| why.to_string().contains("--insecure")));
        assert!(check("--http", SocketAddr::from(([0, 0, 0, 0], 80)), true).is_ok());
        assert!(check("--http", SocketAddr::from(([127, 0, 0, 2], 80)), false).is_ok());
    }
}
