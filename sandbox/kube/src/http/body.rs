//! The body of an answer: text, or the events of a watch.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::stream::BoxStream;
use http_body::{Body, Frame, SizeHint};

/// The body of an answer.
pub struct AnswerBody(Content);

enum Content {
    Text(Option<Bytes>),
    Events(BoxStream<'static, Bytes>),
}

impl AnswerBody {
    pub(super) fn text(text: impl Into<Bytes>) -> Self {
        Self(Content::Text(Some(text.into())))
    }

    /// Its text, if it is text of at least this length.
    pub(super) fn long_text(&self, least: usize) -> Option<&Bytes> {
        match &self.0 {
            Content::Text(Some(text)) => Some(text).filter(|text| text.len() >= least),
            Content::Text(None) | Content::Events(_) => None,
        }
    }

    pub(super) fn events(events: BoxStream<'static, Bytes>) -> Self {
        Self(Content::Events(events))
    }
}

impl std::fmt::Debug for AnswerBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Content::Text(text) => write!(f, "AnswerBody({} bytes)", text.as_ref().map_or(0, Bytes::len)),
            Content::Events(_) => f.write_str("AnswerBody(events)"),
        }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.get_mut().0 {
            Content::Text(text) => Poll::Ready(text.take().map(|text| Ok(Frame::data(text)))),
            Content::Events(events) => events
                .as_mut()
                .poll_next(context)
                .map(|event| event.map(|event| Ok(Frame::data(event)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.0, Content::Text(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Content::Text(text) => SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64)),
            Content::Events(_) => SizeHint::default(),
        }
    }
}
