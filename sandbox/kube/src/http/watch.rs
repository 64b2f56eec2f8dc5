//! The events of a watch, as lines of JSON.

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use serde_json::json;

use super::answer::Writer;
use super::media::Form;
use crate::server::{Watch, WatchFrame};
use crate::store::ChangeKind;

/// The lines of a watch, until it ends.
pub(super) fn lines(watch: Watch, writer: Writer) -> BoxStream<'static, Bytes> {
    futures::stream::unfold((watch, writer), |(mut watch, writer)| async move {
        let frame = watch.next().await?;
        Some((line(&frame, &writer), (watch, writer)))
    })
    .boxed()
}

fn line(frame: &WatchFrame, writer: &Writer) -> Bytes {
    match frame {
        WatchFrame::Change { kind, object } => {
            let word = match kind {
                ChangeKind::Added => "ADDED",
                ChangeKind::Modified => "MODIFIED",
                ChangeKind::Deleted => "DELETED",
            };
            event(word, &writer.object(object))
        }
        WatchFrame::Bookmark {
            revision,
            initial_events_end,
        } => {
            let (kind, api_version) = match writer.form {
                Form::Metadata => ("PartialObjectMetadata", "meta.k8s.io/v1".to_owned()),
                Form::Object | Form::Table => (writer.kind.kind.as_str(), writer.kind.api_version()),
            };
            let mut object = json!({
                "kind": kind, "apiVersion": api_version, "metadata": {"resourceVersion": revision.to_string()},
            });
            if *initial_events_end {
                object["metadata"]["annotations"] = json!({"k8s.io/initial-events-end": "true"});
            }
            event("BOOKMARK", object.to_string().as_bytes())
        }
        WatchFrame::Error(status) => event("ERROR", status.to_value().to_string().as_bytes()),
    }
}

fn event(word: &str, object: &[u8]) -> Bytes {
    let mut text = Vec::with_capacity(object.len() + 40);
    text.extend_from_slice(b"{\"type\":\"");
    text.extend_from_slice(word.as_bytes());
    text.extend_from_slice(b"\",\"object\":");
    text.extend_from_slice(object);
    text.extend_from_slice(b"}\n");
    text.into()
}
