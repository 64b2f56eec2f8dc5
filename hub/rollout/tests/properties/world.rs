//! A small world that carries out what is planned, and in which anything happens that the API lets users, clusters and other
//! upgrades do.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use drydock_rollout::{
    AcceptedFinding, Action, ActionJob, ActionJobState, ActionSpec, AgentFeedback, AgentOptions, AgentPhase,
    AnswerSource, Applied, AttemptOutcome, ClusterFacts, ClusterName, ClusterRow, Decider, EndState,
    Enforcement, Entry, EntryPlace, ExpectedDuration, Finding, FindingAcceptance, FindingLevel, Goal,
    IntOrPercent, KnownAnswer, Labels, LiveUpgrades, Observed, Operators, OwnPlacement, Owner, PlacementKey,
    Plan, PreCheckAnswer, PreCheckWrite, PreChecksMode, PreChecksPolicy, Previous, RecordPageHeader,
    RecordedEntry, RecordedOutcome, Refusal, RefusalCause, RefusedWrite, RejectedTarget, RequestedMethod,
    Requirements, Retries, RetryToken, Revision, RiskAcceptance, Rollout, Selected, Selection,
    SelectionProblem, SelectionSource, Selector, Spec, StageSeconds, StartTimes, StartWindow, Strategy,
    Target, Uid, UpdateState, Upgrade, UpgradeKey, UpgradeMethod, VersionFeedback, Window, Work,
    WorkFeedback, WorkKind, check, decide,
};
use jiff::{SignedDuration, Timestamp};
use semver::Version;

use super::event::{Event, Fleet, SpecEdit};

const UID: &str = "ours";

/// Which works somebody else's upgrade has on a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theirs {
    /// One in flight.
    InFlight,
    /// One that has ended and is on its record.
    Recorded,
    /// One that has ended and is on no record.
    Unrecorded,
    /// Of an upgrade that does not exist any more.
    Orphaned,
    /// None; a record says that they have had the cluster.
    Gone,
}

pub struct World {
    pub observed: Observed,
    pub now: Timestamp,
    /// Given every change, and compared at every plan.
    decider: Decider,
    made: u64,
}

pub fn name(number: usize) -> ClusterName {
    ClusterName::from(format!("c{number}"))
}

pub fn target(version: Version) -> Target {
    Target {
        channel: Some("stable-4.14".to_owned()),
        version: Some(version),
        ..Target::default()
    }
}

fn spec(fleet: &Fleet) -> Spec {
    let hour = SignedDuration::from_hours(1);
    let action = |wanted: bool| {
        wanted.then(|| ActionSpec {
            timeout: hour,
            work: Arc::new(serde_json::json!({})),
        })
    };
    Spec {
        placements: vec![PlacementKey::new("default", "all")],
        own_placement: None,
        goal: Arc::new(Goal {
            target: Some(target(Version::new(4, 14, 12))),
            operators: fleet.operators.then_some(Operators {
                include: None,
                exclude: Vec::new(),
            }),
        }),
        strategy: Strategy {
            canaries: (fleet.canaries > 0).then(canary_selector),
            soak: SignedDuration::from_mins(fleet.soak_minutes),
            max_concurrency: fleet.limit,
            operators_timeout: SignedDuration::from_mins(10),
            max_failures: fleet.max_failures.map(IntOrPercent::Count),
            start_times: StartTimes::default(),
            cluster_timeout: SignedDuration::from_hours(3),
            start_only_if_it_fits: false,
            method: RequestedMethod::Auto,
            agent: AgentOptions {
                steps: "OSD",
                pdb_force_drain_minutes: 60,
                capacity_reservation: None,
                namespace: "agent".to_owned(),
            },
        },
        pre_action: action(fleet.pre),
        post_action: action(fleet.post),
        pre_checks: PreChecksPolicy::default(),
        paused: false,
    }
}

