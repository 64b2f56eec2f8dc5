//! Users of a hub, each with rights of their own, who use the same server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use drydock_dashboard::{Access, Planner, Reviews, Settings};
use drydock_sandbox::test_env::TestEnvSettings;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::BodyExt;
use kube::Client;
use kube::api::DeleteParams;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};
use tower::{ServiceExt, service_fn};

use crate::fixture::{Page, UPGRADE, json_of, path};

/// Within this time a right is gone that was taken away.
const PROMISED: Duration = Duration::from_mins(1);

type ApiRequest = Request<kube::client::Body>;
type ApiResponse = Response<kube::client::Body>;

/// What the API server says of users.
#[derive(Default)]
struct Known {
    /// The namespaces in which each may do everything, by token; none for all. The name of a user is its token.
    users: BTreeMap<String, Option<BTreeSet<String>>>,
    /// What each may list everywhere besides.
    everywhere: BTreeSet<(String, String)>,
    /// What each may not list any more.
    denied: BTreeSet<(String, String)>,
    /// No review is answered.
    silent: bool,
    /// No review is answered of a token that nobody has.
    silent_to_strangers: bool,
}

/// The users of the hub. Clones share them.
#[derive(Clone, Default)]
pub struct Users(Arc<Mutex<Known>>);

impl Users {
    pub fn allow(&self, user: &str, namespaces: Option<&[&str]>) {
        let namespaces = namespaces.map(|all| all.iter().map(|&name| name.to_owned()).collect());
        let users = &mut self.0.lock().unwrap().users;
        users.insert(user.to_owned(), namespaces);
    }

    pub fn allow_everywhere(&self, user: &str, resource: &str) {
        let everywhere = &mut self.0.lock().unwrap().everywhere;
        everywhere.insert((user.to_owned(), resource.to_owned()));
    }

    fn forget(&self, user: &str) {
        self.0.lock().unwrap().users.remove(user);
    }

    fn deny(&self, user: &str, resource: &str) {
        let denied = &mut self.0.lock().unwrap().denied;
        denied.insert((user.to_owned(), resource.to_owned()));
    }

    fn fall_silent_to_strangers(&self) {
        self.0.lock().unwrap().silent_to_strangers = true;
    }

    fn fall_silent(&self) {
        self.0.lock().unwrap().silent = true;
    }

    /// A client whose reviews are answered here, and everything else by the hub.
    fn client(&self, hub: &Client) -> Client {
        let (users, hub) = (self.clone(), hub.clone());
        let answering = service_fn(move |request: ApiRequest| {
            let (users, hub) = (users.clone(), hub.clone());
            async move { users.answer(request, &hub).await }
        });
        Client::new(answering, "default")
    }

    async fn answer(&self, request: ApiRequest, hub: &Client) -> Result<ApiResponse, kube::Error> {
        let path = request.uri().path().to_owned();
        if !path.ends_with("reviews") {
            return hub.send(request).await;
        }
        if self.0.lock().unwrap().silent {
            std::future::pending::<()>().await;
        }
        let body = request.into_body().collect().await.unwrap().to_bytes();
        let mut review: Value = serde_json::from_slice(&body).unwrap();
        let spec = &review["spec"];
        let is_stranger = {
            let known = self.0.lock().unwrap();
            let token = spec["token"].as_str();
            known.silent_to_strangers && token.is_some_and(|token| !known.users.contains_key(token))
        };
        if is_stranger {
            std::future::pending::<()>().await;
        }
        let Known {
            users,
            everywhere,
            denied,
            ..
        } = &*self.0.lock().unwrap();
        review["status"] = if path.ends_with("tokenreviews") {
            let token = spec["token"].as_str().unwrap();
            json!({"authenticated": users.contains_key(token), "user": {"username": token}})
        } else {
            let namespace = spec["resourceAttributes"]["namespace"].as_str();
            let allowed = users
                .get(spec["user"].as_str().unwrap())
                .is_some_and(|namespaces| {
                    let some = namespaces.as_ref();
                    some.is_none_or(|some| namespace.is_some_and(|namespace| some.contains(namespace)))
                });
            let user = spec["user"].as_str().unwrap().to_owned();
            let resource = spec["resourceAttributes"]["resource"].as_str().unwrap();
            let of_user = (user, resource.to_owned());
            json!({"allowed": (allowed || everywhere.contains(&of_user)) && !denied.contains(&of_user)})
        };
        Ok(Response::new(serde_json::to_vec(&review).unwrap().into()))
    }
}

