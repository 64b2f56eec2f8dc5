//! What many works say is kept once: a fleet has tens of thousands of them, and most were made for one goal of one upgrade.

use std::sync::Arc;

use drydock_rollout::{Goal, Owner, Revision, VersionFeedback, Work, WorkFeedback};

/// Lets a work keep what it has in common with another one where that has it.
pub(super) fn share(work: &mut Work, known: &Work) {
    share_revision(&mut work.revision, known.revision.as_ref());
    share_owner(&mut work.owner, &known.owner);
    match (&mut work.feedback, &known.feedback) {
        (WorkFeedback::ClusterVersion(ours), WorkFeedback::ClusterVersion(theirs)) => {
            share_version(ours, theirs);
        }
        (WorkFeedback::Agent(ours), WorkFeedback::Agent(theirs)) => {
            for (ours, theirs) in [
                (&mut ours.desired_image, &theirs.desired_image),
                (&mut ours.step, &theirs.step),
                (&mut ours.blocked_by, &theirs.blocked_by),
            ] {
                share_text(ours, theirs.as_ref());
            }
            share_version(&mut ours.cluster, &theirs.cluster);
        }
        _ => {}
    }
}

fn share_revision(ours: &mut Option<Arc<Revision>>, theirs: Option<&Arc<Revision>>) {
    if ours.as_ref() == theirs {
        *ours = theirs.cloned();
    } else if let (Some(ours), Some(theirs)) = (ours, theirs)
        && ours.goal == theirs.goal
    {
        let goal: &mut Arc<Goal> = &mut Arc::make_mut(ours).goal;
        *goal = Arc::clone(&theirs.goal);
    }
}

fn share_owner(ours: &mut Owner, theirs: &Owner) {
    if ours == theirs {
        ours.clone_from(theirs);
    }
}

fn share_version(ours: &mut VersionFeedback, theirs: &VersionFeedback) {
    for (ours, theirs) in [
        (&mut ours.image, &theirs.image),
        (&mut ours.channel, &theirs.channel),
        (&mut ours.blocked_by, &theirs.blocked_by),
        (&mut ours.slow, &theirs.slow),
        (&mut ours.asked_image, &theirs.asked_image),
    ] {
        share_text(ours, theirs.as_ref());
    }
}

fn share_text(ours: &mut Option<Arc<str>>, theirs: Option<&Arc<str>>) {
    if ours.as_ref() == theirs {
        *ours = theirs.cloned();
    }
}
