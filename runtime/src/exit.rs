//! How a program ends: what went wrong is one line of causes for people, never a backtrace.

use std::process::ExitCode;

use kube::core::Status;

/// The exit code of a program's result. An error is written to standard error as a chain of its causes.
#[expect(clippy::print_stderr, reason = "it is where programs say why they end")]
pub fn report(ended: anyhow::Result<ExitCode>) -> ExitCode {
    ended.unwrap_or_else(|error| {
        eprintln!("error: {}", chain(&error));
        ExitCode::FAILURE
    })
}

/// The causes of an error, the outermost first. A cause that the one before it quotes already is left out.
pub fn chain(error: &anyhow::Error) -> String {
    let mut said: Vec<String> = Vec::new();
    for cause in error.chain() {
        let text = words(cause);
        let is_said = said.last().is_some_and(|before| before.contains(text.trim()));
        if !is_said {
            said.push(text);
        }
    }
    said.join(": ")
}

/// A cause in its own words; what an API server answers in those of the server, without the object around them.
fn words(cause: &(dyn std::error::Error + 'static)) -> String {
    let of_server = match cause.downcast_ref::<kube::Error>() {
        Some(kube::Error::Api(refusal)) => Some(refusal.as_ref()),
        Some(_) | None => None,
    };
    let boxed = || cause.downcast_ref::<Box<Status>>().map(AsRef::as_ref);
    let refusal = of_server
        .or_else(boxed)
        .or_else(|| cause.downcast_ref::<Status>());
    let message = refusal.map(|refusal| refusal.message.clone());
    message
        .filter(|message| !message.is_empty())
        .unwrap_or_else(|| cause.to_string())
}

#[cfg(test)]
mod tests {
    use anyhow::{Context, anyhow};

    use super::*;

    #[test]
    fn causes_are_printed_once_and_without_a_backtrace() {
        let refused = anyhow!("connection refused (os error 111)");
        let quoting = refused.context("asking the hub: connection refused (os error 111)");
        let error = Err::<(), _>(quoting).context("reading upgrades").unwrap_err();
        assert_eq!(
            chain(&error),
            "reading upgrades: asking the hub: connection refused (os error 111)"
        );
    }

    #[test]
    fn a_refusal_is_printed_in_the_words_of_the_server() {
        let refusal = Status::failure("upgrades is forbidden: ann may not", "Forbidden").with_code(403);
        let refused = Err::<(), _>(kube::Error::Api(refusal.boxed()));
        let error = refused.context("listing upgrades").unwrap_err();
        assert_eq!(
            chain(&error),
            "listing upgrades: upgrades is forbidden: ann may not"
        );
    }
}
