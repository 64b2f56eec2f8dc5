//! SendCompletedNotification: says that the upgrade is completed, once, by the condition becoming True.

use super::{Step, Verdict};

pub(crate) const STEP: Step = Step {
    condition: "CompletedNotificationSent",
    precedes_commencement: false,
    once: false,
    decide: |_| Verdict::Done,
};