fn canary_selector() -> Selector {
    Selector::labels(&BTreeMap::from([("canary".to_owned(), "yes".to_owned())]))
}

fn facts(fleet: &Fleet, number: usize) -> ClusterFacts {
    let mut labels = BTreeMap::from([("in".to_owned(), "yes".to_owned())]);
    if number < fleet.canaries {
        labels.insert("canary".to_owned(), "yes".to_owned());
    }
    ClusterFacts {
        labels: Labels::from(&labels),
        accepted: true,
        joined: true,
        available: true,
        version: (!fleet.unclaimed.contains(&number)).then(|| Version::new(4, 14, 9)),
        ..ClusterFacts::default()
    }
}

impl World {
    pub fn new(fleet: &Fleet) -> Self {
        let selected = Some(Selected {
            order: (0, 0),
            sources: 1,
        });
        let row = |number: usize| ClusterRow {
            facts: Some(Arc::new(facts(fleet, number))),
            selection: selected,
            agent: fleet.agents.contains(&number),
            expected: [None, Some(5), Some(15), Some(25)][number % 4]
                .map(|minutes| ExpectedDuration::new(SignedDuration::from_mins(minutes), false)),
            ..ClusterRow::default()
        };
        let rollout = Rollout {
            upgrade: Upgrade {
                key: UpgradeKey::new("default", "upgrade"),
                uid: Uid::new(UID),
                generation: 1,
                deleting: false,
                namespace_deleting: false,
                finalizer: false,
                retries: Retries::default(),
                started_by: "somebody".into(),
                live: Arc::new(live(UID, true)),
            },
            spec: Ok(Arc::new(spec(fleet))),
            previous: Previous::default(),
            selection: Selection {
                sources: vec![SelectionSource {
                    placement: PlacementKey::new("default", "all"),
                    tolerations: Vec::new(),
                    requirements: Requirements {
                        predicates: vec![Selector::labels(&BTreeMap::from([(
                            "in".to_owned(),
                            "yes".to_owned(),
                        )]))],
                        sets: None,
                    },
                    problem: None,
                }],
                own: OwnPlacement::Absent,
                superseded: BTreeSet::new(),
            },
            acceptances: Arc::default(),
            pages: Vec::new(),
            page_refusal: None,
        };
        let observed = Observed {
            rollout,
            rows: (0..fleet.clusters)
                .map(|number| (name(number), row(number)))
                .collect(),
        };
        Self {
            decider: Decider::of(observed.clone()),
            observed,
            now: Timestamp::from_second(1_767_600_000).unwrap(),
            made: 0,
        }
    }

    pub fn spec(&self) -> &Spec {
        self.observed.rollout.spec.as_ref().unwrap()
    }

    fn edit(&mut self, edit: impl FnOnce(&mut Spec)) {
        if let Ok(spec) = &mut self.observed.rollout.spec {
            edit(Arc::make_mut(spec));
            self.observed.rollout.upgrade.generation += 1;
        }
    }

    /// The spec asks for another image of the same version.
    pub fn edit_image(&mut self, image: &str) {
        self.edit(|spec| {
            if let Some(target) = &mut Arc::make_mut(&mut spec.goal).target {
                target.image = Some(image.to_owned());
            }
        });
        self.update_decider();
    }

    fn row(&mut self, number: usize) -> Option<&mut ClusterRow> {
        self.observed.rows.get_mut(&name(number))
    }

    fn edit_facts(&mut self, number: usize, edit: impl FnOnce(&mut ClusterFacts)) {
        if let Some(facts) = self.row(number).and_then(|row| row.facts.as_mut()) {
            edit(Arc::make_mut(facts));
        }
    }

