//! Where an API server of a test environment is.

use kube_sandbox::access::Access;
use kube_sandbox::server::ApiServer;

/// An API server of a test environment: one in this process, or any that a client reaches.
#[derive(Clone)]
pub enum ApiEndpoint {
    /// The sandbox's own.
    Memory(ApiServer),
    /// Another; it has the kinds already.
    Remote(kube::Client),
}

impl ApiEndpoint {
    /// Access for the stand-in that calls itself `name`.
    pub fn access(&self, name: &str) -> Access {
        match self {
            Self::Memory(server) => Access::memory(server, name),
            Self::Remote(client) => Access::remote(client.clone(), name),
        }
    }

    /// A client for the program that calls itself `name`.
    pub(super) fn client(&self, name: &str) -> kube::Client {
        match self {
            Self::Memory(server) => server.client(name),
            Self::Remote(client) => client.clone(),
        }
    }

    /// Cuts it off, or restores it; another's server cannot be cut off.
    pub(super) fn set_reachable(&self, reachable: bool) {
        if let Self::Memory(server) = self {
            server.set_reachable(reachable);
        }
    }
}

impl std::fmt::Debug for ApiEndpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Memory(server) => server.fmt(f),
            Self::Remote(_) => f.write_str("Remote"),
        }
    }
}
