//! The `kubectl drydock` plugin, and the server of the fleet page, which forecasts as the plugin does. Two programs, as the server carries
//! nothing of the sandbox: what a program does not call is not in it.

mod arguments;
mod cluster;
mod completion;
mod dashboard;
mod demo;
mod kubeconfig;
mod local_fleet;
mod plan;
mod sandbox;
mod schedule;
mod server;
mod upgrades;

use std::ffi::OsStr;
use std::process::ExitCode;

use anyhow::{Context, anyhow};
use clap::Parser;
use drydock_runtime::exit;
use drydock_runtime::telemetry::{self, LogFormat};

use arguments::{Arguments, Command};
use dashboard::server::DashboardServerArguments;

/// The exit code of an interrupted program.
const INTERRUPTED: u8 = 130;

/// The plugin, with the arguments of the process.
pub fn run_plugin() -> ExitCode {
    program(|| run(Arguments::parse()))
}

/// The server of the fleet page, with the arguments of the process.
pub fn run_dashboard() -> ExitCode {
    program(|| dashboard::server::run(&DashboardServerArguments::parse()).map(|()| ExitCode::SUCCESS))
}

fn program(run: impl FnOnce() -> anyhow::Result<ExitCode>) -> ExitCode {
    if let Some(argument) = std::env::args_os().find(|argument| acts_on_terminals(argument)) {
        let argument = argument.to_string_lossy();
        return exit::report(Err(anyhow!(
            "the argument {argument:?} has a character that a terminal acts on instead of showing it: leave it out"
        )));
    }
    exit::report(run().map_err(advise))
}

/// Errors quote what was given, clap's with colours of their own: nothing else may act on the terminal.
fn acts_on_terminals(argument: &OsStr) -> bool {
    let text = argument.to_string_lossy();
    !text
        .chars()
        .all(|letter| drydock_api::is_printable(letter) || letter == '\n' || letter == '\t')
}

/// Says what to do about an API server that cannot be reached.
fn advise(error: anyhow::Error) -> anyhow::Error {
    let is_unreachable = error
        .chain()
        .any(|cause| matches!(cause.downcast_ref(), Some(kube::Error::Service(_))));
    if is_unreachable {
        error.context("the API server does not answer: see whether it runs, and whether kubectl with the same kubeconfig and context reaches it")
    } else {
        error
    }
}

fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    // Who runs a command reads what it prints.
    telemetry::start(LogFormat::Text, "off").context("starting logs")?;
    // Simulated clusters live in virtual time; what is done to a real hub does not.
    let is_simulated = matches!(arguments.command, Command::Demo(_) | Command::Sandbox(_));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(is_simulated)
        .build()
        .context("starting the runtime")?;
    match arguments.command {
        Command::Demo(arguments) => Ok(match runtime.block_on(demo::run(&arguments))? {
            demo::End::Complete => ExitCode::SUCCESS,
            demo::End::Failed => ExitCode::FAILURE,
            demo::End::Interrupted => ExitCode::from(INTERRUPTED),
        }),
        Command::Sandbox(arguments) => {
            runtime.block_on(sandbox::run(&arguments))?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Dashboard(arguments) => {
            runtime.block_on(dashboard::run(&arguments))?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Plan(arguments) => runtime.block_on(plan::run(&arguments)),
        Command::Cluster(arguments) => runtime.block_on(cluster::run(&arguments)),
        Command::Schedule(arguments) => {
            runtime.block_on(schedule::run(&arguments))?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Completion(arguments) => {
            completion::print_script(&arguments)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Complete(words) => {
            completion::print_candidates(&words)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Upgrades(command) => runtime.block_on(upgrades::run(&command)),
    }
}