    /// The cluster's own work that has not come to its end: the last one that was made.
    fn newest(&mut self, number: usize) -> Option<(WorkKind, &mut Work)> {
        let upgrade = self.observed.rollout.upgrade.clone();
        let row = self.row(number)?;
        let kinds: Vec<WorkKind> = row
            .works
            .iter()
            .filter(|(_, work)| upgrade.owns(&work.owner))
            .map(|(kind, _)| kind)
            .collect();
        if row.works.iter().any(|(_, work)| work.outcome.is_some()) {
            return None;
        }
        let kind = *kinds.last()?;
        Some((kind, Arc::make_mut(row.works.get_mut(kind)?)))
    }

    pub fn happen(&mut self, event: &Event) {
        match event {
            Event::Minutes(minutes) => self.now += SignedDuration::from_mins(*minutes),
            event => {
                // No two things happen at one moment.
                self.now += SignedDuration::from_millis(1);
                self.happens_to_cluster(event);
                self.happens_to_works(event);
                self.happens_to_upgrade(event);
            }
        }
        self.update_decider();
    }

    fn happens_to_cluster(&mut self, event: &Event) {
        match event {
            Event::Available(number, available) => {
                self.edit_facts(*number, |facts| facts.available = *available);
            }
            Event::Product(number, other) => self.edit_facts(*number, |facts| {
                facts.product = other.then(|| "EKS".to_owned());
            }),
            Event::Leaves(number) => self.edit_facts(*number, |facts| facts.deleting = true),
            Event::Matches(number, matches) => self.edit_facts(*number, |facts| {
                let value = if *matches { "yes" } else { "no" };
                set_label(facts, "in", Some(value));
            }),
            Event::Canary(number, is_canary) => self.edit_facts(*number, |facts| {
                set_label(facts, "canary", is_canary.then_some("yes"));
            }),
            Event::Claims(number, patch) => self.edit_facts(*number, |facts| {
                facts.version = Some(Version::new(4, 14, *patch));
            }),
            Event::Agent(number, agent) => {
                if let Some(row) = self.row(*number) {
                    row.agent = *agent;
                }
            }
            Event::Selected(number, selected) => {
                if let Some(row) = self.row(*number) {
                    row.selection = selected.then_some(Selected {
                        order: (0, *number as u32 % 3),
                        sources: 1,
                    });
                }
            }
            _ => {}
        }
    }

    fn happens_to_works(&mut self, event: &Event) {
        let now = self.now;
        match event {
            Event::Lost(number) => {
                if let Some(row) = self.row(*number) {
                    row.works = drydock_rollout::Works::default();
                }
            }
            Event::Unlabelled(number) => {
                if let Some((_, work)) = self.newest(*number) {
                    work.labelled = false;
                }
            }
            Event::Vanished(number) => {
                if let Some((kind, _)) = self.newest(*number) {
                    let due = now + SignedDuration::from_mins(1);
                    self.row(*number).unwrap().unconfirmed.insert(kind, due);
                }
            }
            Event::Progress(number) => {
                let target = self.newest_target(*number);
                if let Some((_, work)) = self.newest(*number) {
                    progress(work, &target);
                }
            }
            Event::Failure(number) => {
                let target = self.newest_target(*number);
                if let Some((_, work)) = self.newest(*number) {
                    fail(work, &target, now - SignedDuration::from_mins(11));
                }
            }
            Event::Locked(number, locked) => {
                if let Some((_, work)) = self.newest(*number)
                    && let WorkFeedback::ClusterVersion(feedback) = &mut work.feedback
                {
                    feedback.locked_by = locked.then(|| "UpgradeJob a/b".into());
                }
            }
            Event::UpdatedByOthers(number, fails) => {
                let long_ago = self.now - SignedDuration::from_hours(1);
                if let Some((_, work)) = self.newest(*number)
                    && let WorkFeedback::ClusterVersion(feedback) = &mut work.feedback
                    && feedback.state != Some(UpdateState::Partial)
                {
                    feedback.version = Some(Version::new(4, 14, 10));
                    feedback.state = Some(UpdateState::Partial);
                    feedback.blocked_by = fails.then(|| "the cluster is failing".into());
                    feedback.failing_since = fails.then_some(long_ago);
                }
            }
            Event::Refused(number, cause) => self.refuse(*number, *cause),
            Event::Accepted(number) => {
                if let Some(row) = self.row(*number) {
                    row.refusals.clear();
                }
            }
            Event::Theirs(number, theirs, later) => self.another_upgrade(*number, *theirs, *later),
            Event::Answers(number, finds, by_agent) => self.answer(*number, *finds, *by_agent),
            _ => {}
        }
    }

