//! A shell as a reader has it: kubectl and its plugin on the path, and the folders of the repository beside the files of the tutorial.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use drydock_e2e::control_plane::find_binary;
use drydock_e2e::manifests::in_repository;
use drydock_e2e::process::Workplace;
use drydock_e2e::program;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// No command of the docs takes longer but those that serve or watch.
const LONGEST: Duration = Duration::from_mins(4);

/// What came of a command.
pub(super) struct Outcome {
    pub code: Option<i32>,
    pub output: String,
}

pub(super) struct Shell {
    workplace: Workplace,
    kubeconfig: PathBuf,
    path: String,
}

impl Shell {
    pub fn new(kubeconfig: &Path) -> Self {
        let workplace = Workplace::new("docs").unwrap();
        for folder in ["manifests", "crds"] {
            std::os::unix::fs::symlink(in_repository(folder), workplace.folder().join(folder)).unwrap();
        }
        let folder = |program: PathBuf| program.parent().unwrap().display().to_string();
        let path = format!(
            "{}:{}:{}",
            folder(find_binary("kubectl").unwrap()),
            folder(program::path("kubectl-drydock").unwrap()),
            std::env::var("PATH").unwrap()
        );
        Self {
            workplace,
            kubeconfig: kubeconfig.to_owned(),
            path,
        }
    }

    pub fn write(&self, name: &str, content: &str) {
        self.workplace.write(name, content).unwrap();
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new("bash");
        command
            .args(["-o", "pipefail", "-c", line])
            .current_dir(self.workplace.folder())
            .env("PATH", &self.path)
            .env("KUBECONFIG", &self.kubeconfig)
            // Nothing may open a browser.
            .env("BROWSER", "true")
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    }

    /// Runs a command to its end.
    pub async fn run(&self, line: &str) -> Outcome {
        let run = self.command(&format!("exec 2>&1; {line}")).output();
        let Ok(done) = tokio::time::timeout(LONGEST, run).await else {
            return Outcome {
                code: None,
                output: "it does not end".to_owned(),
            };
        };
        let done = done.unwrap();
        Outcome {
            code: done.status.code(),
            output: String::from_utf8_lossy(&done.stdout).into_owned(),
        }
    }

    /// Runs a command that ends only when it is asked to, until it has said something.
    pub async fn first_line(&self, line: &str) -> Option<String> {
        let mut child = self
            .command(&format!("exec 2>&1; exec {line}"))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take()?).lines();
        let first = tokio::time::timeout(LONGEST, lines.next_line()).await;
        interrupt(&mut child).await;
        first.ok()?.ok()?
    }

    /// Runs a command again and again until its output has these words.
    pub async fn until(&self, line: &str, words: &str) {
        let wait = async {
            while !self.run(line).await.output.contains(words) {
                tokio::task::yield_now().await;
            }
        };
        let in_time = tokio::time::timeout(LONGEST, wait).await;
        assert!(
            in_time.is_ok(),
            "{line} never says {words:?}: {}",
            self.run(line).await.output
        );
    }
}

/// What Ctrl-C does, and how the program ends.
async fn interrupt(child: &mut Child) -> ExitStatus {
    if let Some(id) = child.id() {
        let mut kill = Command::new("kill");
        kill.args(["-s", "INT", &id.to_string()]).status().await.unwrap();
    }
    tokio::time::timeout(LONGEST, child.wait())
        .await
        .unwrap()
        .unwrap()
}

/// `kubectl drydock sandbox`, as a reader starts it.
pub(super) struct Sandbox {
    child: Child,
    pub kubeconfig: PathBuf,
}

impl Sandbox {
    /// Starts one, and waits until it is ready.
    pub async fn start(arguments: &str) -> Self {
        let mut child = Command::new(program::path("kubectl-drydock").unwrap())
            .arg("sandbox")
            .args(arguments.split(' '))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let kubeconfig = tokio::time::timeout(LONGEST, lines.next_line()).await;
        let kubeconfig = kubeconfig.unwrap().unwrap().unwrap();
        // What it says later is read, so that it never waits for that.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Self {
            child,
            kubeconfig: kubeconfig.into(),
        }
    }

    /// A kubeconfig of one of its clusters.
    pub async fn kubeconfig_of(&self, cluster: &str) -> PathBuf {
        let path = self.kubeconfig.with_file_name(format!("{cluster}.kubeconfig"));
        std::fs::copy(&self.kubeconfig, &path).unwrap();
        let chosen = Shell::new(&path)
            .run(&format!("kubectl config use-context {cluster}"))
            .await;
        assert_eq!(chosen.code, Some(0), "{}", chosen.output);
        path
    }

    /// Ends it as Ctrl-C does: it leaves nothing behind.
    pub async fn stop(mut self) {
        let ended = interrupt(&mut self.child).await;
        assert!(ended.success(), "{ended}");
        assert!(!self.kubeconfig.exists(), "{} is left", self.kubeconfig.display());
    }
}
