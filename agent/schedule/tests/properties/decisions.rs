//! What an UpgradeConfig decides, whatever happens to it.

use std::collections::BTreeMap;

use drydock_api::GoDuration;
use drydock_api::schedule::UpgradeConfigStatus;
use drydock_schedule::calendar::Calendar;
use drydock_schedule::config::Plan;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use crate::shared::{Cluster, at, end, window};

const CRONS: [&str; 6] = [
    "0 22 * * 2",
    "30 2 * * *",
    "0 */6 * * *",
    "0 * * * *",
    "@every 36h",
    "CRON_TZ=Europe/Zurich 0 1 * * *",
];
const CREATED: &str = "2026-11-18T09:00:00Z";

/// Something that happens.
#[derive(Clone, Debug)]
enum Happening {
    /// Time passes, in minutes; nobody looks meanwhile.
    Wait(i64),
    /// Time passes until the next decision is due.
    WaitForWake,
    Suspend(bool),
    /// A window begins so many minutes from now, and lasts so many.
    Window(i64, i64),
    /// The UpgradeJob that has not ended ends.
    End(&'static str),
    DeleteJobs,
    ReadClusterVersion(bool),
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let happening = prop_oneof![
        3 => (1_i64..6_000).prop_map(Happening::Wait),
        6 => Just(Happening::WaitForWake),
        1 => any::<bool>().prop_map(Happening::Suspend),
        1 => (-600_i64..3_000, 1_i64..3_000).prop_map(|(from, length)| Happening::Window(from, length)),
        4 => prop_oneof![Just("Succeeded"), Just("Failed")].prop_map(Happening::End),
        1 => Just(Happening::DeleteJobs),
        1 => any::<bool>().prop_map(Happening::ReadClusterVersion),
    ];
    proptest::collection::vec(happening, 1..60)
}

fn clusters() -> impl Strategy<Value = Cluster> {
    let hours = |most: i64| (0..=most).prop_map(|hours| format!("{hours}h"));
    (
        proptest::sample::select(&CRONS[..]),
        hours(30),
        hours(8),
        hours(4),
    )
        .prop_map(|(cron, pin, scheduling_delay, start_delay)| {
            let mut cluster = Cluster::new(cron);
            let spec = &mut cluster.config.spec;
            spec.pin_version_window = Some(pin);
            spec.max_scheduling_delay = scheduling_delay;
            spec.max_upgrade_start_delay = start_delay;
            spec.successful_jobs_history_limit = Some(2);
            cluster
        })
}

/// A cluster and everything that was decided there.
struct World {
    cluster: Cluster,
    now: Timestamp,
    wake: Option<Timestamp>,
    /// By the start of the maintenance: how many UpgradeJobs were created and events published.
    decided: BTreeMap<Timestamp, (usize, usize)>,
}

impl World {
    fn new(cluster: Cluster) -> Self {
        Self {
            cluster,
            now: at(CREATED),
            wake: None,
            decided: BTreeMap::new(),
        }
    }

    fn happen(&mut self, happening: &Happening) {
        let later = |minutes: i64| SignedDuration::from_mins(minutes);
        match happening {
            Happening::Wait(minutes) => self.now += later(*minutes),
            Happening::WaitForWake => self.now = self.wake.unwrap_or(self.now),
            Happening::Suspend(suspend) => self.cluster.config.spec.schedule.suspend = Some(*suspend),
            Happening::Window(from, length) => {
                let mut window = window("window", CREATED, CREATED);
                window.spec.start.0 = self.now + later(*from);
                window.spec.end.0 = window.spec.start.0 + later(*length);
                self.cluster.windows.push(window);
            }
            Happening::End(how) => self.running().for_each(|job| end(job, how)),
            Happening::DeleteJobs => self.cluster.jobs.clear(),
            Happening::ReadClusterVersion(is_read) => {
                self.cluster.available = is_read.then(|| vec![("4.16.10", "image")]);
            }
        }
    }

    fn running(&mut self) -> impl Iterator<Item = &mut drydock_api::schedule::UpgradeJob> {
        let jobs = self.cluster.jobs.iter_mut();
        jobs.filter(|job| {
            job.status
                .as_ref()
                .is_none_or(|status| status.conditions.is_none())
        })
    }

    /// Does so many of the writes of a plan, in their order.
    fn write(&mut self, plan: &Plan, writes: usize) {
        if let Some(job) = plan.create.as_ref().filter(|_| writes > 0) {
            self.decided.entry(job.spec.start_after.0).or_default().0 += 1;
            self.cluster.jobs.push(job.clone());
        }
        if writes > 1 {
            self.cluster.config.status = Some(plan.status.clone());
        }
        if writes > 2 {
            for event in &plan.events {
                self.decided.entry(event.start).or_default().1 += 1;
            }
        }
        if writes > 3 {
            let is_pruned =
                |name: &Option<String>| plan.prune.iter().any(|job| Some(&job.name) == name.as_ref());
            self.cluster.jobs.retain(|job| !is_pruned(&job.metadata.name));
        }
        self.wake = plan.wake;
    }

