//! Who is answered, what they may see, and with whose rights the server acts for them.

mod confine;
mod impersonation;
mod reviews;
mod right;
mod scope;
mod token;
mod viewer;

use drydock_objects::hint;

pub use reviews::Reviews;
pub use token::{Token, TokenError};

pub(crate) use confine::confine;
pub(crate) use right::Right;
pub(crate) use scope::Scope;
pub(crate) use viewer::{ANSWERED_LATELY, Viewer, authenticate};

/// Who is answered.
#[derive(Clone)]
pub enum Access {
    /// One person on this machine, whose client the server has.
    Own(OwnAccess),
    /// The users of the hub, each by a bearer token that the API server reviews.
    Reviewed(Reviews),
}

/// One person on this machine.
#[derive(Clone)]
pub struct OwnAccess {
    /// What a browser must know to be answered.
    pub token: Token,
    /// Who the API server takes the person for.
    pub user: String,
    /// Nothing can be changed.
    pub read_only: bool,
    /// Only upgrades of this namespace are shown.
    pub namespace: Option<String>,
    /// The namespace that the person's kubeconfig names.
    pub own_namespace: String,
}

impl OwnAccess {
    /// All that the person may see and do, whose kubeconfig names no namespace.
    pub fn new(token: Token, user: String) -> Self {
        Self {
            token,
            user,
            read_only: false,
            namespace: None,
            own_namespace: hint::DEFAULT_NAMESPACE.to_owned(),
        }
    }
}
