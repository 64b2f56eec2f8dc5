//! The cluster operators of a payload: their names, what they report, how long they take (reference 3.2 and 3.4).

/// A version that an operator reports besides its own.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operand {
    /// At the version of the release.
    Release(&'static str),
    /// At the version of Kubernetes in the release.
    Kubernetes(&'static str),
    /// At the version of the release with `_openshift` behind it.
    Suffixed(&'static str),
    /// At a pull spec.
    Image(&'static str),
    /// At the version of the operator lifecycle manager.
    Lifecycle(&'static str),
    /// At a version that never changes.
    Snapshot(&'static str),
}

/// The reason and the message of a condition. In messages `{v}` stands for the version of the release, `{r}` for
/// the newest revision of a static pod, `{p}` for the one before, `{o}` for the operator lifecycle manager's version.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text {
    pub(super) reason: &'static str,
    pub(super) message: &'static str,
}

/// A condition that is the operator's own and never changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extra {
    pub(super) kind: &'static str,
    pub(super) status: &'static str,
    pub(super) text: Text,
}

/// What is fixed about a cluster operator.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    pub(super) name: &'static str,
    /// The median of its rollout, in minutes.
    pub(super) minutes: f64,
    pub(super) operands: &'static [Operand],
    pub(super) available: Text,
    /// `Progressing=False`.
    pub(super) idle: Text,
    /// `Progressing=True`.
    pub(super) busy: Text,
    pub(super) not_degraded: Text,
    /// `Upgradeable=True`, where the operator reports that.
    pub(super) upgradeable: Option<Text>,
    pub(super) extras: &'static [Extra],
}

const fn text(reason: &'static str, message: &'static str) -> Text {
    Text { reason, message }
}

const fn extra(
    kind: &'static str,
    status: &'static str,
    reason: &'static str,
    message: &'static str,
) -> Extra {
    Extra {
        kind,
        status,
        text: text(reason, message),
    }
}

/// The operator that rolls out the operating system; its gate waits for the control plane's nodes.
pub(super) const MACHINE_CONFIG: &str = "machine-config";

/// Where an operator stands in [`OPERATORS`].
pub(super) fn position(name: &str) -> Option<usize> {
    OPERATORS.iter().position(|facts| facts.name == name)
}

/// The operators, in the order of the walk.
pub(super) const OPERATORS: &[Facts] = &[
    Facts {
        name: "config-operator",
        minutes: 0.4,
        operands: &[Operand::Release("feature-gates")],
        available: text("AsExpected", "All is well"),
        idle: text("AsExpected", "All is well"),
        busy: text("AsExpected", "All is well"),
        not_degraded: text("AsExpected", "All is well"),
        upgradeable: Some(text("AsExpected", "All is well")),
        extras: &[],
    },
    Facts {
        name: "etcd",
        minutes: 5.0,
        operands: &[Operand::Release("raw-internal"), Operand::Release("etcd")],
        available: text(
            "AsExpected",
            "StaticPodsAvailable: 3 nodes are active; 3 nodes are at revision {r}\nEtcdMembersAvailable: 3 members are available",
        ),
        idle: text(
            "AsExpected",
            "NodeInstallerProgressing: 3 nodes are at revision {r}\nEtcdMembersProgressing: No unstarted etcd members found",
        ),
        busy: text(
            "NodeInstaller",
            "NodeInstallerProgressing: 1 node is at revision {p}; 2 nodes are at revision {r}",
        ),
        not_degraded: text(
            "AsExpected",
            "NodeControllerDegraded: All master nodes are ready\nEtcdMembersDegraded: No unhealthy members found",
        ),
        upgradeable: Some(text("AsExpected", "All is well")),
        extras: &[extra(
            "RecentBackup",
            "Unknown",
            "ControllerStarted",
            "The etcd backup controller is starting, and will decide if recent backups are available or if a backup is required",
        )],
    },
    Facts {
        name: "kube-apiserver",
        minutes: 11.5,
        operands: &[
            Operand::Release("raw-internal"),
            Operand::Kubernetes("kube-apiserver"),
        ],
        available: text(
            "AsExpected",
            "StaticPodsAvailable: 3 nodes are active; 3 nodes are at revision {r}",
        ),
        idle: text(
            "AsExpected",
            "NodeInstallerProgressing: 3 nodes are at revision {r}",
        ),
        busy: text(
            "NodeInstaller",
            "NodeInstallerProgressing: 1 node is at revision {p}; 2 nodes are at revision {r}",
        ),
        not_degraded: text("AsExpected", "NodeControllerDegraded: All master nodes are ready"),
        upgradeable: Some(text(
            "AsExpected",
            "KubeletMinorVersionUpgradeable: Kubelet and API server minor versions are synced.",
        )),
        extras: &[],
    },
    Facts {
        name: "kube-controller-manager",
        minutes: 4.0,
        operands: &[
            Operand::Release("raw-internal"),
            Operand::Kubernetes("kube-controller-manager"),
        ],
        available: text(
            "AsExpected",
            "StaticPodsAvailable: 3 nodes are active; 3 nodes are at revision {r}",
        ),
        idle: text(
            "AsExpected",
            "NodeInstallerProgressing: 3 nodes are at revision {r}",
        ),
        busy: text(
            "NodeInstaller",
            "NodeInstallerProgressing: 1 node is at revision {p}; 2 nodes are at revision {r}",
        ),
        not_degraded: text("AsExpected", "NodeControllerDegraded: All master nodes are ready"),
        upgradeable: Some(text("AsExpected", "All is well")),
        extras: &[],
    },
    Facts {
        name: "kube-scheduler",
        minutes: 5.0,
        operands: &[
            Operand::Release("raw-internal"),
            Operand::Kubernetes("kube-scheduler"),
        ],
        available: text(
            "AsExpected",
            "StaticPodsAvailable: 3 nodes are active; 3 nodes are at revision {r}",
        ),
        idle: text(
            "AsExpected",
            "NodeInstallerProgressing: 3 nodes are at revision {r}",
        ),
        busy: text(
            "NodeInstaller",
            "NodeInstallerProgressing: 1 node is at revision {p}; 2 nodes are at revision {r}",
        ),
        not_degraded: text("AsExpected", "NodeControllerDegraded: All master nodes are ready"),
        upgradeable: Some(text("AsExpected", "All is well")),
        extras: &[],
    },
    Facts {
        name: "cloud-controller-manager",
        minutes: 1.5,
        operands: &[],
        available: text(
            "AsExpected",
            "Cluster Cloud Controller Manager Operator is available at {v}",
        ),
        idle: text("AsExpected", ""),
        busy: text("SyncingResources", "Syncing resources"),
        not_degraded: text("AsExpected", ""),
        upgradeable: Some(text("AsExpected", "")),
        extras: &[
            extra(
                "TrustedCABundleControllerControllerAvailable",
                "True",
                "AsExpected",
                "Trusted CA Bundle Controller works as expected",
            ),
            extra(
                "TrustedCABundleControllerControllerDegraded",
                "False",
                "AsExpected",
                "Trusted CA Bundle Controller works as expected",
            ),
            extra(
                "CloudConfigControllerAvailable",
                "True",
                "AsExpected",
                "Cloud Config Controller works as expected",
            ),
            extra(
                "CloudConfigControllerDegraded",
                "False",
                "AsExpected",
                "Cloud Config Controller works as expected",
            ),
            extra(
                "CloudControllerOwner",
                "True",
                "AsExpected",
                "Cluster Cloud Controller Manager Operator owns cloud controllers at {v}",
            ),
        ],
    },
    Facts {
        name: "control-plane-machine-set",
        minutes: 1.2,
        operands: &[],
        available: text("AllReplicasAvailable", ""),
        idle: text("AllReplicasUpdated", ""),
        busy: text("AllReplicasUpdated", ""),
        not_degraded: text("AsExpected", ""),
        upgradeable: Some(text("AsExpected", "cluster operator is upgradable")),
        extras: &[],
    },
    Facts {
        name: "machine-api",
        minutes: 2.0,
        operands: &[],
        available: text(
            "AsExpected",
            "Cluster Machine API Operator is available at operator: {v}",
        ),
        idle: text("AsExpected", ""),
        busy: text("SyncingResources", "Progressing towards operator: {v}"),
        not_degraded: text("AsExpected", ""),
        upgradeable: Some(text("", "")),
        extras: &[],
    },
    Facts {
        name: "baremetal",
        minutes: 1.0,
        operands: &[],
        available: text("WaitingForProvisioningCR", "Waiting for Provisioning CR"),
        idle: text("WaitingForProvisioningCR", ""),
        busy: text("WaitingForProvisioningCR", ""),
        not_degraded: text("", ""),
        upgradeable: Some(text("", "")),
        extras: &[extra("Disabled", "False", "", "")],
    },
    Facts {
        name: "cloud-credential",
        minutes: 1.0,
        operands: &[],
        available: text("AsExpected", "All is well"),
        idle: text("AsExpected", "All is well"),
        busy: text("_Deploying", "waiting for the rollout of version {v}"),
        not_degraded: text("AsExpected", "All is well"),
        upgradeable: Some(text("AsExpected", "All is well")),
        extras: &[],
    },
    Facts {
        name: "authentication",
        minutes: 6.5,
        operands: &[
            Operand::Release("oauth-apiserver"),
            Operand::Suffixed("oauth-openshift"),
        ],
        available: text("AsExpected", "All is well"),
        idle: text("AsExpected", "AuthenticatorCertKeyProgressing: All is well"),
        busy: text(
            "OAuthServerDeployment_PodsUpdating",
            "OAuthServerDeploymentProgressing: deployment/oauth-openshift.openshift-authentication: 1/3 pods have been updated to the latest generation",
        ),
        not_degraded: text("AsExpected", "All is well"),
        upgradeable: Some(text("AsExpected", "All is well")),
        extras: &[],
    },
    Facts {
        name: "cluster-autoscaler",
        minutes: 1.0,
        operands: &[],
        available: text("AsExpected", "at version {v}"),
        idle: text("", ""),
        busy: text("SyncingResources", "updating to {v}"),
        not_degraded: text("", ""),
        upgradeable: Some(text("", "")),
        extras: &[],
    },
    Facts {
        name: "csi-snapshot-controller",
        minutes: 1.5,
        operands: &[Operand::Release("csi-snapshot-controller")],
        available: text("AsExpected", "All is well"),
        idle: text("AsExpected", "All is well"),
        busy: text(
            "CSISnapshotController_Deploying",
            "CSISnapshotControllerProgressing: Waiting for Deployment to deploy pods",
        ),
        not_degraded: text("AsExpected", "All is well"),
        upgradeable: Some(text("AsExpected", "All is well")),
        extras: &[],
    },
    Facts {
        name: "image-registry",
        minutes: 2.0,
        operands: &[],
        available: text(
            "Ready",
            "Available: The registry is ready\nNodeCADaemonAvailable: The daemon set node-ca has available replicas\nImagePrunerAvailable: Pruner CronJob has been created",
        ),
        idle: text(
            "Ready",
            "Progressing: The registry is ready\nNodeCADaemonProgressing: The daemon set node-ca is deployed",
        ),
        busy: text(
            "DeploymentNotCompleted",
            "Progressing: The deployment has not completed\nNodeCADaemonProgressing: The daemon set node-ca is deploying node pods",
        ),
        not_degraded: text("AsExpected", ""),
        upgradeable: None,
        extras: &[],
    },
    Facts {
        name: "ingress",
        minutes: 3.0,
        operands: &[
            Operand::Image("ingress-controller"),
            Operand::Image("canary-server"),
        ],
        available: text(
            "IngressAvailable",
            "The \"default\" ingress controller reports Available=True.",
        ),
        idle: text(
            "AsExpected",
            "desired and current number of IngressControllers are equal",
        ),
        busy: text(
            "Reconciling",
            "ingresscontroller \"default\" is progressing: IngressControllerProgressing: One or more status conditions indicate progressing: DeploymentRollingOut=True (DeploymentRollingOut: Waiting for router deployment rollout to finish: 1 of 2 updated replica(s) are available...).",
        ),
        not_degraded: text(
            "IngressNotDegraded",
            "The \"default\" ingress controller reports Degraded=False.",
        ),
        upgradeable: Some(text("IngressControllersUpgradeable", "")),
        extras: &[extra("EvaluationConditionsDetected", "False", "AsExpected", "")],
    },
    Facts {
        name: "kube-storage-version-migrator",
        minutes: 1.2,
        operands: &[],
        available: text("AsExpected", "All is well"),
        idle: text("AsExpected", "All is well"),
        busy: text(
            "KubeStorageVersionMigrator_Deploying",
            "KubeStorageVersionMigratorProgressing: Waiting for Deployment to deploy pods",
        ),
        not_degraded: text("AsExpected", "All is well"),
        upgradeable: Some(text("AsExpected", "All is well")),
        extras: &[],
    },
    Facts {
        name: "machine-approver",
        minutes: 1.0,
        operands: &[],
        available: text("AsExpected", "Cluster Machine Approver is available at {v}"),
        idle: text("AsExpected", ""),
        busy: text("AsExpected", ""),
        not_degraded: text("AsExpected", ""),
        upgradeable: Some(text("AsExpected", "")),
        extras: &[],
    },
    Facts {
        name: "monitoring",
        minutes: 4.0,
        operands: &[],
        available: text("RollOutDone", "Successfully rolled out the stack."),
        idle: text("", ""),
        busy: text("RollOutInProgress", "Rolling out the stack."),
        not_degraded: text("", ""),
        upgradeable: Some(text("", "")),
        extras: &[],
    },
    Facts {
        name: "node-tuning",
        minutes: 2.0,
        operands: &[Operand::Release("openshift-tuned")],
        available: text("AsExpected", "Cluster has deployed \"{v}\""),
        idle: text("AsExpected", "Cluster version is \"{v}\""),
        busy: text("Reconciling", "Working towards \"{v}\""),
        not_degraded: text("AsExpected", "DaemonSet \"tuned\" available"),
        upgradeable: None,
        extras: &[],
    },
    Facts {
        name: "openshift-apiserver",
        minutes: 6.0,
        operands: &[Operand::Release("openshift-apiserver")],
        available: text("AsExpected", "All is well"),
        idle: text("AsExpected", "All is well"),
        busy: text(
            "APIServerDeployment_PodsUpdating",
            "APIServerDeploymentProgressing: deployment/apiserver.openshift-apiserver: 1/3 pods have been updated to the latest generation",
        ),
        not_degraded: text("AsExpected", "All is well"),
        upgradeable: Some(text("AsExpected", "All is well")),
        extras: &[],
    },
    Facts {
        name: "openshift-controller-manager",
        minutes: 2.5,
        operands: &[],
        available: text("AsExpected", "All is well"),
        idle: text("AsExpected", "All is well"),
        busy: text(
            "RouteControllerManager_DesiredStateNotYetAchieved::_DesiredStateNotYetAchieved",
            "Progressing: deployment/controller-manager: updated replicas is 1, desired replicas is 3\nRouteControllerManagerProgressing: deployment/route-controller-manager: updated replicas is 1, desired replicas is 3",
        ),
        not_degraded: text("AsExpected", "All is well"),
        upgradeable: Some(text("AsExpected", "All is well")),
        extras: &[],
    },
    Facts {
        name: "openshift-samples",
        minutes: 1.5,
        operands: &[],
        available: text("", "Samples installation successful at {v}"),
        idle: text("", "Samples installation successful at {v}"),
        busy: text("", "Samples processing to {v}"),
        not_degraded: text("", ""),
        upgradeable: None,
        extras: &[],
    },
    Facts {
        name: "storage",
        minutes: 3.0,
        operands: &[],
        available: text(
            "AsExpected",
            "DefaultStorageClassControllerAvailable: StorageClass provided by supplied CSI Driver instead of the cluster-storage-operator\nAWSEBSCSIDriverOperatorCRAvailable: All is well",
        ),
        idle: text("AsExpected", "AWSEBSCSIDriverOperatorCRProgressing: All is well"),
        busy: text(
            "AWSEBSCSIDriverOperatorCR_AWSEBSDriverControllerServiceController_Deploying",
            "AWSEBSCSIDriverOperatorCRProgressing: AWSEBSDriverControllerServiceControllerProgressing: Waiting for Deployment to deploy pods",
        ),
        not_degraded: text("AsExpected", "AWSEBSCSIDriverOperatorCRDegraded: All is well"),
        upgradeable: Some(text("AsExpected", "All is well")),
        extras: &[],
    },
    Facts {
        name: "console",
        minutes: 5.0,
        operands: &[],
        available: text("AsExpected", "All is well"),
        idle: text("AsExpected", "All is well"),
        busy: text(
            "SyncLoopRefresh_InProgress",
            "SyncLoopRefreshProgressing: Working toward version {v}, 1 replicas available",
        ),
        not_degraded: text("AsExpected", "All is well"),
        upgradeable: Some(text("AsExpected", "All is well")),
        extras: &[],
    },
    Facts {
        name: "insights",
        minutes: 1.5,
        operands: &[],
        available: text("AsExpected", "Insights works as expected"),
        idle: text("AsExpected", "Monitoring the cluster"),
        busy: text("Initializing", "Initializing the operator"),
        not_degraded: text("AsExpected", "Insights works as expected"),
        upgradeable: Some(text("InsightsUpgradeable", "Insights operator can be upgraded")),
        extras: &[
            extra(
                "ClusterTransferAvailable",
                "False",
                "NoClusterTransfer",
                "no available cluster transfer",
            ),
            extra("Disabled", "False", "AsExpected", ""),
            extra(
                "SCAAvailable",
                "False",
                "NotFound",
                "Failed to pull SCA certs: no entitlement was found",
            ),
        ],
    },
    Facts {
        name: "operator-lifecycle-manager",
        minutes: 2.0,
        operands: &[Operand::Lifecycle("operator-lifecycle-manager")],
        available: text("", ""),
        idle: text("", "Deployed {o}"),
        busy: text("", "Deploying {o}"),
        not_degraded: text("", ""),
        upgradeable: Some(text("", "")),
        extras: &[],
    },
    Facts {
        name: "operator-lifecycle-manager-catalog",
        minutes: 2.0,
        operands: &[Operand::Lifecycle("operator-lifecycle-manager")],
        available: text("", ""),
        idle: text("", "Deployed {o}"),
        busy: text("", "Deploying {o}"),
        not_degraded: text("", ""),
        upgradeable: Some(text("", "")),
        extras: &[],
    },
    Facts {
        name: "operator-lifecycle-manager-packageserver",
        minutes: 2.5,
        operands: &[Operand::Snapshot("packageserver")],
        available: text(
            "ClusterServiceVersionSucceeded",
            "ClusterServiceVersion openshift-operator-lifecycle-manager/packageserver observed in phase Succeeded",
        ),
        idle: text("", "Deployed version 0.0.1-snapshot"),
        busy: text("", "Working toward 0.0.1-snapshot"),
        not_degraded: text("", ""),
        upgradeable: Some(text("", "Safe to upgrade")),
        extras: &[],
    },
    Facts {
        name: "marketplace",
        minutes: 1.5,
        operands: &[],
        available: text("OperatorAvailable", "Available release version: {v}"),
        idle: text(
            "OperatorAvailable",
            "Successfully progressed to release version: {v}",
        ),
        busy: text("OperatorProgressing", "Progressing towards release version: {v}"),
        not_degraded: text("OperatorAvailable", "Available release version: {v}"),
        upgradeable: Some(text("OperatorAvailable", "Marketplace is upgradeable")),
        extras: &[],
    },
    Facts {
        name: "service-ca",
        minutes: 1.5,
        operands: &[],
        available: text("AsExpected", "All is well"),
        idle: text(
            "AsExpected",
            "Progressing: All service-ca-operator deployments updated",
        ),
        busy: text(
            "_ManagedDeploymentsAvailable",
            "Progressing: \nProgressing: service-ca does not have available replicas",
        ),
        not_degraded: text("AsExpected", "All is well"),
        upgradeable: Some(text("AsExpected", "All is well")),
        extras: &[],
    },
    Facts {
        name: "network",
        minutes: 9.0,
        operands: &[],
        available: text("", ""),
        idle: text("", ""),
        busy: text(
            "Deploying",
            "DaemonSet \"/openshift-ovn-kubernetes/ovnkube-node\" update is rolling out (3 out of 6 updated)",
        ),
        not_degraded: text("", ""),
        upgradeable: Some(text("", "")),
        extras: &[extra("ManagementStateDegraded", "False", "", "")],
    },
    Facts {
        name: "dns",
        minutes: 5.0,
        operands: &[
            Operand::Image("coredns"),
            Operand::Image("openshift-cli"),
            Operand::Image("kube-rbac-proxy"),
        ],
        available: text("AsExpected", "DNS \"default\" is available."),
        idle: text("AsExpected", "Desired and current number of DNSes are equal"),
        busy: text(
            "DNSReportsProgressingIsTrue",
            "DNS \"default\" reports Progressing=True: \"Have 3 available DNS pods, want 6.\"",
        ),
        not_degraded: text("DNSNotDegraded", ""),
        upgradeable: Some(text(
            "DNSUpgradeable",
            "DNS default is upgradeable: DNS Operator can be upgraded",
        )),
        extras: &[],
    },
    Facts {
        name: "machine-config",
        minutes: 4.0,
        operands: &[],
        available: text("AsExpected", "Cluster has deployed [{operator {v}}]"),
        idle: text("", "Cluster version is {v}"),
        busy: text("", "Working towards {v}"),
        not_degraded: text("", ""),
        upgradeable: Some(text("AsExpected", "")),
        extras: &[],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_operators_as_in_a_real_cluster_and_no_name_twice() {
        let names: std::collections::BTreeSet<&str> = OPERATORS.iter().map(|facts| facts.name).collect();
        assert_eq!(names.len(), OPERATORS.len());
        assert_eq!(names.len(), 33);
    }
}