    /// Decides until nothing more is to be decided now. The first writes come to nothing after some of them.
    fn settle(&mut self, writes: usize) {
        let crashed = self.cluster.plan_at(self.now);
        self.write(&crashed, writes);
        for _ in 0..1_000 {
            let plan = self.cluster.plan_at(self.now);
            let is_settled = plan.create.is_none() && plan.events.is_empty();
            self.check(&plan);
            self.write(&plan, 4);
            if is_settled {
                return;
            }
        }
        panic!("it never settles");
    }

    fn check(&self, plan: &Plan) {
        let Some(job) = &plan.create else { return };
        let spec = &self.cluster.config.spec;
        let length = |text: &str| text.parse::<GoDuration>().unwrap().signed();
        let start = job.spec.start_after.0;
        let create_from = start - length(spec.pin_version_window.as_deref().unwrap());
        let create_until = create_from + length(&spec.max_scheduling_delay);
        assert!(
            (create_from..=create_until).contains(&self.now),
            "{start} at {}",
            self.now
        );
        assert!(job.spec.start_before.0 >= self.now, "born expired");
        assert_ne!(spec.schedule.suspend, Some(true));
    }

    fn status(&self) -> UpgradeConfigStatus {
        self.cluster.config.status.clone().unwrap()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn every_maintenance_is_decided_at_most_once(cluster in clusters(), happenings in happenings()) {
        let mut world = World::new(cluster);
        for happening in &happenings {
            world.happen(happening);
            world.settle(4);
            prop_assert!(world.running().count() <= 1, "after {:?}", happening);
        }
        for (start, (jobs, events)) in &world.decided {
            prop_assert_eq!(jobs + events, 1, "{}", start);
        }
    }

    #[test]
    fn a_crash_between_two_writes_comes_to_the_same_end(
        cluster in clusters(),
        happenings in happenings(),
        crashes in proptest::collection::vec(0..4_usize, 60),
    ) {
        let (mut smooth, mut crashing) = (World::new(cluster.clone()), World::new(cluster));
        for (happening, writes) in happenings.iter().zip(crashes) {
            smooth.happen(happening);
            smooth.settle(4);
            crashing.happen(happening);
            crashing.settle(writes);
            prop_assert_eq!(&smooth.cluster.jobs, &crashing.cluster.jobs, "after {:?}", happening);
            prop_assert_eq!(smooth.status(), crashing.status(), "after {:?}", happening);
            prop_assert_eq!(smooth.wake, crashing.wake);
        }
        for (start, (jobs, events)) in &crashing.decided {
            prop_assert!(jobs + events <= 1, "{}", start);
        }
    }

    #[test]
    fn the_order_in_which_things_are_listed_does_not_matter(cluster in clusters(), happenings in happenings()) {
        let mut world = World::new(cluster);
        for happening in &happenings {
            world.happen(happening);
            let plan = world.cluster.plan_at(world.now);
            let mut reversed = world.cluster.clone();
            reversed.jobs.reverse();
            reversed.windows.reverse();
            prop_assert_eq!(&reversed.plan_at(world.now), &plan);
            world.settle(4);
        }
    }

    #[test]
    fn who_wakes_when_asked_misses_nothing(
        cron in proptest::sample::select(&CRONS[..3]),
        pin in 0_i64..4,
        suspended in proptest::collection::vec(any::<bool>(), 30),
    ) {
        let mut cluster = Cluster::new(cron);
        cluster.config.spec.pin_version_window = Some(format!("{pin}h"));
        let calendar = Calendar::parse(&cluster.config.spec.schedule, &TimeZone::UTC).unwrap();
        let mut world = World::new(cluster);
        let created = world.now;
        for suspend in suspended {
            world.happen(&Happening::Suspend(suspend));
            world.settle(4);
            prop_assert_eq!(world.cluster.plan_at(world.now).missed, None);
            world.happen(&Happening::End("Succeeded"));
            world.settle(4);
            prop_assert!(world.wake.is_some_and(|wake| wake > world.now));
            world.happen(&Happening::WaitForWake);
        }
        let decided: Vec<_> = world.decided.keys().copied().collect();
        let all: Vec<_> = calendar.times(created, created).take(decided.len()).collect();
        prop_assert_eq!(decided, all);
    }
}