    fn happens_to_upgrade(&mut self, event: &Event) {
        let now = self.now;
        match event {
            Event::Decided(decided) => {
                let problem = (!decided).then_some(SelectionProblem::Pending);
                self.observed.rollout.selection.sources[0].problem = problem;
            }
            Event::Edit(edits) => {
                for edit in edits {
                    self.edit_spec(edit);
                }
            }
            Event::Retry(cluster) => {
                let token: Arc<str> = now.to_string().into();
                let retries = &mut self.observed.rollout.upgrade.retries;
                match cluster {
                    None => retries.all = Some(token),
                    Some(number) => {
                        retries.clusters.insert(name(*number), token);
                    }
                }
            }
            Event::AcceptsRisk(accepts) => {
                let target = self
                    .observed
                    .rollout
                    .spec
                    .as_ref()
                    .ok()
                    .and_then(|spec| spec.goal.target.clone());
                let risk = target.filter(|_| *accepts).map(|target| accepted_risk(&target));
                self.observed.rollout.acceptances = risk.into_iter().collect();
            }
            Event::Records(accepted) => {
                let refusal = self.refusal(RefusedWrite::Create, RefusalCause::Other);
                self.observed.rollout.page_refusal = (!accepted).then(|| Arc::new(refusal));
            }
            Event::Restored => {
                self.made += 1;
                let uid = format!("restored-{}", self.made);
                self.observed.rollout.upgrade.uid = Uid::new(uid.as_str());
                self.observed.rollout.upgrade.live = Arc::new(live(&uid, true));
            }
            _ => {}
        }
    }

    fn newest_target(&mut self, number: usize) -> Target {
        let work = self.newest(number).and_then(|(_, work)| work.revision.clone());
        work.and_then(|revision| revision.goal.target.clone())
            .unwrap_or_default()
    }

    /// The cluster answers what it was last asked.
    pub fn answer(&mut self, number: usize, finds: bool, by_agent: bool) {
        let now = self.now;
        let Some(work) = self.row(number).and_then(|row| row.pre_checks.as_mut()) else {
            return;
        };
        let source = if by_agent {
            AnswerSource::Agent {
                collected_at: now,
                stops: finds,
                unaccepted: usize::from(finds),
            }
        } else {
            AnswerSource::ClusterVersion
        };
        Arc::make_mut(work).answer = KnownAnswer::Current(PreCheckAnswer {
            source,
            findings: finds.then(finding).into_iter().collect(),
        });
    }

    /// The clock of the cluster was so many minutes ahead when its agent answered.
    pub fn answered_ahead(&mut self, number: usize, minutes: i64) {
        let Some(work) = self.row(number).and_then(|row| row.pre_checks.as_mut()) else {
            return;
        };
        let answer = &mut Arc::make_mut(work).answer;
        if let KnownAnswer::Current(PreCheckAnswer {
            source: AnswerSource::Agent { collected_at, .. },
            ..
        }) = answer
        {
            *collected_at += SignedDuration::from_mins(minutes);
        }
        self.update_decider();
    }

    /// Somebody accepts the finding until a moment.
    pub fn accept_for(&mut self, minutes: i64) {
        self.happen(&Event::AcceptsRisk(true));
        let until = self.now + SignedDuration::from_mins(minutes);
        let accepted = self.observed.rollout.acceptances.iter().cloned();
        self.observed.rollout.acceptances = accepted
            .map(|risk| RiskAcceptance {
                until: Some(until),
                ..risk
            })
            .collect();
    }

