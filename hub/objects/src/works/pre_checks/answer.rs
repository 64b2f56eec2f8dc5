//! What a cluster has answered. It is text of a stranger: bounded, on one line, and believed to be nothing more.

use std::cmp::Ordering;
use std::sync::Arc;

use drydock_api::conditions::{self, AnyCondition};
use drydock_api::names::{CLUSTER_VERSION, QUESTION_ANNOTATION, UPGRADE_ANNOTATION, UPGRADE_UID_LABEL};
use drydock_api::ocm::manifest_work::ManifestStatus;
use drydock_api::{ClusterName, is_same_image, on_one_line};
use drydock_rollout::{
    AnswerSource, Finding, FindingAcceptance, FindingLevel, KnownAnswer, Owner, PreCheckAnswer, PreCheckAsk,
    PreCheckQuestion, PreCheckWork, Uid, UpgradeKey, bounded,
};
use jiff::Timestamp;
use kube::ResourceExt;
use semver::Version;

use super::cluster_version::{against_a_start, by_cluster_version, image_required};
use super::{FINDINGS, GROUP, PLANS, mark, marks, plan_name};
use crate::works::feedback::{has_value, is, text};
use crate::works::partial::PartialManifestWork;
use crate::works::{cluster_version, read};

/// How a message begins that names another upgrade: not everybody may know of that.
pub const ASKED_FOR: &str = "its agent is asked for ";
/// Why a ClusterVersion answers nothing: its history is empty.
const NO_VERSION: &str = "its ClusterVersion does not say which version it runs";
/// Why an agent does not answer whose plan is over.
const OVER: &str = "its agent says that the update has begun, and its ClusterVersion does not say so yet";
/// The longest id of an accepted risk, in bytes.
const ID: usize = 16;
/// The longest text that is kept of a cluster, in bytes.
pub(super) const TEXT: usize = 256;

/// One of our works that ask, and whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreCheckDigest {
    /// Which cluster.
    pub cluster: ClusterName,
    /// The name of the work.
    pub name: Arc<str>,
    /// The work.
    pub work: Arc<PreCheckWork>,
}

/// The cluster that a work of this name asks, if it is one.
pub fn asked_cluster(namespace: &str, name: &str) -> Option<ClusterName> {
    let rest = name.strip_prefix(namespace)?;
    rest.starts_with("-pre-checks-")
        .then(|| ClusterName::from(namespace))
}

/// Reads a work that asks; `None` if it is none.
pub fn digest(work: &PartialManifestWork) -> Option<PreCheckDigest> {
    let name = work.name_any();
    let cluster = asked_cluster(&work.namespace()?, &name)?;
    let question = work.annotations().get(QUESTION_ANNOTATION);
    let question: Option<PreCheckQuestion> = question.and_then(|text| serde_json::from_str(text).ok());
    let without_image = question
        .as_ref()
        .and_then(|question| without_image(work, question));
    let reply = question
        .as_ref()
        .map_or(Reply::None, |question| reply(work, question));
    let owner = Owner {
        uid: Uid::new(
            work.labels()
                .get(UPGRADE_UID_LABEL)
                .map(String::as_str)
                .unwrap_or_default(),
        ),
        upgrade: work
            .annotations()
            .get(UPGRADE_ANNOTATION)
            .and_then(|text| UpgradeKey::parse(text)),
    };
    let other = question.as_ref().and_then(|question| {
        let plan = plan_of(work, question).filter(|plan| taken(plan, question).is_some())?;
        Some(is_asked_later(plan, question))
    });
    let mut asks = PreCheckWork {
        uid: Uid::new(work.uid().unwrap_or_default()),
        owner,
        deleting: work.metadata.deletion_timestamp.is_some(),
        answer: KnownAnswer::None,
        trouble: None,
        // Whatever the answer is: what this one asks is not to be written over the other one's.
        is_taken: other.is_some(),
        is_asked_later: other == Some(true),
        question: question.map(Arc::new),
        ended: ended(work),
        without_image,
    };
    match reply {
        Reply::Answered(answer) => asks.answer = KnownAnswer::Current(answer),
        Reply::AnsweredBefore(answer) => asks.answer = KnownAnswer::Earlier(answer),
        Reply::Refused(words) => asks.trouble = Some(words),
        Reply::Over(known) => {
            asks.answer = known.map_or(KnownAnswer::None, KnownAnswer::Earlier);
            asks.trouble = Some(OVER.into());
        }
        Reply::Taken { by, found } => {
            asks.answer = found.map_or(KnownAnswer::None, KnownAnswer::OfAnother);
            asks.trouble = Some(format!("{ASKED_FOR}{by} at present").into());
        }
        Reply::None => {}
    }
    Some(PreCheckDigest {
        cluster,
        name: name.into(),
        work: Arc::new(asks),
    })
}

