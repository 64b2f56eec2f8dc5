//! Processes that never outlive the test, however it ends.
//!
//! A test can end by a panic (then `Drop` runs) or by a signal (then nothing of ours runs). For the second case a guard,
//! a shell that waits for its input to close, kills what was started and removes the folder.

use std::fs::File;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};

use anyhow::Context;

/// Kills the process groups whose numbers it has read, one a line, when its input ends, and removes the folder.
const GUARD: &str = r#"
groups=
while read -r group; do groups="$groups $group"; done
for group in $groups; do kill -s KILL -- "-$group" 2>/dev/null; done
rm -rf -- "$0"
"#;

/// A folder with processes that work in it. Dropped, it kills them and removes the folder.
#[derive(Debug)]
pub struct Workplace {
    folder: PathBuf,
    guard: Mutex<Guard>,
}

#[derive(Debug)]
struct Guard {
    shell: Child,
    input: Option<ChildStdin>,
}

impl Workplace {
    /// A new folder below the system's temporary one.
    pub fn new(purpose: &str) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix(&format!("drydock-{purpose}-"))
            .tempdir()
            .context("creating a temporary folder")?
            .keep();
        let mut shell = Command::new("sh")
            .args(["-c", GUARD])
            .arg(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C goes to the terminal's foreground group: the guard must outlive it.
            .process_group(0)
            .spawn()
            .context("starting the shell that cleans up")?;
        let input = shell.stdin.take();
        Ok(Self {
            folder,
            guard: Mutex::new(Guard { shell, input }),
        })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes a file into the folder and gives its path. Who reads it meanwhile reads all of the old or all of the new: a
    /// program that starts while its kubeconfig is written again must not find an empty one.
    pub fn write(&self, name: &str, content: &str) -> anyhow::Result<PathBuf> {
        let path = self.folder.join(name);
        let written = || -> anyhow::Result<()> {
            let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
            file.write_all(content.as_bytes())?;
            file.persist(&path)?;
            Ok(())
        };
        written().with_context(|| format!("writing {}", path.display()))?;
        Ok(path)
    }

    /// Starts a program with its output in `<name>.log` of the folder.
    pub fn start(&self, name: &str, command: &mut Command) -> anyhow::Result<Process> {
        let log = self.folder.join(format!("{name}.log"));
        let output = File::options()
            .create(true)
            .append(true)
            .open(&log)
            .with_context(|| format!("opening {}", log.display()))?;
        let child = command
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(output.try_clone().context("sharing the log")?)
            .stderr(output)
            .process_group(0)
            .spawn()
            .with_context(|| format!("starting {}", command.get_program().display()))?;
        self.guard
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .watch(child.id())
            .with_context(|| format!("handing {name} to the guard"))?;
        Ok(Process {
            name: name.to_owned(),
            child,
            log,
        })
    }
}

impl Guard {
    fn watch(&mut self, group: u32) -> std::io::Result<()> {
        self.input.as_mut().map_or_else(
            || Err(std::io::ErrorKind::BrokenPipe.into()),
            |input| writeln!(input, "{group}"),
        )
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        let guard = self.guard.get_mut().unwrap_or_else(PoisonError::into_inner);
        drop(guard.input.take());
        // Nothing is left to do about a guard that is gone.
        let _ = guard.shell.wait();
    }
}

/// A running program; killed when dropped.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Kills it at once (`SIGKILL`): it can save and say nothing.
    pub fn kill(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal by its name, as `STOP` or `CONT`.
    ///
    /// # Errors
    /// If it is gone.
    pub fn signal(&self, signal: &str) -> anyhow::Result<()> {
        let sent = Command::new("kill")
            .args(["-s", signal, "--", &format!("-{}", self.child.id())])
            .status()
            .context("running kill")?;
        anyhow::ensure!(sent.success(), "{} did not get {signal}", self.name);
        Ok(())
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// An error with the end of its log if it has ended.
    pub fn expect_running(&mut self) -> anyhow::Result<()> {
        match self.ended() {
            None => Ok(()),
            Some(status) => anyhow::bail!("{} ended ({status}):\n{}", self.name, self.log_end()),
        }
    }

    /// Everything that it has printed.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// The last lines that it has printed.
    pub fn log_end(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Ticks of `/proc/PID/stat` a second: the same on every Linux.
const TICKS: f64 = 100.0;

/// What a process has used since its start.
#[derive(Clone, Copy, Debug)]
pub struct Used {
    /// Of the processors.
    pub cpu_seconds: f64,
    /// Memory at its highest.
    pub peak_kibibytes: u64,
    /// Memory now.
    pub resident_kibibytes: u64,
}

/// Reads what a process has used.
///
/// # Errors
/// If it is gone.
pub fn used(pid: u32) -> anyhow::Result<Used> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).context("reading its times")?;
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).context("reading its memory")?;
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks = |index: usize| -> f64 {
        let field = fields.get(index).and_then(|field| field.parse().ok());
        field.unwrap_or_default()
    };
    let kibibytes = |name: &str| -> u64 {
        let line = status.lines().find(|line| line.starts_with(name));
        let number = line.and_then(|line| line.split_whitespace().nth(1));
        number.and_then(|number| number.parse().ok()).unwrap_or_default()
    };
    Ok(Used {
        cpu_seconds: (ticks(11) + ticks(12)) / TICKS,
        peak_kibibytes: kibibytes("VmHWM:"),
        resident_kibibytes: kibibytes("VmRSS:"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alive(pid: u32) -> bool {
        Command::new("kill")
            .args(["-0", &pid.to_string()])
            .stderr(Stdio::null())
            .status()
            .expect("kill runs")
            .success()
    }

    #[test]
    fn who_reads_a_file_that_is_written_again_reads_all_of_the_old_one() {
        let workplace = Workplace::new("test").expect("a workplace");
        let path = workplace.write("authority.pem", "old").expect("written");
        let reader = File::open(&path).expect("opened");
        workplace.write("authority.pem", "new").expect("written again");
        assert_eq!(std::io::read_to_string(reader).expect("read"), "old");
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "new");
    }

    #[test]
    fn a_workplace_takes_its_processes_and_its_folder_with_it() {
        let workplace = Workplace::new("test").expect("a workplace");
        let folder = workplace.folder().to_owned();
        let process = workplace
            .start("sleep", Command::new("sleep").arg("600"))
            .expect("sleep starts");
        let pid = process.child.id();
        assert!(alive(pid));
        // As if the test were killed: no destructor of the process runs.
        let mut child = std::mem::ManuallyDrop::new(process);
        drop(workplace);
        let _ = child.child.wait();
        assert!(!alive(pid));
        assert!(!folder.exists());
    }
}
