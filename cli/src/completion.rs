//! Completion of the command line, by shells and by kubectl.

use clap::{Args, Command, CommandFactory, ValueEnum};
use clap_complete::Shell;

use crate::arguments::Arguments;
use crate::upgrades::table;

/// What kubectl looks for on the PATH to complete `kubectl drydock`.
const FOR_KUBECTL: &str = "#!/bin/sh\nexec kubectl-drydock __complete \"$@\"";
/// What ends the list of candidates: nothing else is to be offered, no files either.
const NO_FILES: &str = ":4";

/// Who is to complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Completer {
    /// bash, for `kubectl-drydock`
    Bash,
    /// zsh, for `kubectl-drydock`
    Zsh,
    /// fish, for `kubectl-drydock`
    Fish,
    /// kubectl, for `kubectl drydock` in any shell: save it as `kubectl_complete-drydock` on the PATH
    Kubectl,
}

/// Flags of `completion`.
#[derive(Args, Debug)]
pub struct CompletionArguments {
    /// The shell, or kubectl
    #[arg(value_enum)]
    pub completer: Completer,
}

/// The words of a command line that is not finished.
#[derive(Args, Debug)]
pub struct Words {
    /// The words after `kubectl drydock`; the last is to be completed
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<String>,
}

/// Prints the script.
///
/// # Errors
/// If it cannot be written.
pub fn print_script(arguments: &CompletionArguments) -> anyhow::Result<()> {
    let shell = match arguments.completer {
        Completer::Bash => Shell::Bash,
        Completer::Zsh => Shell::Zsh,
        Completer::Fish => Shell::Fish,
        Completer::Kubectl => return table::print(FOR_KUBECTL),
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "kubectl-drydock", &mut script);
    table::print(String::from_utf8_lossy(&script).trim_end())
}

/// Prints what the last word may become, as kubectl reads it.
///
/// # Errors
/// If it cannot be written.
pub fn print_candidates(words: &Words) -> anyhow::Result<()> {
    let mut command = Arguments::command();
    command.build();
    for candidate in candidates(&command, &words.words) {
        table::print(&candidate)?;
    }
    table::print(NO_FILES)
}

/// `word` and its description, divided by a tab.
fn candidates(root: &Command, words: &[String]) -> Vec<String> {
    let (last, before) = words
        .split_last()
        .map_or(("", words), |(last, before)| (last.as_str(), before));
    let mut command = root;
    for word in before {
        command = command.find_subcommand(word).unwrap_or(command);
    }
    let described = |word: String, about: Option<String>| match about {
        Some(about) => format!("{word}\t{}", about.lines().next().unwrap_or_default()),
        None => word,
    };
    let flag = before.last().and_then(|word| word.strip_prefix("--"));
    let wanted = flag.and_then(|flag| {
        let mut flags = command.get_arguments();
        flags.find(|argument| argument.get_long() == Some(flag) && argument.get_action().takes_values())
    });
    let all: Vec<String> = if let Some(argument) = wanted {
        let values = argument.get_possible_values();
        values
            .iter()
            .map(|value| {
                described(
                    value.get_name().to_owned(),
                    value.get_help().map(ToString::to_string),
                )
            })
            .collect()
    } else if last.starts_with('-') {
        let flags = command.get_arguments().filter(|argument| !argument.is_hide_set());
        flags
            .filter_map(|argument| {
                let about = argument.get_help().map(ToString::to_string);
                Some(described(format!("--{}", argument.get_long()?), about))
            })
            .collect()
    } else {
        let commands = command.get_subcommands().filter(|command| !command.is_hide_set());
        commands
            .map(|command| {
                let about = command.get_about().map(ToString::to_string);
                described(command.get_name().to_owned(), about)
            })
            .collect()
    };
    all.into_iter().filter(|word| word.starts_with(last)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(words: &[&str]) -> Vec<String> {
        let mut command = Arguments::command();
        command.build();
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let candidates = candidates(&command, &words).into_iter();
        candidates
            .map(|candidate| candidate.split('\t').next().unwrap_or_default().to_owned())
            .collect()
    }

    #[test]
    fn commands_flags_and_values_are_offered() {
        assert_eq!(offered(&["re"]), ["resume", "retry"]);
        assert_eq!(offered(&["status", "--wat"]), ["--watch"]);
        assert_eq!(offered(&["status", "--output", "j"]), ["json"]);
        assert_eq!(offered(&["plan", "--fi"]), ["--filename", "--finish-by"]);
        assert!(offered(&[""]).contains(&"plan".to_owned()));
        assert!(!offered(&["_"]).iter().any(|word| word.starts_with("__")));
    }
}