/// What has come back of a question.
#[derive(Debug)]
enum Reply {
    /// An answer.
    Answered(PreCheckAnswer),
    /// An answer to the same, from when it was asked before.
    AnsweredBefore(PreCheckAnswer),
    /// It cannot be asked, and why.
    Refused(Arc<str>),
    /// Another upgrade has asked the same plan since.
    Taken {
        /// Which.
        by: Arc<str>,
        /// What was found for it.
        found: Option<PreCheckAnswer>,
    },
    /// The agent asks nobody any more, for it has seen the update begin; with what is known to speak against it.
    Over(Option<PreCheckAnswer>),
    /// Nothing yet.
    None,
}

impl Reply {
    /// An answer, of whatever time.
    fn known(self) -> Option<PreCheckAnswer> {
        match self {
            Self::Answered(answer) | Self::AnsweredBefore(answer) => Some(answer),
            Self::Refused(_) | Self::Taken { .. } | Self::Over(_) | Self::None => None,
        }
    }
}

/// Whether a cluster runs an image, or is on its way to it.
fn runs(cluster: Option<&ManifestStatus>, image: &str) -> bool {
    let newest = cluster.and_then(|status| text(status, "image"));
    newest.is_some_and(|newest| is_same_image(&newest, image))
}

/// The image that is asked for, if one is.
fn image_of(question: &PreCheckQuestion) -> Option<&str> {
    Some(&*question.image).filter(|image| !image.is_empty())
}

/// The answer of a cluster that is at the target, or on its way to it: it has nothing to fear from an update that has begun.
fn at_target(
    question: &PreCheckQuestion,
    target: Option<&Version>,
    running: Option<&Version>,
    cluster: Option<&ManifestStatus>,
) -> Option<Reply> {
    let image = image_of(question);
    let is_image = || image.is_none_or(|image| runs(cluster, image));
    // One that is on its way to a newer release may be sent back yet; what has begun with this one goes on.
    let order = running.zip(target);
    let is_there = match order.map(|(running, target)| running.cmp_precedence(target)) {
        Some(Ordering::Greater) => cluster.is_some_and(|status| is(status, "state", "Completed")),
        Some(Ordering::Equal) => is_image(),
        Some(Ordering::Less) => false,
        // Of an image alone no version is known.
        None => target.is_none() && image.is_some() && is_image(),
    };
    is_there.then_some(())?;
    let answer = PreCheckAnswer {
        source: AnswerSource::AtTarget,
        findings: Arc::default(),
    };
    // A version the cluster claims besides; of an image alone what was read before it was asked may be over.
    let is_read = target.is_some() || cluster.is_some_and(|status| was_read_since(status, None, question));
    Some(if is_read {
        Reply::Answered(answer)
    } else {
        Reply::AnsweredBefore(answer)
    })
}

