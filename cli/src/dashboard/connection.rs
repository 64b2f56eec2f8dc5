//! Connections that take neither all places nor memory for ever, whoever opens them.

use std::future::{Ready, ready};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum_server::Handle;
use axum_server::accept::Accept;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

/// How long nothing may come or go. A page that is open gets something each 15 seconds; a forecast of a large fleet may take a while.
const QUIET_FOR: Duration = Duration::from_mins(2);
/// How long a client may take none of what is sent to it.
const BLOCKED_FOR: Duration = Duration::from_secs(30);

/// Accepts so many connections at a time, and ends those that are idle.
#[derive(Clone)]
pub(super) struct LimitedAcceptor {
    /// Who counts connections.
    pub handle: Handle<SocketAddr>,
    /// How many there may be.
    pub most: usize,
}

impl<S> Accept<TcpStream, S> for LimitedAcceptor {
    type Stream = LimitedStream<TcpStream>;
    type Service = S;
    type Future = Ready<io::Result<(Self::Stream, S)>>;

    fn accept(&self, stream: TcpStream, service: S) -> Self::Future {
        // It is counted itself.
        if self.handle.connection_count() > self.most {
            tracing::debug!(most = self.most, "a connection is refused: there are too many");
            return ready(Err(io::Error::other("there are too many connections")));
        }
        ready(Ok((LimitedStream::new(stream), service)))
    }
}

/// A connection that fails where nothing moves on it.
pub(super) struct LimitedStream<S> {
    stream: S,
    /// When something has come or gone.
    moved: Instant,
    /// When it is looked whether it is quiet for too long.
    quiet: Pin<Box<Sleep>>,
    /// By when some of what is sent has to be taken.
    blocked: Option<Pin<Box<Sleep>>>,
}

impl<S> LimitedStream<S> {
    fn new(stream: S) -> Self {
        Self {
            stream,
            moved: Instant::now(),
            quiet: Box::pin(sleep(QUIET_FOR)),
            blocked: None,
        }
    }

    /// Ready once nothing has moved for too long.
    fn poll_quiet(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        loop {
            ready!(self.quiet.as_mut().poll(context));
            let until = self.moved + QUIET_FOR;
            if until <= Instant::now() {
                return Poll::Ready(late("nothing has come or gone"));
            }
            self.quiet.as_mut().reset(until);
        }
    }

    /// What writing has come to, or that it takes too long.
    fn written(
        &mut self,
        context: &mut Context<'_>,
        polled: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if polled.is_ready() {
            self.moved = Instant::now();
            self.blocked = None;
            return polled;
        }
        let blocked = self.blocked.get_or_insert_with(|| Box::pin(sleep(BLOCKED_FOR)));
        ready!(blocked.as_mut().poll(context));
        Poll::Ready(Err(late("nothing that is sent is taken")))
    }
}

fn late(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, format!("{what} for too long"))
}

impl<S: AsyncRead + Unpin> AsyncRead for LimitedStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.stream).poll_read(context, buffer);
        if polled.is_ready() {
            this.moved = Instant::now();
            return polled;
        }
        let error = ready!(this.poll_quiet(context));
        Poll::Ready(Err(error))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for LimitedStream<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.stream).poll_write(context, bytes);
        this.written(context, polled)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.stream).poll_write_vectored(context, parts);
        this.written(context, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_is_cut_off() {
        let (mut client, server) = duplex(8);
        let mut server = LimitedStream::new(server);
        let begun = Instant::now();
        let client = tokio::spawn(async move {
            // It takes a little, and sends all the time, which does not help it.
            client.read_exact(&mut [0; 4]).await.unwrap();
            while client.write_all(b"x").await.is_ok() {
                sleep(Duration::from_secs(1)).await;
            }
        });
        let error = server.write_all(&[0; 64]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(begun.elapsed(), BLOCKED_FOR);
        client.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_quiet_for_too_long_is_cut_off() {
        let (mut client, server) = duplex(8);
        let mut server = LimitedStream::new(server);
        // Also what goes counts.
        sleep(QUIET_FOR / 2).await;
        server.write_all(&[0; 8]).await.unwrap();
        let begun = Instant::now();
        let error = server.read_u8().await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(begun.elapsed(), QUIET_FOR);
        client.write_all(&[7]).await.unwrap();
        assert_eq!(server.read_u8().await.unwrap(), 7, "what has come is read");
    }
}
