//! Prometheus: which alerts fire.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use drydock_api::prometheus::{Alert, AlertsResponse};
use http::{Method, Request};
use serde::Deserialize;

use crate::http::Answer;

use super::{Monitoring, MonitoringError, Part};

/// `/api/v1/query`
#[derive(Debug, Deserialize)]
struct Reply {
    status: String,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    data: Option<Data>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Data {
    result_type: String,
    result: Vec<Sample>,
}

#[derive(Debug, Deserialize)]
struct Sample {
    metric: BTreeMap<String, String>,
    value: (f64, String),
}

/// The labels of the series that a query selects, if their value is above zero.
fn above_zero(samples: Vec<Sample>) -> Vec<BTreeMap<String, String>> {
    let above_zero = |sample: &Sample| sample.value.1.parse::<f64>().is_ok_and(|value| value > 0.0);
    let samples = samples.into_iter().filter(above_zero);
    samples.map(|sample| sample.metric).collect()
}

impl Monitoring {
    /// The critical alerts that fired within `lasted` seconds, the last of which was `ago` seconds ago.
    ///
    /// # Errors
    /// As [`Self::alerts`].
    pub async fn alerts_during(&self, lasted: i64, ago: i64) -> Result<BTreeSet<String>, MonitoringError> {
        let offset = if ago > 0 {
            format!(" offset {ago}s")
        } else {
            String::new()
        };
        let alerts =
            r#"ALERTS{alertstate="firing",severity="critical",namespace=~"^openshift.*|^kube-.*|^default$"}"#;
        let query = format!("sum by (alertname) (max_over_time({alerts}[{lasted}s]{offset}))");
        self.alerts(&query).await
    }

    /// The names of the alerts that an instant query selects, each once.
    ///
    /// # Errors
    /// As [`Self::firing`].
    pub async fn alerts(&self, query: &str) -> Result<BTreeSet<String>, MonitoringError> {
        let firing = self.firing(query).await?.into_iter();
        let name = |mut labels: BTreeMap<String, String>| labels.remove("alertname");
        Ok(firing
            .map(|labels| name(labels).unwrap_or_else(|| "unnamed".to_owned()))
            .collect())
    }

    /// All alerts that are pending or fire, with what they say.
    ///
    /// # Errors
    /// As [`Self::firing`].
    pub async fn all_alerts(&self) -> Result<Vec<Alert>, MonitoringError> {
        let request = Request::builder().method(Method::GET);
        let answer = self
            .ask(Part::Prometheus, "/api/v1/alerts", request, Bytes::new())
            .await?
            .success()?;
        let reply: AlertsResponse = answer.json()?;
        if reply.status == "success" {
            return Ok(reply.data.alerts);
        }
        let reason = reply.error.unwrap_or_else(|| "it is no success".to_owned());
        Err(answer.malformed(reason).into())
    }

    /// Whether an instant query says 1, and not 0, as queries of update risks do.
    ///
    /// # Errors
    /// As [`Self::firing`], and if it says neither, or nothing, or several things.
    pub async fn evaluate(&self, query: &str) -> Result<bool, MonitoringError> {
        let (samples, answer) = self.query(query).await?;
        match samples.as_slice() {
            [sample] if sample.value.1 == "1" => Ok(true),
            [sample] if sample.value.1 == "0" => Ok(false),
            _ => Err(answer
                .malformed("the query of a risk must have one value, 0 or 1")
                .into()),
        }
    }

    /// The labels of the alerts that an instant query selects.
    ///
    /// # Errors
    /// If there is no answer, or one that says nothing: no alerts are only those that Prometheus says are none.
    pub async fn firing(&self, query: &str) -> Result<Vec<BTreeMap<String, String>>, MonitoringError> {
        let (samples, _) = self.query(query).await?;
        Ok(above_zero(samples))
    }

    /// The series that an instant query selects, and the answer that has them.
    async fn query(&self, query: &str) -> Result<(Vec<Sample>, Answer), MonitoringError> {
        let form = form_urlencoded::Serializer::new(String::new())
            .append_pair("query", query)
            .finish();
        let request = Request::builder()
            .method(Method::POST)
            .header("content-type", "application/x-www-form-urlencoded");
        let answer = self
            .ask(Part::Prometheus, "/api/v1/query", request, Bytes::from(form))
            .await?
            .success()?;
        let reply: Reply = answer.json()?;
        match reply.data {
            Some(data) if reply.status == "success" && data.result_type == "vector" => {
                Ok((data.result, answer))
            }
            _ => {
                let reason = reply
                    .error
                    .unwrap_or_else(|| "the response is not a successful vector result".to_owned());
                Err(answer.malformed(reason).into())
            }
        }
    }
}