fn reply(work: &PartialManifestWork, question: &PreCheckQuestion) -> Reply {
    let target = Version::parse(&question.target).ok();
    let cluster = read::manifest(work, GROUP, "clusterversions", "", CLUSTER_VERSION);
    let running = cluster.and_then(|status| cluster_version::parse_version(&text(status, "version")?));
    let image = image_of(question);
    if let Some(there) = at_target(question, target.as_ref(), running.as_ref(), cluster) {
        return there;
    }
    let by_cluster_version = || {
        let status = cluster?;
        let findings = by_cluster_version(status, running.as_ref()?, target.as_ref(), image);
        let answer = PreCheckAnswer {
            source: AnswerSource::ClusterVersion,
            findings: findings.into(),
        };
        if was_read_since(status, target.as_ref(), question) {
            Some(Reply::Answered(answer))
        } else {
            let is_same = has_value(status, &marks(target.as_ref()));
            is_same.then_some(Reply::AnsweredBefore(answer))
        }
    };
    if target.is_none() || !question.asks_agent {
        let refused = || not_applied(work, "clusterversions").map(|(words, _)| words);
        let no_version = || (cluster.is_some() && running.is_none()).then(|| Arc::from(NO_VERSION));
        let why = || refused().or_else(no_version).map(Reply::Refused);
        return by_cluster_version().or_else(why).unwrap_or(Reply::None);
    }
    match not_applied(work, PLANS) {
        Some((_, true)) => by_cluster_version().unwrap_or(Reply::None),
        Some((words, false)) => Reply::Refused(words),
        None => {
            let status = plan_of(work, question);
            match status.and_then(|status| taken(status, question)) {
                Some(by) => Reply::Taken {
                    by,
                    found: status.and_then(|status| found_for_another(status, question)),
                },
                // The agent asks nobody any more, and ClusterVersion does not say yet that the update has begun: what it found before holds,
                // and so does what the cluster says.
                None if status.is_some_and(|status| is_over(status, question)) => {
                    let by_agent = status.and_then(|status| by_agent(status, question)?.known());
                    let by_cluster = || by_cluster_version()?.known();
                    let stops = by_agent.filter(PreCheckAnswer::may_hold);
                    Reply::Over(stops.or_else(by_cluster).filter(PreCheckAnswer::may_hold))
                }
                None => match status.and_then(|status| by_agent(status, question)) {
                    Some(Reply::Answered(answer)) => {
                        let now = cluster.map(|status| against_a_start(status, target.as_ref(), image));
                        Reply::Answered(with_what_came_since(answer, now.unwrap_or_default()))
                    }
                    reply => reply.unwrap_or(Reply::None),
                },
            }
        }
    }
}

/// An answer that lets a cluster start, with what its ClusterVersion says `now` against that and the agent had not found: both are of one read of
/// the work, so ClusterVersion is the newer one. What holds is asked anew soon, and then the agent says itself what is so. An agent that lists
/// as much as it can may have found it, too.
fn with_what_came_since(answer: PreCheckAnswer, now: Vec<Finding>) -> PreCheckAnswer {
    let AnswerSource::Agent {
        collected_at,
        stops: false,
        unaccepted,
    } = answer.source
    else {
        return answer;
    };
    let is_known = |found: &Finding| answer.findings.iter().any(|known| known.uuid == found.uuid);
    let came: Vec<Finding> = now.into_iter().filter(|found| !is_known(found)).collect();
    if came.is_empty() || answer.findings.len() >= FINDINGS {
        return answer;
    }
    PreCheckAnswer {
        source: AnswerSource::Agent {
            collected_at,
            stops: true,
            unaccepted: unaccepted + came.len(),
        },
        findings: answer.findings.iter().cloned().chain(came).collect(),
    }
}

/// Whether ClusterVersion was read since it was asked.
fn was_read_since(status: &ManifestStatus, target: Option<&Version>, question: &PreCheckQuestion) -> bool {
    text(status, &mark(target, question.asked_at)).is_some()
}

/// The ids of accepted risks that the agent says have ended. They say nothing about risks of other clusters: who lies ends its own.
fn ended(work: &PartialManifestWork) -> Arc<[Arc<str>]> {
    let statuses = work
        .status
        .as_ref()
        .and_then(|status| status.resource_status.as_ref());
    let manifests = statuses.iter().flat_map(|statuses| &statuses.manifests);
    let plan = manifests
        .filter(|manifest| manifest.resource_meta.resource.as_deref() == Some(PLANS))
        .find_map(|manifest| text(manifest, "endedRisks"));
    let ids = plan.as_deref().unwrap_or_default().split(' ');
    let ids = ids
        .filter(|id| !id.is_empty() && id.len() <= ID)
        .take(PreCheckAsk::MOST_ACCEPTED);
    ids.map(Arc::from).collect()
}