    /// Somebody accepts the finding as less bad than it is.
    pub fn accept_as_warning(&mut self) {
        self.happen(&Event::AcceptsRisk(true));
        let accepted = self.observed.rollout.acceptances.iter().cloned();
        self.observed.rollout.acceptances = accepted
            .map(|risk| RiskAcceptance {
                level: FindingLevel::Warning,
                ..risk
            })
            .collect();
    }

    /// The agent of the cluster is uninstalled.
    pub fn remove_agent(&mut self, number: usize) {
        if let Some(row) = self.row(number) {
            (row.agent, row.agent_installed) = (false, false);
        }
    }

    /// A write of the work that asks the cluster is under way, or is refused.
    pub fn write_pre_checks(&mut self, number: usize, write: Option<PreCheckWrite>) {
        if let Some(row) = self.row(number) {
            row.pre_check_write = write;
        }
        self.update_decider();
    }

    /// Another upgrade asks the agent of the cluster.
    pub fn taken(&mut self, number: usize) {
        if let Some(work) = self.row(number).and_then(|row| row.pre_checks.as_mut()) {
            let work = Arc::make_mut(work);
            let earlier = work.answer.any().cloned();
            work.answer = earlier.map_or(KnownAnswer::None, KnownAnswer::Earlier);
            work.is_taken = true;
        }
    }

    fn edit_spec(&mut self, edit: &SpecEdit) {
        let hour = SignedDuration::from_hours(1);
        let action = |wanted: bool| {
            wanted.then(|| ActionSpec {
                timeout: hour,
                work: Arc::new(serde_json::json!({})),
            })
        };
        let edit = edit.clone();
        self.edit(|spec| match edit {
            SpecEdit::Paused(paused) => spec.paused = paused,
            SpecEdit::Limit(limit) => spec.strategy.max_concurrency = IntOrPercent::Count(limit),
            SpecEdit::Version(patch) => {
                Arc::make_mut(&mut spec.goal).target = Some(target(Version::new(4, 14, patch)));
            }
            SpecEdit::Image => {
                Arc::make_mut(&mut spec.goal).target = Some(Target {
                    image: Some("quay.io/a/b@sha256:0".to_owned()),
                    ..Target::default()
                });
            }
            SpecEdit::Channel(channel) => {
                if let Some(target) = &mut Arc::make_mut(&mut spec.goal).target {
                    target.channel = Some(channel.to_owned());
                }
            }
            SpecEdit::Operators(wanted) => {
                Arc::make_mut(&mut spec.goal).operators = wanted.then_some(Operators {
                    include: None,
                    exclude: Vec::new(),
                });
            }
            SpecEdit::Pre(wanted) => spec.pre_action = action(wanted),
            SpecEdit::Post(wanted) => spec.post_action = action(wanted),
            SpecEdit::Canaries(wanted) => spec.strategy.canaries = wanted.then(canary_selector),
            SpecEdit::Soak(minutes) => spec.strategy.soak = SignedDuration::from_mins(minutes),
            SpecEdit::MaxFailures(failures) => {
                spec.strategy.max_failures = failures.map(IntOrPercent::Count);
            }
            SpecEdit::Windows(wanted) => {
                let window = || Window::parse("0 * * * *", SignedDuration::from_mins(20), None).unwrap();
                spec.strategy.start_times = StartTimes::of_all(wanted.then(window).into_iter().collect());
            }
            SpecEdit::CanaryWindows(wanted) => {
                let window = Window::parse("0 * * * *", SignedDuration::from_mins(20), None).unwrap();
                let window = StartWindow {
                    window,
                    selector: Some(canary_selector()),
                };
                let windows = if wanted { vec![window] } else { Vec::new() };
                spec.strategy.start_times = StartTimes::new(windows, Vec::new());
            }
            SpecEdit::OnlyIfItFits(wanted) => spec.strategy.start_only_if_it_fits = wanted,
            SpecEdit::Method(method) => spec.strategy.method = method,
            SpecEdit::PreChecks(mode) => spec.pre_checks = policy(mode),
        });
    }

