//! A real Prometheus (Debian's package) that scrapes pages of metrics, and is asked what expressions come to.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::routing::get;
use http::{Method, Request, header};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

use crate::control_plane::free_port;
use crate::monitoring::{plain, until_ready};
use crate::process::{Process, Workplace};

/// What is scraped one after another from one program; the last page again and again.
struct Pages {
    pages: Vec<String>,
    served: AtomicUsize,
}

/// A Prometheus that has scraped.
pub struct Scraped {
    address: String,
    processes: Vec<Process>,
    servers: Vec<AbortHandle>,
    _workplace: Workplace,
}

impl Scraped {
    /// Scrapes these programs each second, as targets of a service of this name, until each has given its last page twice.
    ///
    /// # Errors
    /// If Prometheus is missing (package `prometheus`), does not start, or cannot read a page.
    pub async fn pages(service: &str, programs: &[Vec<String>]) -> anyhow::Result<Self> {
        let mut servers = Vec::new();
        let mut targets = Vec::new();
        let mut all = Vec::new();
        for pages in programs {
            let pages = Arc::new(Pages {
                pages: pages.clone(),
                served: AtomicUsize::new(0),
            });
            let router = Router::new()
                .route("/metrics", get(page))
                .with_state(Arc::clone(&pages));
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            targets.push(listener.local_addr()?.to_string());
            let server = tokio::spawn(async move { axum::serve(listener, router).await });
            servers.push(server.abort_handle());
            all.push(pages);
        }
        let settings = json!({
            "global": {"scrape_interval": "1s"},
            "scrape_configs": [{
                "job_name": "pages", "static_configs": [{"targets": targets, "labels": {"service": service}}],
            }],
        });
        let workplace = Workplace::new("scraped")?;
        let settings = workplace.write("prometheus.yaml", &settings.to_string())?;
        let port = free_port()?;
        let prometheus = workplace.start(
            "prometheus",
            Command::new("prometheus")
                .arg(format!("--config.file={}", settings.display()))
                .arg(format!(
                    "--storage.tsdb.path={}",
                    workplace.folder().join("data").display()
                ))
                .arg(format!("--web.listen-address=127.0.0.1:{port}")),
        )?;
        let scraped = Self {
            address: format!("http://127.0.0.1:{port}"),
            processes: vec![prometheus],
            servers,
            _workplace: workplace,
        };
        until_ready(&scraped.address, &scraped.processes).await?;
        scraped.until_all_are_scraped(&all).await?;
        Ok(scraped)
    }

    async fn until_all_are_scraped(&self, all: &[Arc<Pages>]) -> anyhow::Result<()> {
        let mut looks = tokio::time::interval(Duration::from_millis(100));
        for _ in 0..600 {
            looks.tick().await;
            let are_served = all
                .iter()
                .all(|pages| pages.served.load(Ordering::Relaxed) > pages.pages.len());
            let up = self.ask("sum(up)").await?;
            let is_up = up
                .first()
                .is_some_and(|sum| sum["value"][1] == all.len().to_string().as_str());
            if are_served && is_up {
                return Ok(());
            }
        }
        bail!(
            "not every page is scraped within a minute: {:?}",
            self.ask("up").await?
        )
    }

    /// The series that an expression comes to now.
    ///
    /// # Errors
    /// If Prometheus refuses the expression.
    pub async fn ask(&self, expression: &str) -> anyhow::Result<Vec<Value>> {
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("query", expression)
            .finish();
        let request = Request::builder()
            .method(Method::POST)
            .uri(format!("{}/api/v1/query", self.address))
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Body::from(query))?;
        let body = plain().request(request).await?.into_body().collect().await?;
        let answer: Value = serde_json::from_slice(&body.to_bytes())?;
        let result = answer["data"]["result"].as_array();
        result
            .cloned()
            .with_context(|| format!("asking {expression:?}: {answer}"))
    }
}

impl Drop for Scraped {
    fn drop(&mut self) {
        self.servers.iter().for_each(AbortHandle::abort);
        self.processes.iter_mut().for_each(Process::kill);
    }
}

async fn page(State(pages): State<Arc<Pages>>) -> String {
    let number = pages.served.fetch_add(1, Ordering::Relaxed);
    let last = pages.pages.len().saturating_sub(1);
    pages.pages.get(number.min(last)).cloned().unwrap_or_default()
}
