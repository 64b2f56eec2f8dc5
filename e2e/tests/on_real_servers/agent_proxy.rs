//! The agent behind a proxy.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::{Arc, Mutex};

use anyhow::Context;
use drydock_agent::EndpointConfig;
use drydock_e2e::control_plane::{ADMIN, ControlPlane};
use drydock_e2e::manifests;
use drydock_e2e::monitoring::RealMonitoring;
use drydock_e2e::process::Workplace;
use drydock_e2e::program;
use drydock_e2e::static_cluster::{StaticCluster, Watched, until};
use drydock_runtime::Clock;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufStream};
use tokio::net::{TcpListener, TcpStream};

const RULES: &str = "
groups:
  - name: ours
    rules:
      - {alert: Broken, expr: vector(1), labels: {severity: critical, namespace: openshift-etcd}}
";

/// A proxy that opens tunnels (RFC 9110, section 9.3.6) and keeps in mind where to.
#[derive(Clone)]
struct Proxy {
    address: SocketAddr,
    asked: Arc<Mutex<BTreeSet<String>>>,
}

impl Proxy {
    async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let proxy = Self {
            address: listener.local_addr()?,
            asked: Arc::default(),
        };
        let serving = proxy.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                // A client that goes away in the middle is no error of the proxy.
                tokio::spawn(serving.clone().tunnel(client));
            }
        });
        Ok(proxy)
    }

    async fn tunnel(self, client: TcpStream) -> anyhow::Result<()> {
        let mut client = BufStream::new(client);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            anyhow::ensure!(client.read_line(&mut head).await? > 0, "the request has no end");
        }
        let target = head
            .strip_prefix("CONNECT ")
            .and_then(|rest| rest.split_whitespace().next())
            .context("only tunnels are made")?;
        self.asked.lock().unwrap().insert(target.to_owned());
        let mut server = TcpStream::connect(target).await?;
        client
            .write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
            .await?;
        client.flush().await?;
        tokio::io::copy_bidirectional(&mut client, &mut server).await?;
        Ok(())
    }

    fn asked(&self) -> BTreeSet<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn authority(url: &str) -> String {
    url.trim_start_matches("https://").to_owned()
}

#[tokio::test]
async fn what_no_proxy_does_not_name_is_asked_through_the_proxy() {
    let server = ControlPlane::start().await.unwrap();
    let client = server.client(ADMIN).await.unwrap();
    manifests::install(&client, &manifests::definitions().unwrap())
        .await
        .unwrap();
    let monitoring = RealMonitoring::start(RULES).await.unwrap();
    let EndpointConfig::At {
        prometheus,
        alertmanager,
        authority: Some(certificates),
        token: Some(token),
    } = monitoring.places.clone()
    else {
        panic!("{:?}", monitoring.places);
    };
    // The same machine by another name: the one is asked directly, the other is not.
    let named = prometheus.replace("127.0.0.1", "localhost");
    let watched = Watched::ByReal(Box::new(monitoring));
    let cluster = StaticCluster::make(client, Clock::system(), watched)
        .await
        .unwrap();
    cluster.ask("4.14.12", "stable-4.14").await.unwrap();

    for (no_proxy, through) in [
        ("127.0.0.1,.svc", named.as_str()),
        (".svc,localhost", server.server()),
    ] {
        let tunnels = BTreeSet::from([authority(through)]);
        let proxy = Proxy::start().await.unwrap();
        let workplace = Workplace::new("behind-proxy").unwrap();
        let mut command = Command::new(program::path("drydock-agent").unwrap());
        command
            .env("KUBECONFIG", server.kubeconfig(ADMIN).unwrap())
            .env("HTTPS_PROXY", format!("http://{}", proxy.address))
            .env("NO_PROXY", no_proxy)
            .args(["--admin-address", "127.0.0.1:0", "--log-format", "text"])
            .args(["--prometheus-url", &named, "--alertmanager-url", &alertmanager])
            .args([OsStr::new("--monitoring-ca"), certificates.as_os_str()])
            .args([OsStr::new("--monitoring-token"), token.as_os_str()]);
        let mut agent = workplace.start("drydock-agent", &mut command).unwrap();
        let opened = until("the tunnels are opened", async || Ok(proxy.asked() == tunnels)).await;
        opened.unwrap_or_else(|error| panic!("{error}: {:?}\n{}", proxy.asked(), agent.log_end()));
        // What came through is what the server said, with its own certificate.
        cluster
            .until_condition("ClusterHealthyBeforeUpgrade", |condition| {
                condition.message.as_deref() == Some("critical alerts fire: Broken")
            })
            .await
            .unwrap();
        assert_eq!(proxy.asked(), tunnels);
        agent.kill();
    }
}