    fn refusal(&self, write: RefusedWrite, cause: RefusalCause) -> Refusal {
        Refusal {
            upgrade: self.observed.rollout.upgrade.uid.clone(),
            write,
            cause,
            words: "a webhook says no".into(),
            since: self.now,
            last: self.now,
            next: self.now + SignedDuration::from_mins(1),
        }
    }

    fn refuse(&mut self, number: usize, cause: RefusalCause) {
        let writes = [RefusedWrite::Create, RefusedWrite::Change, RefusedWrite::Delete];
        for write in writes {
            let refusal = Arc::new(self.refusal(write, cause));
            if let Some(row) = self.row(number) {
                for kind in WorkKind::ALL {
                    row.refusals
                        .insert((refusal.upgrade.clone(), kind, write), Arc::clone(&refusal));
                }
            }
        }
    }

    fn another_upgrade(&mut self, number: usize, theirs: Theirs, later: bool) {
        let hour = SignedDuration::from_hours(1);
        let since = if later {
            self.now + hour
        } else {
            self.now - hour * 2000
        };
        let lives = theirs != Theirs::Orphaned;
        let owner = Owner {
            uid: Uid::new(if lives { "theirs" } else { "gone" }),
            upgrade: Some(UpgradeKey::new("team", if lives { "theirs" } else { "gone" })),
        };
        let ended = matches!(theirs, Theirs::Recorded | Theirs::Unrecorded | Theirs::Orphaned);
        let (now, made) = (self.now, self.made + 1);
        self.made = made;
        let Some(row) = self.row(number) else { return };
        // One upgrade at a time has works on a cluster.
        if !row.works.is_empty() && theirs != Theirs::Gone {
            return;
        }
        if theirs != Theirs::Gone {
            let work = their_work(&owner, since, now, made, ended);
            row.works.insert(WorkKind::Cluster, Arc::new(work));
        }
        if matches!(theirs, Theirs::Recorded | Theirs::Gone) {
            let entry = their_entry(name(number), owner, since, now);
            row.entries = row.entries.iter().cloned().chain([Arc::new(entry)]).collect();
        }
    }

    /// Their owner writes what is on no record yet.
    fn others_record(&mut self) {
        let now = self.now;
        for (name, row) in &mut self.observed.rows {
            let theirs = row
                .works
                .get(WorkKind::Cluster)
                .filter(|work| work.owner.uid.as_str() == "theirs");
            let Some(work) = theirs.filter(|work| work.outcome.is_some()).cloned() else {
                continue;
            };
            let started = Some(work.attempt_since());
            if row
                .entries
                .iter()
                .all(|recorded| recorded.entry.started != started)
            {
                let since = work.revision.as_ref().unwrap().rollout_since;
                let mut entry = their_entry(name.clone(), work.owner.clone(), since, now);
                entry.entry.started = started;
                row.entries = row.entries.iter().cloned().chain([Arc::new(entry)]).collect();
            }
        }
    }

    /// Gives the decider all that has changed.
    fn update_decider(&mut self) {
        self.decider.set_rollout(self.observed.rollout.clone());
        for (name, row) in &self.observed.rows {
            self.decider.set_row(name.clone(), Some(row.clone()));
        }
    }

    /// The plan of the moment: the same from all that is observed and from what has changed.
    pub fn plan(&mut self) -> Plan {
        let whole = decide(&self.observed, self.now);
        let incremental = self.decider.plan(self.now, &|_| false);
        assert_eq!(
            incremental, whole,
            "what has changed gives the same as everything"
        );
        whole
    }

