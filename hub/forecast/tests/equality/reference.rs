//! A rollout by the decision alone: it is asked at every event, and what it says is carried out. Clusters take as long as it is drawn.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use drydock_forecast::StageEnd;
use drydock_rollout::{
    Action, ActionJob, ActionJobState, AgentFeedback, AgentPhase, Applied, ClusterFacts, ClusterName,
    EndState, Enforcement, Labels, Observed, Plan, Previous, RejectedTarget, Selected, Spec, Stage, Target,
    UpdateState, VersionFeedback, Work, WorkFeedback, WorkKind, decide,
};
use jiff::{SignedDuration, Timestamp};
use semver::Version;

use super::drawn::TestDraws;
use super::fleet::{Edit, Fleet, action, canary_selector, name, operators, target};

/// When a cluster started and ended, as far as that was after the forecast, and whether it failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    pub started: Option<Timestamp>,
    pub ended: Option<(Timestamp, bool)>,
}

/// The end of a stage: when, of which cluster's work, which was created when.
type End = (Timestamp, usize, WorkKind, Timestamp);

pub struct Reference {
    pub observed: Observed,
    pub now: Timestamp,
    pub times: BTreeMap<ClusterName, Times>,
    draws: TestDraws,
    ends: BTreeSet<(End, bool)>,
    /// What clusters run, whatever they claim.
    versions: BTreeMap<usize, Version>,
    wake: Option<Timestamp>,
}

/// No case takes more looks than this; windows open for ever.
const LOOKS: usize = 12_000;
/// Where nothing has happened for so long, nothing will: the rarest window opens once a week, and no freeze lasts longer.
const QUIET: SignedDuration = SignedDuration::from_hours(24 * 9);

impl Reference {
    pub fn new(fleet: &Fleet, draws: TestDraws) -> Self {
        Self {
            observed: fleet.observed(),
            now: fleet.now(),
            times: BTreeMap::new(),
            draws,
            ends: BTreeSet::new(),
            versions: BTreeMap::new(),
            wake: None,
        }
    }

    /// From here on other draws count, and what is noted of clusters begins anew.
    pub fn draw_anew(&mut self, draws: TestDraws) {
        self.draws = draws;
        self.times.clear();
        self.ends.clear();
        let rows = self.observed.rows.clone();
        for (cluster, row) in &rows {
            let unended = row.works.iter().filter(|(_, work)| work.outcome.is_none());
            let ended = row.works.iter().any(|(_, work)| work.outcome.is_some());
            let newest = unended.max_by_key(|(kind, work)| (work.created, *kind as u8));
            if let Some((kind, work)) = newest.filter(|(_, work)| !ended && !is_over(work)) {
                let elapsed = self.now.duration_since(work.created).as_secs();
                self.schedule(number(cluster), kind, work.created, elapsed);
            }
        }
    }

    pub fn run_to_its_end(&mut self) {
        let mut quiet_since = self.now;
        for _ in 0..LOOKS {
            let noted = self.times.clone();
            self.settle();
            let has_happened = self.times != noted || !self.ends.is_empty();
            if has_happened {
                quiet_since = self.now;
            }
            if self.now.duration_since(quiet_since) > QUIET || !self.advance() {
                return;
            }
        }
        panic!("it comes to no end");
    }

    /// Decides and carries out until there is nothing to do.
    pub fn settle(&mut self) {
        for _ in 0..200 {
            let plan = decide(&self.observed, self.now);
            let before = self.observed.rollout.previous.clone();
            self.carry_out(&plan);
            self.wake = plan.wake;
            if plan.actions.is_empty() && self.observed.rollout.previous == before {
                return;
            }
        }
        panic!("it never comes to rest");
    }

    /// Lets the time pass until something happens; false if nothing ever does.
    pub fn advance(&mut self) -> bool {
        let end = self.ends.first().map(|((moment, ..), _)| *moment);
        let Some(next) = end.into_iter().chain(self.wake).min() else {
            return false;
        };
        self.now = self.now.max(next);
        while let Some((end, failed)) = self.ends.first().copied() {
            if end.0 > self.now {
                break;
            }
            self.ends.pop_first();
            self.stage_ends(end, failed);
        }
        true
    }

    fn carry_out(&mut self, plan: &Plan) {
        for action in &plan.actions {
            self.observed.apply(action, self.now);
            self.note(action);
        }
        let report = &plan.report;
        let incomplete_since = self.observed.rollout.previous.incomplete_since;
        self.observed.rollout.previous = Previous {
            observed_generation: Some(self.observed.rollout.upgrade.generation),
            start_time: report.rollout_since,
            completion_time: report.complete().then_some(self.now),
            complete: report.complete(),
            incomplete_since: (!report.complete()).then(|| incomplete_since.unwrap_or(self.now)),
            pre_checks_passed_since: None,
        };
    }

