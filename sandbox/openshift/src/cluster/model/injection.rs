//! Failure modes that begin and end while the cluster runs, because somebody says so.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::agenda::Event;
use super::operators;
use super::update::VICTIM;
use super::{Fault, Model};

/// How long an operator that was stopped takes to reach the release once it may.
const CATCHING_UP: SignedDuration = SignedDuration::from_mins(1);

impl Model {
    /// Lets the cluster have these failure modes from now on, and no others.
    pub fn set_faults(&mut self, faults: &BTreeSet<Fault>, now: Timestamp) {
        let begun: Vec<Fault> = faults.difference(&self.faults).copied().collect();
        let ended: Vec<Fault> = self.faults.difference(faults).copied().collect();
        self.faults.clone_from(faults);
        for fault in ended {
            self.lift(fault, now);
        }
        for fault in begun {
            self.inject(fault, now);
        }
        self.version.write_now = true;
    }

    fn inject(&mut self, fault: Fault, now: Timestamp) {
        match fault {
            Fault::OperatorDegraded | Fault::OperatorUnavailable | Fault::VersionOperatorRestart => {
                self.agenda.enter(now, Event::FaultShows(fault));
            }
            // Until it is lifted: nothing else ends it.
            Fault::ControlPlaneUnreachable => self.reachable = false,
            Fault::UnknownUpdate | Fault::NotRecommended | Fault::RiskUnknown | Fault::GraphBroken => {
                self.query_updates(now);
            }
            Fault::OperatorSlow
            | Fault::DrainStuck
            | Fault::SignatureNotVerified
            | Fault::NodeConfigDegraded
            | Fault::PausedPool
            | Fault::MinorBlocked
            | Fault::NodeNotReady => {}
        }
    }

    fn lift(&mut self, fault: Fault, now: Timestamp) {
        match fault {
            Fault::OperatorDegraded | Fault::OperatorUnavailable => {
                if let Some(index) = operators::position(VICTIM) {
                    self.operators[index].unhealthy = None;
                    self.changed_operators.insert(index);
                }
                self.advance(now);
            }
            Fault::OperatorSlow => {
                if let Some(index) = operators::position(VICTIM)
                    && self.operators[index].target.is_some()
                {
                    let rolled_out = Event::RolledOut { operator: index };
                    self.agenda.enter(now + CATCHING_UP, rolled_out);
                }
            }
            Fault::ControlPlaneUnreachable => self.reachable = true,
            Fault::UnknownUpdate | Fault::NotRecommended | Fault::RiskUnknown | Fault::GraphBroken => {
                self.query_updates(now);
            }
            Fault::DrainStuck => {
                self.unblock_drain();
                self.release_nodes(now);
            }
            Fault::NodeConfigDegraded | Fault::NodeNotReady => self.release_nodes(now),
            // What was refused is looked at again.
            Fault::SignatureNotVerified | Fault::MinorBlocked => {
                if let Some(candidate) = &self.version.candidate {
                    let again = Event::PayloadRetrieved {
                        candidate: candidate.number,
                    };
                    self.agenda.enter(now + CATCHING_UP, again);
                }
            }
            Fault::PausedPool | Fault::VersionOperatorRestart => {}
        }
    }

    /// Nodes that a failure stopped continue.
    pub(super) fn release_nodes(&mut self, now: Timestamp) {
        for index in std::mem::take(&mut self.held_nodes) {
            self.nodes[index].degraded = None;
            self.changed_nodes.insert(index);
            self.node_moves(index, now);
        }
    }
}
