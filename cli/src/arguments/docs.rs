//! The page of commands is generated from what the commands say of themselves (`UPDATE=1 cargo test -p drydock-cli arguments` writes it
//! again), and every command of the docs is one that there is.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{Command, CommandFactory, Parser};

use super::Arguments;
use crate::dashboard::server::DashboardServerArguments;

fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

fn pages() -> Vec<PathBuf> {
    let mut pages = vec![in_repository("README.md")];
    let mut folders = vec![in_repository("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                pages.push(path);
            }
        }
    }
    pages
}

/// What a command of a program prints with `--help`, 100 columns wide, as it does where there is no terminal.
fn help(program: &Command, name: &str) -> String {
    let words = name.strip_prefix("kubectl drydock").unwrap_or_default();
    let words = words.split_whitespace().chain(["--help"]);
    let words = std::iter::once(program.get_name().to_owned()).chain(words.map(str::to_owned));
    let answer = program.clone().term_width(100).try_get_matches_from(words);
    // Only parsing decides between clap's short and its long form as the program does.
    let help = answer.unwrap_err();
    assert_eq!(help.kind(), ErrorKind::DisplayHelp, "{name}");
    help.render().to_string()
}

/// The section of a command and those of its commands.
fn describe(program: &Command, command: &Command, name: &str, page: &mut String) {
    if command.get_name() == "help" || command.is_hide_set() {
        return;
    }
    let help = help(program, name);
    let _written = write!(page, "\n## {name}\n\n```text\n{help}```\n");
    for sub in command.get_subcommands() {
        describe(program, sub, &format!("{name} {}", sub.get_name()), page);
    }
}

#[test]
fn the_page_of_commands_is_up_to_date() {
    let mut page =
        "# Commands\n\nGenerated from the programs: what `--help` says of each command.\n".to_owned();
    let plugin = Arguments::command();
    let mut all = plugin.clone();
    all.build();
    describe(&plugin, &all, "kubectl drydock", &mut page);
    let server = DashboardServerArguments::command();
    describe(&server, &server, "drydock-dashboard", &mut page);
    let path = in_repository("docs/reference/commands.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    assert!(
        std::fs::read_to_string(&path).unwrap() == page,
        "write it again: UPDATE=1 cargo test -p drydock-cli arguments"
    );
}

/// The commands of a page: lines of its blocks for a shell that begin with `kubectl drydock`, without what a shell does with their output.
fn commands(text: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut is_shell = false;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let trimmed = line.trim();
        if let Some(kind) = trimmed.strip_prefix("```") {
            is_shell = !is_shell && matches!(kind.trim(), "sh" | "console" | "");
            continue;
        }
        let mut command = trimmed.trim_start_matches("$ ").to_owned();
        while let Some(more) = command.strip_suffix('\\').map(str::to_owned) {
            command = format!("{more} {}", lines.next().unwrap_or_default().trim());
        }
        if is_shell && command.starts_with("kubectl drydock ") {
            commands.push(command);
        }
    }
    commands
}

/// The words up to a pipe, a redirection or a comment.
fn words(command: &str) -> Option<Vec<String>> {
    let words = shlex::split(command)?;
    let is_shells = |word: &String| matches!(word.as_str(), "|" | ">" | "&&" | "||" | ";" | "&" | "2>");
    Some(words.into_iter().take_while(|word| !is_shells(word)).collect())
}

#[test]
fn every_command_of_the_docs_is_one_that_there_is() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for page in pages() {
        for command in commands(&std::fs::read_to_string(&page).unwrap()) {
            count += 1;
            let Some(words) = words(&command) else {
                wrong.push(format!("{}: {command}: a quote is not closed", page.display()));
                continue;
            };
            let words = std::iter::once("kubectl-drydock".to_owned()).chain(words.into_iter().skip(2));
            if let Err(error) = Arguments::try_parse_from(words)
                && error.use_stderr()
            {
                wrong.push(format!("{}: {command}\n{error}", page.display()));
            }
        }
    }
    assert!(count > 40, "the docs have commands: {count}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
