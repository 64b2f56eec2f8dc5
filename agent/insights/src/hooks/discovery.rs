//! What an informer says that it can do.

use drydock_api::insights::hooks::{DiscoveryResponse, Hook};
use drydock_api::insights::{API_LEVEL, Handler};

use super::{InvalidResponse, on_one_line};

/// The most characters that are kept of an informer's words.
const LONGEST_MESSAGE: usize = 1024;
/// The most API levels that are kept, and the most characters of one.
const LEVELS: (usize, usize) = (16, 63);

/// What an informer can do, and how it says it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discovery {
    /// The API levels that it speaks.
    pub api_levels: Vec<String>,
    /// The hooks that it has.
    pub handlers: Vec<Handler>,
    /// How it says it is (insights.md, section 1.9, row 15).
    pub report: SelfReport,
    /// Why.
    pub message: String,
}

/// How an informer says it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelfReport {
    /// All is well.
    Fine,
    /// It is updating itself, and comes back (response Wait).
    Updating,
    /// It does not work as it should (response Failure).
    Degraded,
}

impl Discovery {
    /// Does it speak our API level? One that is not well may say no more than that.
    pub fn is_supported(&self) -> bool {
        let says_nothing = self.api_levels.is_empty() && self.report != SelfReport::Fine;
        says_nothing || self.api_levels.iter().any(|level| level == API_LEVEL)
    }
}

/// Reads a discovery response.
///
/// # Errors
/// If it cannot be understood.
pub fn discovery(body: &[u8]) -> Result<Discovery, InvalidResponse> {
    let response: DiscoveryResponse =
        serde_json::from_slice(body).map_err(|error| InvalidResponse::Json(error.to_string()))?;
    super::response::expect_kind(&response.kind, Hook::Discovery)?;
    let report = match response.status.response.as_str() {
        "Success" => SelfReport::Fine,
        "Wait" => SelfReport::Updating,
        "Failure" => SelfReport::Degraded,
        other => return Err(InvalidResponse::Response(on_one_line(other, LEVELS.1))),
    };
    let (most, longest) = LEVELS;
    let levels = response.spec.api_levels.iter().take(most);
    let mut handlers: Vec<_> = response
        .spec
        .handlers
        .iter()
        .filter_map(|text| handler(text))
        .collect();
    handlers.sort();
    handlers.dedup();
    Ok(Discovery {
        api_levels: levels.map(|level| on_one_line(level, longest)).collect(),
        handlers,
        report,
        message: on_one_line(&response.status.message, LONGEST_MESSAGE),
    })
}

/// A hook by its name. One that is not known is of a later level, and nothing that we would call.
fn handler(text: &str) -> Option<Handler> {
    match text {
        "status" => Some(Handler::Status),
        "plan" => Some(Handler::Plan),
        _ => None,
    }
}
