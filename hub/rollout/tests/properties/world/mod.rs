//! A small world that carries out what is planned, and in which anything happens that the API lets users, clusters and other
//! upgrades do.

mod fleet;
mod others;
mod pre_checks;
mod works;

use std::collections::BTreeMap;
use std::sync::Arc;

use drydock_rollout::{
    Action, ActionSpec, ClusterFacts, ClusterName, ClusterRow, Decider, IntOrPercent, Labels, Observed,
    Operators, Plan, PreChecksMode, Previous, Refusal, RefusalCause, RefusedWrite, Selected,
    SelectionProblem, Spec, StartTimes, StartWindow, Target, Uid, Window, Work, WorkKind, check, decide,
};
use jiff::{SignedDuration, Timestamp};
use semver::Version;

use super::event::{Event, SpecEdit};
use fleet::canary_selector;
pub use others::Theirs;
use others::live;
use pre_checks::accepted_risk;
pub use pre_checks::policy;

const UID: &str = "ours";

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

impl World {
    pub fn spec(&self) -> &Spec {
        self.observed.rollout.spec.as_ref().unwrap()
    }

    fn edit(&mut self, edit: impl FnOnce(&mut Spec)) {
        if let Ok(spec) = &mut self.observed.rollout.spec {
            edit(Arc::make_mut(spec));
            self.observed.rollout.upgrade.generation += 1;
        }
    }

    /// The spec names no channel: an agent cannot carry that out.
    pub fn edit_channel_off(&mut self) {
        self.edit(|spec| {
            if let Some(target) = &mut Arc::make_mut(&mut spec.goal).target {
                target.channel = None;
            }
        });
        self.update_decider();
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
        let row = self.observed.rows.get_mut(&name(number))?;
        Some(row)
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
            Event::Rejoins(number) => {
                // The API server says it in whole seconds.
                self.now = Timestamp::from_second(self.now.as_second() + 1).unwrap();
                let now = self.now;
                self.edit_facts(*number, |facts| {
                    (facts.created, facts.deleting) = (Some(now), false);
                });
            }
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
            Event::OtherAsks(number) => self.other_asks(*number),
            Event::RiskEnds(number) => self.end_risks(&name(*number)),
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

    /// Gives the decider all that has changed.
    fn update_decider(&mut self) {
        self.decider.set_rollout(self.observed.rollout.clone());
        for (name, row) in &self.observed.rows {
            self.decider.set_row(name.clone(), Some((**row).clone()));
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
        let before = &self.observed.rollout.previous;
        let (incomplete_since, passed_since) = (before.incomplete_since, before.pre_checks_passed_since);
        let found = &report.pre_checks;
        let passes = found.mode == PreChecksMode::Require
            && found.with_findings + found.unanswered + found.awaited + found.unasked == 0;
        // As the status would say it.
        self.observed.rollout.previous = Previous {
            observed_generation: Some(self.observed.rollout.upgrade.generation),
            start_time: report.rollout_since,
            completion_time: report.complete().then_some(self.now),
            complete: report.complete(),
            incomplete_since: (!report.complete()).then(|| incomplete_since.unwrap_or(self.now)),
            pre_checks_passed_since: passes.then(|| passed_since.unwrap_or(self.now)),
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

fn set_label(facts: &mut ClusterFacts, key: &str, value: Option<&str>) {
    let all = ["in", "canary"].map(|label| (label, facts.labels.get(label)));
    let others = all.into_iter().filter(|(label, _)| *label != key);
    let with = others.chain([(key, value)]);
    let labels: BTreeMap<String, String> = with
        .filter_map(|(label, value)| Some((label.to_owned(), value?.to_owned())))
        .collect();
    facts.labels = Labels::from(&labels);
}
