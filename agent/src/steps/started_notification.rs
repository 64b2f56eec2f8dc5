//! SendStartedNotification: says that the upgrade has started, once, by the condition becoming True.

use super::{Step, Verdict};

pub(crate) const STEP: Step = Step {
    condition: "StartedNotificationSent",
    precedes_commencement: true,
    once: false,
    decide: |_| Verdict::Done,
};
