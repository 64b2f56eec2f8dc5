//! Counts the bytes between the hub and its API server, as they are on the wire.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Context;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

/// A proxy that only counts; connections stay encrypted end to end.
#[derive(Clone)]
pub struct Proxy {
    address: SocketAddr,
    received: Arc<AtomicU64>,
    sent: Arc<AtomicU64>,
}

impl Proxy {
    /// Listens on loopback for connections to `server`, an address with its scheme.
    pub async fn start(server: &str) -> anyhow::Result<Self> {
        let target = server.trim_start_matches("https://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.context("binding a port")?;
        let proxy = Self {
            address: listener.local_addr().context("reading the port")?,
            received: Arc::default(),
            sent: Arc::default(),
        };
        let counting = proxy.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (target, counting) = (target.clone(), counting.clone());
                tokio::spawn(async move { counting.forward(client, &target).await });
            }
        });
        Ok(proxy)
    }

    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Bytes that the hub has received.
    pub fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Bytes that the hub has sent.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    async fn forward(self, client: TcpStream, target: &str) -> std::io::Result<()> {
        let server = TcpStream::connect(target).await?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        let (up, down) = tokio::join!(
            copy(from_client, to_server, &self.sent),
            copy(from_server, to_client, &self.received)
        );
        up.and(down)
    }
}

async fn copy(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, count: &AtomicU64) -> std::io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let length = from.read(&mut buffer).await?;
        if length == 0 {
            return to.shutdown().await;
        }
        count.fetch_add(length as u64, Ordering::Relaxed);
        to.write_all(&buffer[..length]).await?;
    }
}
