//! The answer to a question about updates.

use std::collections::BTreeSet;

use drydock_api::insights::hooks::{Hook, InsightsResponse};
use jiff::Timestamp;

use super::{Answer, InvalidResponse, insight, on_one_line};
use crate::finding::Finding;
use crate::informer_name::InformerName;

/// The most characters that are kept of an informer's words.
const LONGEST_MESSAGE: usize = 1024;
/// The most characters that are repeated of a word that is not known.
const LONGEST_WORD: usize = 63;

/// Reads the answer of an informer.
///
/// # Errors
/// If any part of it is not as it should be.
pub fn response(
    informer: &InformerName,
    hook: Hook,
    body: &[u8],
    now: Timestamp,
) -> Result<Answer, InvalidResponse> {
    let response: InsightsResponse =
        serde_json::from_slice(body).map_err(|error| InvalidResponse::Json(error.to_string()))?;
    expect_kind(&response.kind, hook)?;
    let message = on_one_line(&response.status.message, LONGEST_MESSAGE);
    let findings = || findings(informer, &response, now);
    match response.status.response.as_str() {
        "Success" if response.spec.insights.is_none() => Err(InvalidResponse::NoInsights),
        "Success" => findings().map(Answer::Success),
        "Failure" => findings().map(|findings| Answer::Failure { message, findings }),
        "Wait" => Ok(Answer::Wait { message }),
        other => Err(InvalidResponse::Response(on_one_line(other, LONGEST_WORD))),
    }
}

/// A response may leave out its kind, but not have another.
pub(super) fn expect_kind(found: &str, hook: Hook) -> Result<(), InvalidResponse> {
    let expected = hook.response_kind();
    if found.is_empty() || found == expected {
        return Ok(());
    }
    Err(InvalidResponse::Kind {
        found: on_one_line(found, LONGEST_WORD),
        expected,
    })
}

fn findings(
    informer: &InformerName,
    response: &InsightsResponse,
    now: Timestamp,
) -> Result<Vec<Finding>, InvalidResponse> {
    let insights = response.spec.insights.as_deref().unwrap_or_default();
    let mut known = BTreeSet::new();
    let mut findings = Vec::with_capacity(insights.len());
    for (index, insight) in insights.iter().enumerate() {
        let finding = insight::finding(insight, now).map_err(|problem| InvalidResponse::Insight {
            index,
            field: problem.field,
            why: problem.why,
        })?;
        if !known.insert(finding.uuid(informer)) {
            return Err(InvalidResponse::Duplicate(finding.uid));
        }
        findings.push(finding);
    }
    Ok(findings)
}
