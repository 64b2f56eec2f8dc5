//! Serves the page to whoever connects: what a connection may take is bounded before anybody has signed in.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use axum_server::{ConnectionShutdown, Handle, Server};
use drydock_dashboard::Dashboard;
use http::Extensions;
use tokio::net::{TcpListener, TcpSocket};
use tokio_util::sync::CancellationToken;

use super::connection::LimitedAcceptor;

/// How many connections there may be: more than pages may be open.
const MOST_CONNECTIONS: usize = 1024;
/// How long the first request of a connection may take to come.
const FIRST_REQUEST_WITHIN: Duration = Duration::from_secs(10);
/// How long a further one may take, over HTTP/1: proxies keep connections for it.
const NEXT_REQUEST_WITHIN: Duration = Duration::from_secs(30);
/// The longest headers of a request, in bytes: a token of 16 KiB fits in, beside what proxies add.
const LONGEST_HEADERS: u32 = 32 << 10;
/// How many requests there may be at a time on a connection, over HTTP/2.
const MOST_REQUESTS: u32 = 64;
/// How much of the body of a request is kept until it is read, over HTTP/2, in bytes.
const REQUEST_WINDOW: u32 = 64 << 10;
/// The same, of all requests of a connection.
const CONNECTION_WINDOW: u32 = 128 << 10;
/// How much is kept of an answer that a client does not read, over HTTP/2, in bytes.
const UNREAD: usize = 64 << 10;
/// How much the kernel keeps of what a client does not read, in bytes: by itself it would keep 4 MiB.
const SEND_BUFFER: u32 = 256 << 10;
/// How many connections may wait to be accepted.
const BACKLOG: u32 = 1024;
/// How often a client has to show that it is there, over HTTP/2.
const PING_EVERY: Duration = Duration::from_secs(30);
/// How long a connection may last when the server ends: browsers come back, to another replica.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// Listens for connections to [`plain`] or [`encrypted`].
///
/// # Errors
/// If the address cannot be had.
pub(super) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    socket.set_reuseaddr(true)?;
    // Connections inherit it.
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves the page over HTTP until `shutdown`.
///
/// # Errors
/// If the listener fails.
pub(super) async fn plain(
    listener: TcpListener,
    page: Dashboard,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let (server, handle) = limited(listener, MOST_CONNECTIONS);
    let serving = server.serve(page.router_that_ends(end_of).into_make_service());
    until(shutdown, &handle, serving).await
}

/// Serves the page over HTTPS until `shutdown`.
///
/// # Errors
/// If the listener fails.
pub(super) async fn encrypted(
    listener: TcpListener,
    certificate: RustlsConfig,
    page: Dashboard,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let (server, handle) = limited(listener, MOST_CONNECTIONS);
    let server = server.map(|limited| RustlsAcceptor::new(certificate).acceptor(limited));
    let serving = server.serve(page.router_that_ends(end_of).into_make_service());
    until(shutdown, &handle, serving).await
}

/// A server that bounds what connections may take, and so many of them; with what counts and ends them.
fn limited(listener: TcpListener, most: usize) -> (Server<SocketAddr, LimitedAcceptor>, Handle<SocketAddr>) {
    let handle = Handle::new();
    let acceptor = LimitedAcceptor {
        handle: handle.clone(),
        most,
    };
    let mut server = Server::from_listener(listener)
        .acceptor(acceptor)
        .handle(handle.clone())
        .first_request_timeout(FIRST_REQUEST_WITHIN);
    let builder = server.http_builder();
    builder
        .http1()
        .max_buf_size(LONGEST_HEADERS as usize)
        .header_read_timeout(NEXT_REQUEST_WITHIN);
    builder
        .http2()
        .max_header_list_size(LONGEST_HEADERS)
        .max_concurrent_streams(MOST_REQUESTS)
        .initial_stream_window_size(REQUEST_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(UNREAD)
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PING_EVERY);
    (server, handle)
}

/// How the connection of a request is ended.
fn end_of(extensions: &Extensions) -> Option<Arc<dyn Fn() + Send + Sync>> {
    let connection = extensions.get::<ConnectionShutdown>()?.clone();
    Some(Arc::new(move || connection.shutdown()))
}

