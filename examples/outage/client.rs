//! The HTTP client that the callers share.

use std::error::Error;
use std::fmt;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

/// How long a caller waits for an answer.
pub(crate) const TIMEOUT: Duration = Duration::from_millis(250);

pub(crate) struct Client {
    agent: ureq::Agent,
    address: SocketAddr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    Refused,
    TimedOut,
    Status500,
    /// The connection ended before the answer was there.
    Cut,
}

impl Client {
    pub(crate) fn new(address: SocketAddr, threads: u32) -> Self {
        let idle = threads as usize;
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(TIMEOUT))
            .http_status_as_error(false)
            .max_idle_connections(idle)
            .max_idle_connections_per_host(idle)
            // The environment may name a proxy, which has no business here.
            .proxy(None)
            .build();
        Self { agent: config.into(), address }
    }

    pub(crate) fn fetch(&self, id: usize) -> Result<(), Failure> {
        let url = format!("http://{}/orders/{id}", self.address);
        let mut response = self.agent.get(url).call()?;
        // Only a connection that was read to the end goes back to the pool.
        response.body_mut().read_to_vec()?;
        if response.status().is_success() { Ok(()) } else { Err(Failure::Status500) }
    }
}

impl From<ureq::Error> for Failure {
    fn from(error: ureq::Error) -> Self {
        match error {
            ureq::Error::Timeout(_) => Self::TimedOut,
            ureq::Error::Io(error) if error.kind() == ErrorKind::ConnectionRefused => Self::Refused,
            ureq::Error::Io(error) if error.kind() == ErrorKind::TimedOut => Self::TimedOut,
            _ => Self::Cut,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Refused => "refused",
            Self::TimedOut => "timed out",
            Self::Status500 => "status 500",
            Self::Cut => "cut off",
        })
    }
}

impl Error for Failure {}
