//! UpgradeJobs that a person wants beside the schedule.

use drydock_schedule::config::{Settings, asked_by, manual_job};
use jiff::tz::TimeZone;

use super::*;
use crate::shared::{at, end};

#[test]
fn a_job_beside_the_schedule_does_not_exist_for_it() {
    for cron in ["0 21 * * 2", "@every 36h"] {
        let mut cluster = Cluster::new(cron);
        cluster.config.spec.successful_jobs_history_limit = Some(1);
        let settings = Settings::parse(&cluster.config.spec, &TimeZone::UTC).unwrap();
        let now = at("2026-11-23T09:30:00Z");
        let job = manual_job(&cluster.config, &settings, now, None);
        assert_eq!(job.metadata.name.as_deref(), Some("nights-noop-1795426200"));
        assert_eq!(job.spec.start_before.0, at("2026-11-23T10:30:00Z"));
        let owner = &job.metadata.owner_references.as_ref().unwrap()[0];
        assert_eq!((owner.uid.as_str(), owner.controller), ("config-1", None));
        assert_eq!(owner.block_owner_deletion, None);
        let before = cluster.plan_at(now);
        for is_over in [false, true] {
            let mut job = job.clone();
            if is_over {
                end(&mut job, "Succeeded");
            }
            cluster.jobs = vec![job.clone(), job];
            assert_eq!(cluster.plan_at(now), before, "{cron}");
        }
        assert_eq!(asked_by(&cluster.config, &cluster.jobs).count(), 2);
        cluster.config.metadata.uid = Some("config-2".to_owned());
        assert_eq!(asked_by(&cluster.config, &cluster.jobs).count(), 0);
    }
}