/// The page of users: one who may see everything has the token of the page, and bob may see namespace `default`.
pub async fn page_of_users() -> (Page, Users) {
    page_with(None, false).await
}

/// The same with somebody who forecasts, where users may act or not.
pub async fn page_with(planner: Option<Arc<dyn Planner>>, may_act: bool) -> (Page, Users) {
    let users = Users::default();
    let known = users.clone();
    let page = Page::started(TestEnvSettings::demo(1, 7), move |settings, hub, clock| {
        let Access::Own(own) = &settings.access else {
            panic!("the page of a test is of one person");
        };
        known.allow(own.token.as_str(), None);
        let reviews = Reviews::new(known.client(hub), clock.clone(), may_act);
        Settings {
            access: Access::Reviewed(reviews),
            planner,
            ..settings
        }
    })
    .await;
    users.allow("bob", Some(&["default"]));
    (page.ready().await, users)
}

/// A request of a user.
pub fn request(page: &Page, user: &str, path: &str) -> Request<Body> {
    let mut request = page.request(Method::GET, path, "");
    let bearer = format!("Bearer {user}").parse().unwrap();
    request.headers_mut().insert(header::AUTHORIZATION, bearer);
    request
}

pub async fn get(page: &Page, user: &str, path: &str) -> (StatusCode, Value) {
    json_of(page.ask(request(page, user, path)).await).await
}

/// A page that a user has open.
async fn open(page: &Page, user: &str) -> Response<Body> {
    page.ask(request(page, user, "/api/changes")).await
}

#[tokio::test(start_paused = true)]
async fn one_user_opens_so_many_pages_and_leaves_the_others_to_others() {
    let (page, _) = page_of_users().await;
    let mut opened = Vec::new();
    for _ in 0..16 {
        let response = open(&page, "bob").await;
        assert_eq!(response.status(), StatusCode::OK);
        opened.push(response);
    }
    let (status, answer) = json_of(open(&page, "bob").await).await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS, "{answer}");
    assert!(answer["error"].as_str().unwrap().contains("16 pages"), "{answer}");
    let other = open(&page, &page.token).await;
    assert_eq!(other.status(), StatusCode::OK);
    opened.pop();
    assert_eq!(open(&page, "bob").await.status(), StatusCode::OK);
    page.end().await;
}

