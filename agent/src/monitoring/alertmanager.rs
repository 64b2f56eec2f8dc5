//! Alertmanager's silences, by its API v2.

use bytes::Bytes;
use http::{Method, Request};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Monitoring, MonitoringError, Part};
use drydock_engine::silences::{CREATOR, Matcher, Silence, SilenceState, WantedSilence};

/// A silence as it is listed.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    id: String,
    status: Status,
    created_by: String,
    comment: String,
    starts_at: Timestamp,
    ends_at: Timestamp,
}

#[derive(Debug, Deserialize)]
struct Status {
    state: String,
}

/// A silence as it is made.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Posted<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    matchers: &'a [Matcher],
    starts_at: Timestamp,
    ends_at: Timestamp,
    created_by: &'a str,
    comment: &'a str,
}

impl Monitoring {
    /// The silences that `creator` has made, those that are over as well.
    ///
    /// # Errors
    /// If there is no answer that can be understood.
    pub async fn silences(&self, creator: &str) -> Result<Vec<Silence>, MonitoringError> {
        let request = Request::builder().method(Method::GET);
        let answer = self
            .ask(Part::Alertmanager, "/api/v2/silences", request, Bytes::new())
            .await?
            .success()?;
        let listed: Vec<Listed> = answer.json()?;
        let ours = listed.into_iter().filter(|silence| silence.created_by == creator);
        Ok(ours
            .map(|silence| Silence {
                id: silence.id,
                comment: silence.comment,
                state: if silence.status.state == "expired" {
                    SilenceState::Expired
                } else {
                    SilenceState::Active
                },
                starts: silence.starts_at,
                ends: silence.ends_at,
            })
            .collect())
    }

    /// Makes a silence, or changes the one with this id: only one with the same matchers and the same start stays what it is.
    ///
    /// # Errors
    /// If it is not made.
    pub async fn silence(
        &self,
        id: Option<&str>,
        wanted: &WantedSilence,
        starts_at: Timestamp,
    ) -> Result<(), MonitoringError> {
        let posted = Posted {
            id,
            matchers: &wanted.matchers,
            starts_at,
            ends_at: wanted.ends,
            created_by: CREATOR,
            comment: &wanted.comment,
        };
        let body = serde_json::to_vec(&posted)
            .map_err(|error| MonitoringError::Incomplete(format!("writing a silence as JSON: {error}")))?;
        let request = Request::builder()
            .method(Method::POST)
            .header("content-type", "application/json");
        let path = "/api/v2/silences";
        self.ask(Part::Alertmanager, path, request, Bytes::from(body))
            .await?
            .success()?;
        Ok(())
    }

    /// Ends a silence.
    ///
    /// # Errors
    /// Unless it has ended.
    pub async fn expire(&self, id: &str) -> Result<(), MonitoringError> {
        let request = Request::builder().method(Method::DELETE);
        // The id is the server's word, and goes into a path.
        let id: String = form_urlencoded::byte_serialize(id.as_bytes()).collect();
        let path = format!("/api/v2/silence/{id}");
        self.ask(Part::Alertmanager, &path, request, Bytes::new())
            .await?
            .success()?;
        Ok(())
    }
}