/// What speaks against a request of the release that is asked about by its version alone.
fn without_image(work: &PartialManifestWork, question: &PreCheckQuestion) -> Option<Finding> {
    let cluster = read::manifest(work, GROUP, "clusterversions", "", CLUSTER_VERSION)?;
    let target = Version::parse(&question.target).ok()?;
    // What was read with the paths of another target says nothing.
    has_value(cluster, &marks(Some(&target))).then_some(())?;
    image_required(cluster, &question.target)
}

/// Why an object of this resource is not applied, if it is not, and whether the cluster does not know its kind.
fn not_applied(work: &PartialManifestWork, resource: &str) -> Option<(Arc<str>, bool)> {
    let is_it = |manifest: &&ManifestStatus| {
        let meta = &manifest.resource_meta;
        let kind = meta.kind.as_deref().unwrap_or_default();
        // Where the kind is not known, nor is its plural.
        meta.resource.as_deref() == Some(resource) || (resource == PLANS && kind == "UpdatePlan")
    };
    let manifests = work
        .status
        .as_ref()
        .and_then(|status| status.resource_status.as_ref())?;
    let manifest = manifests.manifests.iter().find(is_it)?;
    let failed = conditions::find(&manifest.conditions, "Applied").filter(|applied| applied.is_false())?;
    let words = failed.message();
    // What `meta.NoKindMatchError` and kubectl's resource builder say.
    let is_unknown = ["no matches for kind", "doesn't have a resource type"]
        .iter()
        .any(|known| words.contains(known));
    Some((printable(words), is_unknown))
}

/// The plan by which the agent is asked, as the work agent has read it, where it could be applied.
fn plan_of<'a>(work: &'a PartialManifestWork, question: &PreCheckQuestion) -> Option<&'a ManifestStatus> {
    let is_read = question.asks_agent && not_applied(work, PLANS).is_none();
    let version = Version::parse(&question.target).ok().filter(|_| is_read)?;
    read::manifest(work, GROUP, PLANS, "", &plan_name(&version))
}

/// The upgrade for which the agent is asked now, if it is another: what it says counts with that one's acceptances.
fn taken(status: &ManifestStatus, question: &PreCheckQuestion) -> Option<Arc<str>> {
    let asked_for = text(status, "askedFor").filter(|asked_for| **asked_for != *question.asked_for)?;
    let upgrade = asked_for.split(' ').next().unwrap_or_default();
    let is_own = question.asked_for.split(' ').next() == Some(upgrade);
    // What this one has accepted since takes a while to be asked.
    (!is_own).then(|| printable(upgrade))
}

/// Whether the plan asks what was asked after this question: of two of one second, that of the later name.
fn is_asked_later(status: &ManifestStatus, question: &PreCheckQuestion) -> bool {
    let asked = text(status, "asked").and_then(|asked| asked.parse::<Timestamp>().ok());
    let asked_for = text(status, "askedFor").unwrap_or_default();
    asked.is_some_and(|asked| (asked, &*asked_for) > (question.asked_at, &*question.asked_for))
}

/// Whether the agent has seen the plan as it is now.
fn is_observed(status: &ManifestStatus) -> Option<bool> {
    let number = |name: &str| text(status, name)?.parse::<i64>().ok();
    Some(number("observedGeneration")? >= number("generation")?)
}

/// Whether the agent calls this very plan over.
fn is_over(status: &ManifestStatus, question: &PreCheckQuestion) -> bool {
    let is_own = text(status, "askedFor").is_some_and(|asked_for| *asked_for == *question.asked_for);
    is_own && is(status, "phase", "Stale") && is_observed(status) == Some(true)
}

