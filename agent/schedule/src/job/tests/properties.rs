//! Random histories: a process that ends anywhere, people, other upgrades, and a cluster that does as it likes.

use drydock_api::schedule::HookEvent;
use proptest::prelude::*;

use super::play::{JOBS, POOLS, Play, Step};
use crate::job::Need;
use crate::job::write::WrittenKind;

fn event() -> impl Strategy<Value = HookEvent> {
    prop::sample::select(vec![
        HookEvent::Create,
        HookEvent::Start,
        HookEvent::UpgradeComplete,
        HookEvent::MachineConfigPoolUnpause,
        HookEvent::Finish,
        HookEvent::Success,
        HookEvent::Failure,
    ])
}

fn step() -> impl Strategy<Value = Step> {
    let job = 0..JOBS.len();
    let kinds = vec![
        WrittenKind::ClusterVersion,
        WrittenKind::MachineConfigPool,
        WrittenKind::Job,
        WrittenKind::UpgradeJobHookStatus,
    ];
    let needs = vec![
        Need::Hooks,
        Need::HookJobs,
        Need::Windows,
        Need::ClusterVersion,
        Need::Pools,
        Need::Operators,
    ];
    prop_oneof![
        8 => (job.clone(), prop::option::of(0..5_usize)).prop_map(|(job, writes)| Step::Reconcile(job, writes)),
        12 => job.clone().prop_map(Step::Settle),
        3 => (1..60_i64).prop_map(Step::Wait),
        2 => job.clone().prop_map(Step::WaitForWake),
        6 => (0..8_usize, prop::bool::weighted(0.7)).prop_map(|(hook, good)| Step::EndHook(hook, good)),
        1 => (0..8_usize).prop_map(Step::DeleteHookJob),
        2 => (event(), any::<bool>(), any::<bool>()).prop_map(|(event, aborts, next)| Step::AddHook(event, aborts, next)),
        1 => (0..4_usize).prop_map(Step::DeleteHook),
        4 => Just(Step::Update),
        2 => Just(Step::BeginUpdate),
        2 => Just(Step::CompleteUpdate),
        2 => Just(Step::UpdateNodes),
        2 => (0..POOLS.len(), any::<bool>()).prop_map(|(pool, paused)| Step::SetPaused(pool, paused)),
        1 => prop::bool::weighted(0.2).prop_map(Step::Window),
        1 => prop::bool::weighted(0.3).prop_map(Step::Unhealthy),
        1 => Just(Step::Withdraw),
        1 => job.clone().prop_map(Step::DeleteJob),
        1 => job.clone().prop_map(Step::CreateAnew),
        2 => (job, 0..POOLS.len()).prop_map(|(job, pool)| Step::CleanUp(job, pool)),
        1 => any::<bool>().prop_map(Step::OtherUpgrade),
        2 => Just(Step::TakeOffLock),
        1 => prop::sample::select(kinds).prop_map(Step::Refuse),
        1 => prop::sample::select(needs).prop_map(Step::Unreadable),
        5 => Just(Step::Recover),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn histories_keep_what_is_promised(
        hooks in prop::collection::vec((event(), any::<bool>(), any::<bool>()), 0..5),
        steps in prop::collection::vec(step(), 1..160),
    ) {
        let mut play = Play::new();
        for (event, aborts, next) in hooks {
            play.add_hook(event, aborts, next);
        }
        for step in &steps {
            play.take(step);
        }
        play.end();
    }
}