    fn note(&mut self, action: &Action) {
        let now = self.now;
        match action {
            Action::CreateWork(new) => {
                let row = &self.observed.rows[&new.cluster];
                let is_first = row.works.iter().all(|(kind, _)| kind == new.kind);
                if is_first {
                    self.times.entry(new.cluster.clone()).or_default().started = Some(now);
                }
                let number = number(&new.cluster);
                let reads =
                    new.revision.enforcement == Enforcement::Observed && new.kind == WorkKind::Cluster;
                let at_target = reads && self.read(number, new.revision.goal.target.as_ref());
                if !at_target {
                    self.schedule(number, new.kind, now, 0);
                }
            }
            Action::ReopenWork { cluster, .. } => {
                self.times.entry(cluster.clone()).or_default().started = Some(now);
            }
            Action::FinishWork(finish) => {
                let failed = finish.outcome == EndState::Failed;
                self.times.entry(finish.cluster.clone()).or_default().ended = Some((now, failed));
            }
            _ => {}
        }
    }

    /// A work that only reads shows what the cluster runs, at once; says whether that is the target.
    fn read(&mut self, number: usize, target: Option<&Target>) -> bool {
        let claimed = |facts: &Arc<ClusterFacts>| facts.version.clone();
        let row = self.observed.rows.get_mut(&name(number)).unwrap();
        let known = self.versions.get(&number).cloned();
        let runs = known
            .or_else(|| row.facts.as_ref().and_then(claimed))
            .unwrap_or(Version::new(4, 14, 9));
        let wanted = target.and_then(|target| target.version.clone());
        let work = Arc::make_mut(row.works.get_mut(WorkKind::Cluster).unwrap());
        let shown = VersionFeedback {
            version: Some(runs.clone()),
            state: Some(UpdateState::Completed),
            ..VersionFeedback::default()
        };
        match &mut work.feedback {
            WorkFeedback::ClusterVersion(feedback) => *feedback = shown,
            WorkFeedback::Agent(feedback) => feedback.cluster = shown,
            _ => {}
        }
        wanted.is_some_and(|wanted| runs >= wanted)
    }

    fn schedule(&mut self, number: usize, kind: WorkKind, created: Timestamp, elapsed: i64) {
        let draw = self.draws.of(number, Stage::of(kind), elapsed);
        let moment = created + SignedDuration::from_secs(draw.seconds);
        let end = (moment, number, kind, created);
        match draw.end {
            StageEnd::Succeeds => self.ends.insert((end, false)),
            StageEnd::Fails => self.ends.insert((end, true)),
            StageEnd::Hangs => false,
        };
    }

    fn stage_ends(&mut self, (now, number, kind, created): End, failed: bool) {
        let Some(row) = self.observed.rows.get_mut(&name(number)) else {
            return;
        };
        let Some(work) = row.works.get_mut(kind).map(Arc::make_mut) else {
            return;
        };
        if work.created != created || work.outcome.is_some() {
            return;
        }
        let goal = work.revision.as_ref().map(|revision| Arc::clone(&revision.goal));
        let target = goal.and_then(|goal| goal.target.clone()).unwrap_or_default();
        if failed {
            fail(work, &target, now - SignedDuration::from_mins(11));
            return;
        }
        succeed(work, &target);
        // What is done on a cluster is done by one that is there.
        self.facts(number, |facts| facts.available = true);
        if kind == WorkKind::Cluster
            && let Some(version) = target.version
        {
            self.versions.insert(number, version.clone());
            self.facts(number, |facts| {
                // Some claims lag behind.
                if number % 2 == 0 && facts.version.is_some() {
                    facts.version = Some(version);
                }
            });
        }
    }

    fn facts(&mut self, number: usize, edit: impl FnOnce(&mut ClusterFacts)) {
        let row = self.observed.rows.get_mut(&name(number));
        if let Some(facts) = row.and_then(|row| row.facts.as_mut()) {
            edit(Arc::make_mut(facts));
        }
    }

    pub fn edit(&mut self, edit: &Edit) {
        match edit {
            Edit::Retry(cluster) => {
                let token: Arc<str> = self.now.to_string().into();
                let retries = &mut self.observed.rollout.upgrade.retries;
                match cluster {
                    None => retries.all = Some(token),
                    Some(number) => {
                        retries.clusters.insert(name(*number), token);
                    }
                }
            }
            Edit::Selected(number, selected) => {
                if let Some(row) = self.observed.rows.get_mut(&name(*number)) {
                    row.selection = selected.then_some(Selected {
                        order: (0, 0),
                        sources: 1,
                    });
                }
            }
            Edit::Canary(number, is_canary) => self.facts(*number, |facts| {
                let labels = [("in", facts.labels.contains_key("in")), ("canary", *is_canary)];
                let labels = labels.into_iter().filter(|(_, yes)| *yes);
                let labels: BTreeMap<_, _> = labels
                    .map(|(key, _)| (key.to_owned(), "yes".to_owned()))
                    .collect();
                facts.labels = Labels::from(&labels);
            }),
            Edit::Available(number, available) => {
                let now = self.now;
                self.facts(*number, |facts| {
                    facts.available = *available;
                    facts.available_since = Some(now);
                });
            }
            edit => {
                let rollout = &mut self.observed.rollout;
                let spec = rollout.spec.as_mut().unwrap();
                edit_spec(Arc::make_mut(spec), edit, self.now);
                rollout.upgrade.generation += 1;
            }
        }
    }
}