/// What the agent says, if it is about this question, or about what this upgrade asked before it accepted something else: all values come from
/// one read of the plan.
fn by_agent(status: &ManifestStatus, question: &PreCheckQuestion) -> Option<Reply> {
    let is_current = is_observed(status)?;
    if !is_about_image(status, question) {
        return Some(Reply::Refused(OTHER_IMAGE.into()));
    }
    // Somebody on the cluster may have asked again since.
    let asked: Timestamp = text(status, "asked")?.parse().ok()?;
    let asked_for = text(status, "askedFor").filter(|_| taken(status, question).is_none())?;
    let answer = answer_of_agent(status)?;
    let is_collecting = is(status, "phase", "Collecting");
    let is_own = *asked_for == *question.asked_for;
    let is_anew = is_own && is_current && asked >= question.asked_at && !is_collecting;
    Some(if is_anew {
        Reply::Answered(answer)
    } else {
        Reply::AnsweredBefore(answer)
    })
}

/// Whether the plan asks about the image that this question is about; about none, if it is.
fn is_about_image(status: &ManifestStatus, question: &PreCheckQuestion) -> bool {
    text(status, "targetImage").unwrap_or_default() == *question.image
}

/// What the agent has found for another upgrade about the same release.
fn found_for_another(status: &ManifestStatus, question: &PreCheckQuestion) -> Option<PreCheckAnswer> {
    let is_known = is_about_image(status, question) && is_observed(status) == Some(true);
    answer_of_agent(status).filter(|answer| is_known && answer.may_hold())
}

/// What the agent says, to whomever.
fn answer_of_agent(status: &ManifestStatus) -> Option<PreCheckAnswer> {
    let said = |name: &str| text(status, name);
    let number = |name: &str| said(name)?.parse::<i64>().ok();
    let collected_at = said("collectedAt")?.parse().ok()?;
    // While informers are asked there is none, and what else there is is not all.
    let verdict = said("verdict")?;
    let findings: Arc<[Finding]> = (0..FINDINGS).filter_map(|index| finding(status, index)).collect();
    let unaccepted = number("unaccepted").and_then(|count| usize::try_from(count).ok());
    let is_held = unaccepted.is_some_and(|count| count > 0)
        || findings.iter().any(|found| !found.acceptance.is_accepted());
    // A verdict that is not known holds, and so does whatever contradicts one that does not.
    let stops = is_held || !matches!(verdict.as_str(), "Go" | "Caution");
    Some(PreCheckAnswer {
        source: AnswerSource::Agent {
            collected_at,
            stops,
            unaccepted: unaccepted.unwrap_or_default().min(MOST_FINDINGS),
        },
        findings,
    })
}

/// What is said of a plan that somebody on the cluster has had asked about another image: the work agent brings it back.
const OTHER_IMAGE: &str = "somebody on the cluster has changed spec.targetImage of its UpdatePlan: what it says is about another image";

/// A cluster that says that it has more findings than that has lost count.
const MOST_FINDINGS: usize = 1_000_000;

fn finding(status: &ManifestStatus, index: usize) -> Option<Finding> {
    let said = |field: &str| text(status, &format!("{field}{index}"));
    let kept = |field: &str| -> Option<Arc<str>> { Some(printable(&said(field)?)) };
    let uuid = said("uuid").filter(|uuid| is_uuid(uuid)).map(Arc::from);
    Some(Finding {
        uuid,
        informer: kept("informer")?,
        uid: kept("uid"),
        level: said("level")
            .and_then(|level| FindingLevel::parse(&level))
            .unwrap_or(FindingLevel::Unknown),
        summary: kept("summary")?,
        impact: kept("type").unwrap_or_default(),
        remedy: kept("action").unwrap_or_default(),
        acceptance: said("acceptance")
            .and_then(|state| FindingAcceptance::parse(&state))
            .unwrap_or_default(),
        accepted_by: None,
    })
}

fn is_uuid(text: &str) -> bool {
    text.len() == 32
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// A text of a cluster, cut, on one line and without what a terminal would obey, or what turns or hides a text.
pub(super) fn printable(said: &str) -> Arc<str> {
    let clean: String = on_one_line(bounded(said, TEXT)).collect();
    clean.trim().into()
}