#[tokio::test(start_paused = true)]
async fn who_is_not_known_any_more_sees_nothing_after_a_minute() {
    for seconds in [1, 19, 24, 26, 49] {
        let (page, users) = page_of_users().await;
        // What is known of bob then is as old as it may be where the page is opened.
        assert_eq!(get(&page, "bob", "/api/session").await.0, StatusCode::OK);
        sleep(Duration::from_secs(59)).await;
        let body = open(&page, "bob").await.into_body();
        let follows = tokio::spawn(async move { body.collect().await.is_ok() });
        sleep(Duration::from_secs(seconds)).await;
        users.forget("bob");
        let revoked = Instant::now();
        assert!(follows.await.unwrap());
        assert!(revoked.elapsed() <= PROMISED, "after {seconds} seconds");
        assert_eq!(
            get(&page, "bob", "/api/session").await.0,
            StatusCode::UNAUTHORIZED
        );
        page.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn who_opens_a_page_is_asked_for_anew() {
    let (page, users) = page_of_users().await;
    assert_eq!(get(&page, "bob", "/api/session").await.0, StatusCode::OK);
    users.forget("bob");
    sleep(Duration::from_secs(21)).await;
    assert_eq!(open(&page, "bob").await.status(), StatusCode::UNAUTHORIZED);
    page.end().await;
}

/// A stream that begins says to who looks that what is shown is current.
#[tokio::test(start_paused = true)]
async fn while_the_api_server_is_silent_no_page_is_opened() {
    let (page, users) = page_of_users().await;
    assert_eq!(get(&page, "bob", "/api/session").await.0, StatusCode::OK);
    users.fall_silent();
    sleep(Duration::from_secs(21)).await;
    for address in ["/api/changes", "/api/snapshot"] {
        let response = page.ask(request(&page, "bob", address)).await;
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE, "{address}");
    }
    page.end().await;
}

/// What is in no scope, as Events and records, is on pages that are open.
#[tokio::test(start_paused = true)]
async fn a_page_that_shows_what_one_may_not_read_any_more_is_ended() {
    for seconds in [1, 24, 26, 49] {
        let (page, users) = page_of_users().await;
        page.upgrade(&["dev1"]).await;
        let detail = path("");
        let body = open(&page, "bob").await.into_body();
        let other = open(&page, &page.token).await;
        let follows = tokio::spawn(async move { body.collect().await.is_ok() });
        assert_eq!(get(&page, "bob", &detail).await.0, StatusCode::OK);
        sleep(Duration::from_secs(seconds)).await;
        users.deny("bob", "events");
        let revoked = Instant::now();
        assert!(follows.await.unwrap());
        assert!(revoked.elapsed() <= PROMISED, "after {seconds} seconds");
        let anew = open(&page, "bob").await;
        sleep(PROMISED).await;
        assert_eq!(page.dashboard.viewers(), 2, "who asks anew is not ended again");
        drop((anew, other));
        page.end().await;
    }
}

/// The first of them that hears of it says it of the others, too.
#[tokio::test(start_paused = true)]
async fn all_pages_are_ended_that_show_what_one_may_not_read_any_more() {
    let (page, users) = page_of_users().await;
    page.upgrade(&["dev1"]).await;
    let follow =
        |response: Response<Body>| tokio::spawn(async move { response.into_body().collect().await.is_ok() });
    let first = follow(open(&page, "bob").await);
    sleep(Duration::from_secs(10)).await;
    let second = follow(open(&page, "bob").await);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(get(&page, "bob", &path("")).await.0, StatusCode::OK);
    sleep(Duration::from_secs(1)).await;
    users.deny("bob", "events");
    let revoked = Instant::now();
    assert!(first.await.unwrap() && second.await.unwrap());
    assert!(revoked.elapsed() <= PROMISED);
    page.end().await;
}

#[tokio::test(start_paused = true)]
async fn strangers_keep_nobody_waiting_who_was_known_lately() {
    let (page, users) = page_of_users().await;
    assert_eq!(get(&page, "bob", "/api/session").await.0, StatusCode::OK);
    users.fall_silent_to_strangers();
    let strangers = (0..300).map(|number| {
        let asked = page.ask(request(&page, &format!("stranger-{number}"), "/api/session"));
        timeout(Duration::from_mins(3), asked)
    });
    let strangers = futures::future::join_all(strangers);
    let known = async {
        sleep(Duration::from_secs(61)).await;
        get(&page, "bob", "/api/session").await.0
    };
    let (_, known) = futures::future::join(strangers, known).await;
    assert_eq!(known, StatusCode::OK);
    page.end().await;
}

#[tokio::test(start_paused = true)]
async fn who_does_not_read_is_reviewed_too() {
    for silent in [false, true] {
        let (page, users) = page_of_users().await;
        let unread = open(&page, "bob").await;
        sleep(PROMISED).await;
        assert_eq!(page.dashboard.viewers(), 1);
        if silent {
            users.fall_silent();
        } else {
            users.forget("bob");
        }
        sleep(PROMISED).await;
        assert_eq!(page.dashboard.viewers(), 0);
        let read = unread.into_body().collect().await.unwrap();
        assert!(read.to_bytes().is_empty(), "nothing more is shown");
        page.end().await;
    }
}

/// How often a connection was ended.
static ENDED: AtomicUsize = AtomicUsize::new(0);

#[tokio::test(start_paused = true)]
async fn the_connection_of_who_does_not_read_the_end_is_ended() {
    let (page, users) = page_of_users().await;
    let router: Router = page.dashboard.router_that_ends(|_| {
        Some(Arc::new(|| {
            ENDED.fetch_add(1, Ordering::Relaxed);
        }))
    });
    let open = async || {
        let request = request(&page, "bob", "/api/changes");
        router.clone().oneshot(request).await.unwrap()
    };
    let (read, _unread) = (open().await, open().await);
    users.forget("bob");
    timeout(PROMISED, read.into_body().collect())
        .await
        .expect("it ends")
        .unwrap();
    assert_eq!(ENDED.load(Ordering::Relaxed), 0);
    sleep(PROMISED).await;
    assert_eq!(ENDED.load(Ordering::Relaxed), 1);
    page.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_has_ended_is_shown_in_a_namespace_that_has_no_upgrade_any_more() {
    let (page, _) = page_of_users().await;
    page.upgrade(&["dev1"]).await;
    sleep(Duration::from_hours(3)).await;
    let upgrades = page.upgrades();
    upgrades.delete(UPGRADE, &DeleteParams::default()).await.unwrap();
    sleep(Duration::from_mins(10)).await;
    assert!(upgrades.get_opt(UPGRADE).await.unwrap().is_none());
    let (status, history) = get(&page, "bob", "/api/history").await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(
        history["rows"][0]["upgrade"],
        format!("default/{UPGRADE}"),
        "{history}"
    );
    let (_, session) = get(&page, "bob", "/api/session").await;
    assert!(session["notice"].is_null(), "{session}");
    page.end().await;
}

/// Anybody may send tokens: each that waits takes memory.
#[tokio::test(start_paused = true)]
async fn so_many_tokens_wait_for_their_review_and_the_others_are_refused() {
    let (page, users) = page_of_users().await;
    users.fall_silent();
    let asked = (0..300).map(|number| {
        let asked = page.ask(request(&page, &format!("stranger-{number}"), "/api/session"));
        timeout(Duration::from_secs(1), asked)
    });
    let answers = futures::future::join_all(asked).await;
    let refused = answers.into_iter().flatten().map(|answer| answer.status());
    let refused: Vec<_> = refused.collect();
    assert_eq!(refused, vec![StatusCode::SERVICE_UNAVAILABLE; 300 - 256]);
    page.end().await;
}

/// What is sent and not read takes memory, too.
#[tokio::test(start_paused = true)]
async fn answers_that_a_user_does_not_read_keep_no_place_of_others_nor_their_own_for_ever() {
    let (page, _) = page_of_users().await;
    let ask = async |user: &str| {
        let asked = page.ask(request(&page, user, "/api/snapshot"));
        timeout(Duration::from_secs(1), asked).await
    };
    let mut unread = Vec::new();
    for _ in 0..16 {
        unread.push(ask("bob").await.unwrap());
    }
    assert!(ask("bob").await.is_err(), "it waits");
    assert_eq!(ask(&page.token).await.unwrap().status(), StatusCode::OK);
    unread.pop();
    assert_eq!(ask("bob").await.unwrap().status(), StatusCode::OK);
    unread.push(ask("bob").await.unwrap());
    sleep(Duration::from_mins(3)).await;
    assert_eq!(ask("bob").await.unwrap().status(), StatusCode::OK);
    page.end().await;
}
