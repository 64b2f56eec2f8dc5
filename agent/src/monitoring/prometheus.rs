//! Prometheus: which alerts fire.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use http::{Method, Request};
use serde::Deserialize;

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

    /// The labels of the alerts that an instant query selects.
    ///
    /// # Errors
    /// If there is no answer, or one that says nothing: no alerts are only those that Prometheus says are none.
    pub async fn firing(&self, query: &str) -> Result<Vec<BTreeMap<String, String>>, MonitoringError> {
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
                Ok(above_zero(data.result))
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