fn edit_spec(spec: &mut Spec, edit: &Edit, now: Timestamp) {
    match edit {
        Edit::Paused(paused) => spec.paused = *paused,
        Edit::Limit(limit) => spec.strategy.max_concurrency = *limit,
        Edit::Version(patch) => {
            let goal = Arc::make_mut(&mut spec.goal);
            if goal.target.is_some() {
                goal.target = Some(target(*patch));
            }
        }
        Edit::Soak(minutes) => spec.strategy.soak = SignedDuration::from_mins(*minutes),
        Edit::MaxFailures(failures) => spec.strategy.max_failures = *failures,
        Edit::StartTimes(times) => {
            spec.strategy.start_times = times.at(now);
            spec.strategy.start_only_if_it_fits = times.only_if_it_fits;
        }
        Edit::Pre(wanted) => spec.pre_action = action(*wanted),
        Edit::Post(wanted) => spec.post_action = action(*wanted),
        Edit::Operators(wanted) => {
            let goal = Arc::make_mut(&mut spec.goal);
            goal.operators = operators(*wanted || goal.target.is_none());
        }
        Edit::Timeout(minutes) => spec.strategy.cluster_timeout = SignedDuration::from_mins(*minutes),
        Edit::Canaries(wanted) => spec.strategy.canaries = wanted.then(canary_selector),
        Edit::Method(method) => spec.strategy.method = *method,
        Edit::Retry(_) | Edit::Selected(..) | Edit::Canary(..) | Edit::Available(..) => {}
    }
}

fn number(cluster: &ClusterName) -> usize {
    let name: &str = cluster.as_ref();
    name.trim_start_matches('c').parse().unwrap()
}

/// Whether what a work feeds back is an end.
fn is_over(work: &Work) -> bool {
    let target = work
        .revision
        .as_ref()
        .and_then(|revision| revision.goal.target.as_ref());
    let wanted = target.and_then(|target| target.version.as_ref());
    match &work.feedback {
        WorkFeedback::ActionJobs(runs) => runs.iter().any(|run| run.state != ActionJobState::Running),
        WorkFeedback::ClusterVersion(feedback) => {
            feedback.invalid.is_some() || feedback.version.as_ref() >= wanted
        }
        WorkFeedback::Agent(feedback) => {
            feedback.phase.is_some() || feedback.cluster.version.as_ref() >= wanted
        }
        WorkFeedback::Unreadable(_) => false,
    }
}

fn succeed(work: &mut Work, target: &Target) {
    work.applied = Applied::Yes;
    work.available = true;
    let reached = VersionFeedback {
        version: target.version.clone(),
        image: target.image.as_deref().map(Into::into),
        channel: target.channel.as_deref().map(Into::into),
        state: Some(UpdateState::Completed),
        ..VersionFeedback::default()
    };
    match &mut work.feedback {
        WorkFeedback::ActionJobs(runs) => runs
            .iter_mut()
            .for_each(|run| run.state = ActionJobState::Succeeded),
        WorkFeedback::ClusterVersion(feedback) => *feedback = reached,
        WorkFeedback::Agent(feedback) => {
            **feedback = AgentFeedback {
                phase: Some(AgentPhase::Upgraded),
                version: reached.version.clone(),
                desired_version: reached.version.clone(),
                desired_image: reached.image.clone(),
                cluster: reached,
                ..AgentFeedback::default()
            };
        }
        WorkFeedback::Unreadable(_) => {}
    }
}

fn fail(work: &mut Work, target: &Target, since: Timestamp) {
    match &mut work.feedback {
        WorkFeedback::ActionJobs(runs) => {
            *runs = vec![ActionJob {
                name: "Job a/b".into(),
                state: ActionJobState::Failed,
            }];
        }
        WorkFeedback::ClusterVersion(feedback) => {
            feedback.invalid = Some(Box::new(RejectedTarget {
                message: format!("{target} is unknown").into(),
                since,
            }));
        }
        WorkFeedback::Agent(feedback) => {
            feedback.version.clone_from(&target.version);
            feedback.phase = Some(AgentPhase::Failed);
        }
        WorkFeedback::Unreadable(_) => {}
    }
}
