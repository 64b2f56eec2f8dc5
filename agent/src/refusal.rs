//! What the API server's refusals say.

/// Why the API server does not do what it is asked for, in words for a condition: bounded, and without addresses.
pub(crate) fn words(error: &kube::Error) -> String {
    const LONGEST: usize = 400;
    let text = match error {
        kube::Error::Api(refusal) if refusal.message.is_empty() => {
            format!("the API server answers {} {}", refusal.code, refusal.reason)
        }
        kube::Error::Api(refusal) => refusal.message.clone(),
        error => {
            let mut innermost: &dyn std::error::Error = error;
            while let Some(source) = innermost.source() {
                innermost = source;
            }
            innermost.to_string()
        }
    };
    text.chars().take(LONGEST).collect()
}
