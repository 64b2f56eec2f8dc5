//! Programs that a simulated cluster really runs: where the command of a Job's container is one of these, its pod does
//! what the program does, and ends as it ends.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use kube_sandbox::Clock;
use serde_json::Value;

/// What a program is given.
#[derive(Clone)]
pub struct ProgramContext {
    /// The environment of its container.
    pub environment: BTreeMap<String, String>,
    /// The API server of its cluster.
    pub client: kube::Client,
    /// What time it is there.
    pub clock: Clock,
}

/// A program: says whether it succeeded.
pub type Program = Arc<dyn Fn(ProgramContext) -> BoxFuture<'static, bool> + Send + Sync>;

/// Programs by their command.
#[derive(Clone, Default)]
pub struct Programs(BTreeMap<Vec<String>, Program>);

impl Programs {
    /// With one more program.
    #[must_use]
    pub fn with<F>(
        mut self,
        command: &[&str],
        program: impl Fn(ProgramContext) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = bool> + Send + 'static,
    {
        let command = command.iter().map(|word| (*word).to_owned()).collect();
        self.0
            .insert(command, Arc::new(move |context| Box::pin(program(context))));
        self
    }

    /// The program that a Job's pods run, with the environment that it names.
    pub(super) fn of_job(&self, job: &Value) -> Option<(Program, BTreeMap<String, String>)> {
        let container = &job["spec"]["template"]["spec"]["containers"][0];
        let command: Vec<String> = container["command"]
            .as_array()?
            .iter()
            .filter_map(|word| word.as_str().map(str::to_owned))
            .collect();
        let program = self.0.get(&command)?;
        let variables = container["env"].as_array().into_iter().flatten();
        let environment = variables
            .filter_map(|variable| {
                let text = |field: &str| variable[field].as_str().map(str::to_owned);
                Some((text("name")?, text("value").unwrap_or_default()))
            })
            .collect();
        Some((Arc::clone(program), environment))
    }
}

impl fmt::Debug for Programs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
