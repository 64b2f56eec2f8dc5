//! How a program ends: what went wrong is one line of causes for people, never a backtrace.

use std::process::ExitCode;

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
        let text = cause.to_string();
        let is_said = said.last().is_some_and(|before| before.contains(text.trim()));
        if !is_said {
            said.push(text);
        }
    }
    said.join(": ")
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
}