    pub fn carry_out(&mut self, plan: &Plan) {
        for action in &plan.actions {
            self.observed.apply(action, self.now);
            if let Action::CreateWork(new) = action {
                // What is written is not refused any more.
                let row = self.observed.rows.get_mut(&new.cluster).unwrap();
                row.refusals.retain(|(_, kind, _), _| *kind != new.kind);
            }
        }
        let report = &plan.report;
        // As the status would say it.
        self.observed.rollout.previous = Previous {
            observed_generation: Some(self.observed.rollout.upgrade.generation),
            start_time: report.rollout_since,
            completion_time: report.complete().then_some(self.now),
            complete: report.complete(),
        };
        self.update_decider();
    }

    /// Decides and carries out until there is nothing to do; every plan on the way keeps the rules.
    pub fn settle(&mut self) {
        for _ in 0..40 {
            self.others_record();
            self.update_decider();
            let plan = self.plan();
            assert_eq!(check(&self.observed.rollout, &self.observed.rows, &plan), []);
            if plan.actions.is_empty() {
                let before = self.observed.rollout.previous.clone();
                self.carry_out(&plan);
                if self.observed.rollout.previous == before {
                    return;
                }
                continue;
            }
            self.keeps_the_rules(&plan);
            self.carry_out(&plan);
        }
        panic!("it never comes to rest: {:?}", self.plan().actions);
    }

    pub fn works(&self, number: usize) -> Vec<WorkKind> {
        let row = &self.observed.rows[&name(number)];
        row.works.iter().map(|(kind, _)| kind).collect()
    }

    pub fn is_own(&self, work: &Work) -> bool {
        self.observed.rollout.upgrade.owns_work(work)
    }
}

pub fn policy(mode: PreChecksMode) -> PreChecksPolicy {
    PreChecksPolicy {
        mode,
        max_age: SignedDuration::from_hours(1),
        timeout: SignedDuration::from_mins(10),
    }
}

const FINDING: &str = "0123456789abcdef0123456789abcdef";

fn finding() -> Finding {
    Finding {
        uuid: Some(FINDING.into()),
        informer: "mco".into(),
        uid: Some("pool-paused".into()),
        level: FindingLevel::Error,
        summary: "the pool is paused".into(),
        impact: "Update Stalled".into(),
        remedy: "unpause it".into(),
        acceptance: FindingAcceptance::None,
    }
}

fn accepted_risk(target: &Target) -> RiskAcceptance {
    RiskAcceptance {
        target: target.to_string().into(),
        finding: AcceptedFinding::Uuid(FINDING.into()),
        clusters: None,
        selector: None,
        level: FindingLevel::Error,
        accepted_by: "ann".into(),
        reason: "known".into(),
        accepted_at: None,
        until: None,
    }
}

fn live(uid: &str, theirs: bool) -> LiveUpgrades {
    let others = theirs.then(|| (Uid::new("theirs"), UpgradeKey::new("team", "theirs")));
    let ours = (Uid::new(uid), UpgradeKey::new("default", "upgrade"));
    LiveUpgrades {
        uids: [ours.0]
            .into_iter()
            .chain(others.clone().map(|(uid, _)| uid))
            .collect(),
        keys: [ours.1].into_iter().chain(others.map(|(_, key)| key)).collect(),
        gone_namespaces: BTreeSet::new(),
    }
}

fn their_work(owner: &Owner, since: Timestamp, now: Timestamp, made: u64, ended: bool) -> Work {
    Work {
        uid: Uid::new(format!("their-{made}")),
        owner: owner.clone(),
        created: now,
        deleting: false,
        labelled: true,
        revision: Some(Arc::new(Revision {
            generation: 1,
            rollout_since: since,
            goal: Arc::new(Goal::platform(target(Version::new(4, 14, 11)))),
            method: UpgradeMethod::ClusterVersion,
            timeout_seconds: 3600,
            started_at: now,
            from: None,
            enforcement: Enforcement::Enforced,
        })),
        outcome: ended.then(|| {
            Arc::new(AttemptOutcome {
                state: EndState::Complete,
                reason: "Upgraded".into(),
                message: "upgraded".into(),
                at: Some(now),
                retry: RetryToken::default(),
            })
        }),
        applied: Applied::Yes,
        available: true,
        degraded: None,
        feedback: WorkFeedback::ClusterVersion(VersionFeedback::default()),
    }
}