/// Serves until `shutdown`, and a little longer.
async fn until(
    shutdown: CancellationToken,
    handle: &Handle<SocketAddr>,
    serving: impl Future<Output = io::Result<()>>,
) -> io::Result<()> {
    let mut serving = std::pin::pin!(serving);
    tokio::select! {
        ended = &mut serving => return ended,
        () = shutdown.cancelled() => handle.graceful_shutdown(Some(LAST_ANSWERS)),
    }
    serving.await
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use drydock_dashboard::{Access, OwnAccess, Settings, Token};
    use drydock_hub::Pace;
    use drydock_sandbox::local_fleet::{LocalFleet, LocalFleetSettings};
    use drydock_sandbox::test_env::TestEnvSettings;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;
    use tokio::time::timeout;

    use super::*;

    /// By when everything has ended that ends at all, of virtual time.
    const EVER: Duration = Duration::from_hours(1);

    struct Page {
        fleet: LocalFleet,
        address: SocketAddr,
    }

    impl Page {
        /// A page that takes so many connections.
        async fn with(most: usize) -> Self {
            let env = TestEnvSettings::demo(1, 7);
            let mut fleet = LocalFleet::start(LocalFleetSettings::new(env)).await.unwrap();
            let live = fleet.watch(Pace(Duration::from_secs(1))).unwrap();
            let client = fleet.client("page").unwrap();
            let own = OwnAccess::new(Token::random().unwrap(), "ann".to_owned());
            let settings = Settings::new(Access::Own(own), "a test".to_owned());
            let listener = listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
            let address = listener.local_addr().unwrap();
            let (tasks, stop) = fleet.tasks();
            let page = Dashboard::start(live, client, settings, tasks, stop.clone());
            let (server, handle) = limited(listener, most);
            tasks.spawn("http", async move {
                let serving = server.serve(page.router_that_ends(end_of).into_make_service());
                until(stop, &handle, serving).await
            });
            Self { fleet, address }
        }

        async fn connect(&self) -> TcpStream {
            TcpStream::connect(self.address).await.unwrap()
        }
    }

    /// What is answered until the connection ends.
    async fn answer(connection: &mut TcpStream) -> String {
        let mut bytes = Vec::new();
        // Who has sent more than was read may see a reset instead of an end.
        let _reset = timeout(EVER, connection.read_to_end(&mut bytes))
            .await
            .expect("the connection ends");
        String::from_utf8(bytes).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn headers_that_do_not_end_end_the_connection() {
        let page = Page::with(8).await;
        let start = "GET / HTTP/1.1\r\nhost: localhost\r\n";
        let long = format!("{start}x: {}", "x".repeat(LONGEST_HEADERS as usize));
        // None at all, a part of them, too many, and those of a second request.
        let second = format!("{start}\r\n{start}");
        for sent in ["", start, long.as_str(), second.as_str()] {
            let mut connection = page.connect().await;
            connection.write_all(sent.as_bytes()).await.unwrap();
            let answer = answer(&mut connection).await;
            let is_served = answer.starts_with("HTTP/1.1 200");
            assert_eq!(is_served, sent == second, "{answer}");
        }
        page.fleet.shut_down().await.unwrap();
    }

    /// RFC 9112, section 3.2.
    #[tokio::test(start_paused = true)]
    async fn a_request_that_names_two_hosts_is_bad() {
        let page = Page::with(8).await;
        for other in ["localhost", "evil.example"] {
            let mut connection = page.connect().await;
            let request =
                format!("GET / HTTP/1.1\r\nhost: localhost\r\nhost: {other}\r\nconnection: close\r\n\r\n");
            connection.write_all(request.as_bytes()).await.unwrap();
            let answer = answer(&mut connection).await;
            assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
        }
        page.fleet.shut_down().await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn there_are_so_many_connections_and_no_more() {
        let page = Page::with(2).await;
        let mut first = page.connect().await;
        let second = page.connect().await;
        let mut third = page.connect().await;
        assert_eq!(answer(&mut third).await, "");
        drop(second);
        let request = b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        first.write_all(request).await.unwrap();
        assert!(answer(&mut first).await.starts_with("HTTP/1.1 200"));
        page.fleet.shut_down().await.unwrap();
    }

    /// A second server of the same port fails, and a connection that goes on does not keep the first from its end.
    #[tokio::test(start_paused = true)]
    async fn a_server_ends_when_it_is_asked_to() {
        let page = Page::with(8).await;
        let taken = listen(page.address).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
        let _open = page.connect().await;
        timeout(EVER, page.fleet.shut_down())
            .await
            .expect("it ends")
            .unwrap();
    }
}
