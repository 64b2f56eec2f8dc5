//! UpgradeDelayedCheck: an upgrade that does not commence for long is told of. The engine words the delay, since it knows
//! which step waits; this step never blocks.

use super::{Step, Verdict};

pub(crate) const STEP: Step = Step {
    condition: "UpgradeDelayedCheck",
    precedes_commencement: true,
    once: false,
    decide: |_| Verdict::Done,
};
