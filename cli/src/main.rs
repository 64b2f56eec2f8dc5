//! The `kubectl drydock` plugin.

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

/// A simulated fleet is millions of small JSON values: the allocator is a good part of what a sandbox costs.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The exit code of an interrupted program.
const INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    if let Some(argument) = std::env::args_os().find(|argument| acts_on_terminals(argument)) {
        let argument = argument.to_string_lossy();
        return exit::report(Err(anyhow!(
            "the argument {argument:?} has a character that a terminal acts on instead of showing it: leave it out"
        )));
    }
    exit::report(run(Arguments::parse()).map_err(advise))
}

/// Errors quote what was given, clap's with colours of their own: nothing else may act on the terminal.
fn acts_on_terminals(argument: &OsStr) -> bool {
    let text = argument.to_string_lossy();
    !text
        .chars()
        .all(|letter| upgrades::table::is_printable(letter) || letter == '\n' || letter == '\t')
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
    // Who runs a command reads what it prints; who runs a server, its logs.
    let (format, level) = match &arguments.command {
        Command::DashboardServer(server) => (server.log_format, "info"),
        _ => (LogFormat::Text, "off"),
    };
    telemetry::start(format, level).context("starting logs")?;
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
        Command::DashboardServer(arguments) => {
            runtime.block_on(dashboard::server::run(&arguments))?;
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
