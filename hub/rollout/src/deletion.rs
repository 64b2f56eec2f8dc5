//! The upgrade goes: its works are deleted, its clusters continue (no roll back).

use std::collections::{BTreeMap, BTreeSet};

use drydock_names::ClusterName;
use jiff::Timestamp;

use crate::assess::{ClusterView, Context, NewEntry, Unrecorded};
use crate::{Action, ClusterRow, DeletionReport, Plan, RefusedWrite, Report, Rollout, pages};

/// Records what became of the clusters, deletes all works, and removes the finalizer as soon as the deletions are accepted. It does not
/// wait for the clusters: a work whose cluster is gone stays Terminating forever.
pub(crate) fn decide(
    rollout: &Rollout,
    rows: &BTreeMap<ClusterName, Box<ClusterRow>>,
    now: Timestamp,
) -> Plan {
    let context = Context::of(rollout);
    let mut deletion = Deletion {
        context: &context,
        now,
        report: DeletionReport::default(),
        actions: Vec::new(),
        entries: Vec::new(),
        waits: false,
        wake: None,
    };
    for (name, row) in rows {
        deletion.cluster(name, row, rollout.upgrade.namespace_deleting);
    }
    let Deletion {
        mut report,
        mut actions,
        entries,
        waits,
        wake,
        ..
    } = deletion;
    report.unrecorded = entries.len();
    let refused = rollout.page_refusal.as_ref().filter(|refusal| refusal.next > now);
    let refused = refused.filter(|_| !entries.is_empty());
    let wake = wake.into_iter().chain(refused.map(|refusal| refusal.next)).min();
    let waits = waits || refused.is_some();
    if refused.is_none() {
        actions.extend(pages::write(rollout, entries));
    }
    if actions.is_empty() && !waits && rollout.upgrade.finalizer {
        let owns =
            |page: &&crate::RecordPage| rollout.upgrade.owns(&page.header.owner) && !page.header.closed;
        let open = rollout.pages.iter().filter(owns);
        let closes = open.map(|page| Action::MarkPage {
            name: page.name.clone(),
            closed: true,
        });
        if !rollout.upgrade.namespace_deleting {
            actions.extend(closes);
        }
        if actions.is_empty() {
            actions.push(Action::RemoveFinalizer);
        }
    }
    Plan {
        actions,
        report: Report {
            records_refused: rollout
                .page_refusal
                .as_ref()
                .map(|refusal| refusal.words.to_string()),
            deletion: Some(report),
            ..Report::default()
        },
        wake,
    }
}

struct Deletion<'a> {
    context: &'a Context,
    now: Timestamp,
    report: DeletionReport,
    actions: Vec<Action>,
    entries: Vec<NewEntry>,
    /// A deletion was refused and is tried again later.
    waits: bool,
    wake: Option<Timestamp>,
}

impl Deletion<'_> {
    fn cluster(&mut self, name: &ClusterName, row: &ClusterRow, without_records: bool) {
        let cluster = ClusterView::new(self.context, name, row, self.now);
        if cluster.own_works().next().is_some() {
            self.report.clusters_with_works.insert(name.clone());
        }
        if let (Some(unrecorded), false) = (cluster.unrecorded_at_deletion(), without_records) {
            self.entries.extend(cluster.entry(&unrecorded, self.now));
            return;
        }
        // Nothing is on record of what was asked.
        if let Some(work) = row.pre_checks.as_ref().filter(|work| !work.deleting) {
            self.ask_no_more(name, row, &work.uid);
        }
        for (kind, work) in cluster.own_works().filter(|(_, work)| !work.deleting) {
            if let Some(refusal) = cluster.refusal(kind, RefusedWrite::Delete) {
                self.report
                    .refused
                    .get_or_insert_with(|| (name.clone(), refusal.words.to_string()));
                if refusal.next > self.now {
                    self.waits = true;
                    self.wake = self.wake.into_iter().chain([refusal.next]).min();
                    continue;
                }
            }
            self.actions.push(Action::DeleteWork {
                cluster: name.clone(),
                kind,
                uid: work.uid.clone(),
            });
        }
    }
}

impl Deletion<'_> {
    /// The work goes by which the cluster was asked. Where that is refused, it is tried again.
    fn ask_no_more(&mut self, name: &ClusterName, row: &ClusterRow, uid: &crate::Uid) {
        match row
            .pre_check_write
            .as_ref()
            .filter(|write| write.until > self.now)
        {
            Some(write) => {
                self.waits = true;
                self.wake = self.wake.into_iter().chain([write.until]).min();
                if let Some(words) = &write.refused {
                    self.report
                        .refused
                        .get_or_insert_with(|| (name.clone(), words.to_string()));
                }
            }
            None => self.actions.push(Action::DeletePreChecks {
                cluster: name.clone(),
                uid: uid.clone(),
            }),
        }
    }
}

impl ClusterView<'_> {
    /// What must be recorded of a cluster before its works go with their upgrade.
    fn unrecorded_at_deletion(&self) -> Option<Unrecorded> {
        let (_, lead) = self.lead()?;
        let mut own = self.own_entries();
        if lead.deleting || own.any(|recorded| lead.is_recorded_by(&recorded.entry)) {
            return None;
        }
        Some(match lead.outcome {
            Some(_) => Unrecorded::Committed,
            None => Unrecorded::Abandoned("the upgrade was deleted while the cluster was in flight".into()),
        })
    }
}

/// The first of some clusters, for a message.
pub(crate) fn first_names(clusters: &BTreeSet<ClusterName>) -> String {
    let first: Vec<&str> = clusters.iter().take(5).map(ClusterName::as_str).collect();
    first.join(", ")
}
