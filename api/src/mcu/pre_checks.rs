//! Whether clusters are asked, before they start, what would be a problem with their upgrade.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// Whether clusters are asked, before they start, what would be a problem with their upgrade, and what follows from the answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreChecks {
    /// `Off` (nobody is asked), `Report` (clusters are asked, and start whatever they answer, or before they have), or `Require` (a
    /// cluster starts only when it has answered, and when what it has found is accepted). Default Report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Off", "Report", "Require"]))]
    pub mode: Option<String>,
    /// With Require, how old an answer may be when the cluster starts: an older one is asked for again. Default 25h, for agents renew
    /// their answers each 24 hours by themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    #[x_kube(
        validation = Rule::new(r"self.matches('^([0-9]+([.][0-9]*)?(ns|us|ms|s|m|h))+$') && duration(self) >= duration('5m')")
            .message("maxAge must be a duration of 5m at least, for example 25h or 1h30m: an agent takes minutes to answer")
    )]
    pub max_age: Option<String>,
    /// With Require, after how long without an answer a cluster is reported as not answering. It does not start before it has answered.
    /// Default 10m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    #[x_kube(
        validation = Rule::new(r"self.matches('^([0-9]+([.][0-9]*)?(ns|us|ms|s|m|h))+$') && duration(self) > duration('0s')")
            .message("timeout must be a positive duration, for example 10m, 1h30m or 90s")
    )]
    pub timeout: Option<String>,
}

/// What follows from the answers of clusters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PreChecksMode {
    /// Nobody is asked.
    Off,
    /// They are shown.
    #[default]
    Report,
    /// A cluster starts only when nothing is left that has to be accepted.
    Require,
}

/// Why a text is no mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no mode of pre-checks: write Off, Report or Require")]
pub struct InvalidPreChecksMode(String);

impl std::str::FromStr for PreChecksMode {
    type Err = InvalidPreChecksMode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "Off" => Ok(Self::Off),
            "Report" => Ok(Self::Report),
            "Require" => Ok(Self::Require),
            _ => Err(InvalidPreChecksMode(text.to_owned())),
        }
    }
}