fn their_entry(cluster: ClusterName, owner: Owner, since: Timestamp, now: Timestamp) -> RecordedEntry {
    RecordedEntry {
        page: Arc::new(RecordPageHeader {
            owner,
            rollout_since: since,
            goal: "theirs".into(),
            closed: false,
        }),
        place: EntryPlace {
            page: "theirs".into(),
            index: 0,
        },
        entry: Entry {
            cluster,
            canary: false,
            outcome: RecordedOutcome::Complete,
            reason: "Upgraded".into(),
            message: "upgraded".into(),
            from: Some("4.14.9".into()),
            to: "4.14.11".into(),
            started: Some(now),
            stages: StageSeconds::default(),
            completed: now,
            retry: RetryToken::default(),
        },
    }
}

fn set_label(facts: &mut ClusterFacts, key: &str, value: Option<&str>) {
    let all = ["in", "canary"].map(|label| (label, facts.labels.get(label)));
    let others = all.into_iter().filter(|(label, _)| *label != key);
    let with = others.chain([(key, value)]);
    let labels: BTreeMap<String, String> = with
        .filter_map(|(label, value)| Some((label.to_owned(), value?.to_owned())))
        .collect();
    facts.labels = Labels::from(&labels);
}

fn progress(work: &mut Work, target: &Target) {
    if work.applied != Applied::Yes {
        work.applied = Applied::Yes;
        work.available = true;
    }
    match &mut work.feedback {
        WorkFeedback::ActionJobs(runs) => runs
            .iter_mut()
            .for_each(|run| run.state = ActionJobState::Succeeded),
        WorkFeedback::ClusterVersion(feedback) => {
            let observed = work
                .revision
                .as_ref()
                .is_some_and(|revision| revision.enforcement == Enforcement::Observed);
            if observed && feedback.version.is_none() {
                feedback.version = Some(Version::new(4, 14, 9));
                feedback.state = Some(UpdateState::Completed);
            } else {
                advance(feedback, target);
            }
        }
        WorkFeedback::Agent(feedback) => {
            advance(&mut feedback.cluster, target);
            **feedback = AgentFeedback {
                phase: Some(match feedback.cluster.state {
                    Some(UpdateState::Completed) => AgentPhase::Upgraded,
                    _ => AgentPhase::Upgrading,
                }),
                version: feedback.cluster.version.clone(),
                desired_version: feedback.cluster.version.clone(),
                desired_image: target.image.as_deref().map(Into::into),
                ..(**feedback).clone()
            };
        }
        WorkFeedback::Unreadable(_) => {}
    }
}

fn advance(feedback: &mut VersionFeedback, target: &Target) {
    let version = target.version.clone().unwrap_or(Version::new(4, 14, 13));
    let under_way =
        feedback.version.as_ref() == Some(&version) && feedback.state == Some(UpdateState::Partial);
    feedback.version = Some(version);
    feedback.image = target.image.as_deref().map(Into::into);
    feedback.channel = target.channel.as_deref().map(Into::into);
    feedback.state = Some(if under_way {
        UpdateState::Completed
    } else {
        UpdateState::Partial
    });
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
            feedback.invalid = Some(RejectedTarget {
                message: format!("{target} is unknown").into(),
                since,
            });
        }
        WorkFeedback::Agent(feedback) => {
            feedback.version.clone_from(&target.version);
            feedback.phase = Some(AgentPhase::Failed);
        }
        WorkFeedback::Unreadable(_) => {}
    }
}
