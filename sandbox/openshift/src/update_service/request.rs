//! What a client asks for.

use super::GraphError;

/// The parameters that matter; `version` and `id` are for statistics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GraphRequest {
    pub channel: String,
    pub arch: String,
}

impl GraphRequest {
    /// Reads a query.
    ///
    /// # Errors
    /// If the channel is missing, or a parameter has letters that it must not have.
    pub fn parse(query: &str) -> Result<Self, GraphError> {
        let mut channel = None;
        let mut arch = "amd64".to_owned();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match name.as_ref() {
                "channel" => channel = Some(value.into_owned()),
                "arch" => arch = value.into_owned(),
                _ => {}
            }
        }
        let Some(channel) = channel else {
            return Err(GraphError::MissingParams(vec!["channel".to_owned()]));
        };
        let is_word = |text: &str, more: &[char]| {
            !text.is_empty()
                && text.chars().all(|letter| {
                    letter.is_ascii_lowercase() || letter.is_ascii_digit() || more.contains(&letter)
                })
        };
        if !is_word(&channel, &['-', '.']) {
            return Err(GraphError::InvalidParams(format!("channel {channel:?}")));
        }
        if !is_word(&arch, &[]) {
            return Err(GraphError::InvalidParams(format!("arch {arch:?}")));
        }
        Ok(Self { channel, arch })
    }
}
