//! The machine config operator's work: pools choose nodes, nodes drain, reboot and come back, and the
//! failures of nodes (3.6).

use jiff::{SignedDuration, Timestamp};

use super::agenda::Event;
use super::node::Stage;
use super::operators::{self, MACHINE_CONFIG};
use super::pool::rendered;
use super::{Fault, Model};

/// How long a pool waits after a change before it acts.
const SETTLING: SignedDuration = SignedDuration::from_secs(5);
/// After how long the daemon reports a drain that does not succeed as a failure.
const DRAIN_TIMEOUT: SignedDuration = SignedDuration::from_hours(1);

impl Model {
    /// Both pools get the configuration of the release.
    pub(super) fn roll_out_machines(&mut self, now: Timestamp) {
        let release = self.version.release.clone();
        for pool in &mut self.pools {
            pool.target = rendered(pool.name, &release);
        }
        self.pools_changed = true;
        for (index, node) in self.nodes.iter_mut().enumerate() {
            let target = self
                .pools
                .iter()
                .find(|pool| pool.owns(node))
                .map(|pool| &pool.target);
            if target.is_some_and(|target| *target != node.current) {
                node.outdated = true;
                self.changed_nodes.insert(index);
            }
        }
        self.agenda.enter(now + SETTLING, Event::PoolsDue);
        self.open_machine_config(now);
    }

    /// Every pool begins with as many nodes as it may.
    pub(super) fn select_nodes(&mut self, now: Timestamp) {
        let kubelet = format!("v{}", self.version.release.kubernetes());
        let selected: Vec<(usize, String)> = self
            .pools
            .iter()
            .flat_map(|pool| {
                let chosen = pool.candidates(&self.nodes).into_iter();
                chosen.map(|index| (index, pool.target.clone()))
            })
            .collect();
        for (index, target) in selected {
            self.nodes[index].select(&target, &kubelet);
            self.changed_nodes.insert(index);
            self.schedule_node(index, now);
        }
    }

    fn schedule_node(&mut self, index: usize, now: Timestamp) {
        if let Some(wait) = self.nodes[index].remaining(self.durations) {
            self.agenda.enter(now + wait, Event::NodeMoves { node: index });
        }
    }

    /// The failure mode that keeps a node in its stage, if it is the one that fails.
    fn stuck(&self, index: usize) -> Option<Fault> {
        let is_first_worker = self
            .nodes
            .iter()
            .position(|node| !node.is_master && node.stage != Stage::Gone)
            == Some(index);
        let fault = match self.nodes[index].stage {
            Stage::Draining if !self.is_drain_freed() => Fault::DrainStuck,
            Stage::Drained => Fault::NodeConfigDegraded,
            Stage::Down => Fault::NodeNotReady,
            _ => return None,
        };
        (is_first_worker && self.has(fault)).then_some(fault)
    }

    pub(super) fn node_moves(&mut self, index: usize, now: Timestamp) {
        let stuck = self.stuck(index);
        if stuck.is_some() {
            self.held_nodes.insert(index);
        }
        match stuck {
            Some(Fault::DrainStuck) => {
                self.block_drain(index, now);
                self.agenda
                    .enter(now + DRAIN_TIMEOUT, Event::DrainGivesUp { node: index });
                return;
            }
            Some(Fault::NodeConfigDegraded) => {
                self.nodes[index].degraded =
                    Some("unexpected on-disk state validating against rendered configuration".to_owned());
                self.changed_nodes.insert(index);
                return;
            }
            Some(_) => return,
            None => {}
        }
        self.nodes[index].advance(now);
        self.changed_nodes.insert(index);
        self.schedule_node(index, now);
        if self.nodes[index].stage == Stage::Done {
            for pool in &mut self.pools {
                pool.refresh(&self.nodes, now);
            }
            self.agenda.enter(now + SETTLING, Event::PoolsDue);
            self.open_machine_config(now);
        }
    }

    pub(super) fn drain_gives_up(&mut self, index: usize, _now: Timestamp) {
        let node = &mut self.nodes[index];
        if node.stage == Stage::Draining {
            node.degraded = Some(format!(
                "failed to drain node: {} after 1 hour. Please see machine-config-controller logs for more information",
                node.name
            ));
            self.changed_nodes.insert(index);
        }
    }

    /// The operator has rolled out once the pool of the control plane is at the release.
    fn open_machine_config(&mut self, now: Timestamp) {
        let Some(index) = operators::position(MACHINE_CONFIG) else {
            return;
        };
        let masters = &self.pools[0];
        let at_release = masters.target == rendered("master", &self.version.release) && masters.is_updated();
        let is_new = self
            .nodes
            .iter()
            .filter(|node| masters.owns(node))
            .all(|node| node.current == masters.target);
        if at_release && is_new {
            self.operators[index].finish();
            self.changed_operators.insert(index);
            self.advance(now);
        }
    }
}
