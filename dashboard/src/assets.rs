//! The built page, which is part of the program: `web/dist`.

use std::borrow::Cow;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use rust_embed::{Embed, EmbeddedFile};

use crate::error::ApiError;

#[derive(Embed)]
#[folder = "web/dist/"]
struct Dist;

/// Serves a file of the page.
pub(crate) async fn serve(uri: Uri, headers: HeaderMap) -> Response {
    let path = match uri.path().trim_start_matches('/') {
        "" => "index.html",
        path => path,
    };
    let content_type = content_type(path);
    match (content_type, Dist::get(path)) {
        (Some(content_type), Some(file)) => respond(path, content_type, file, &headers),
        _ => ApiError::not_found(format!("there is no {}", uri.path())).into_response(),
    }
}

/// What is served at all: never a compressed file under its own name.
fn content_type(path: &str) -> Option<&'static str> {
    Some(match path.rsplit_once('.')?.1 {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" => "application/json",
        "webmanifest" => "application/manifest+json",
        "txt" => "text/plain; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        _ => return None,
    })
}

fn respond(path: &str, content_type: &'static str, plain: EmbeddedFile, headers: &HeaderMap) -> Response {
    let compressed = accepts_gzip(headers)
        .then(|| Dist::get(&format!("{path}.gz")))
        .flatten();
    let is_compressed = compressed.is_some();
    let file = compressed.unwrap_or(plain);
    let etag = etag(&file);
    let mut response = if is_known(headers, &etag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let mut response = Response::new(Body::from(bytes_of(file.data)));
        let answer = response.headers_mut();
        answer.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        if is_compressed {
            answer.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        response
    };
    let answer = response.headers_mut();
    if let Ok(etag) = HeaderValue::from_str(&etag) {
        answer.insert(header::ETAG, etag);
    }
    answer.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    let caching = if is_hashed(path) {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    answer.insert(header::CACHE_CONTROL, HeaderValue::from_static(caching));
    response
}

/// What is part of the program is not copied.
fn bytes_of(data: Cow<'static, [u8]>) -> Bytes {
    match data {
        Cow::Borrowed(data) => Bytes::from_static(data),
        Cow::Owned(data) => data.into(),
    }
}

/// Of the bytes that are sent: the compressed and the plain file have different ones.
fn etag(file: &EmbeddedFile) -> String {
    let hash = file.metadata.sha256_hash();
    let digits: String = hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("\"{digits}\"")
}

fn is_known(headers: &HeaderMap, etag: &str) -> bool {
    let known = headers.get(header::IF_NONE_MATCH);
    let known = known.and_then(|value| value.to_str().ok()).unwrap_or_default();
    known.split(',').any(|one| {
        let one = one.trim();
        one == "*" || one.strip_prefix("W/").unwrap_or(one) == etag
    })
}

/// Whether a client takes gzip; one that gives it the weight 0 does not.
pub(crate) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter();
    let mut codings = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    codings.any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = weight.trim().strip_prefix("q=").map(str::trim);
        let is_refused = weight.is_some_and(|weight| weight.parse::<f32>().is_ok_and(|weight| weight <= 0.0));
        name.trim().eq_ignore_ascii_case("gzip") && !is_refused
    })
}

/// Whether the name of a file changes with its content, as `assets/index-DiwrgTda.js` does: the hash may have hyphens, too.
fn is_hashed(path: &str) -> bool {
    const HASH: usize = 8;
    let stem = path
        .strip_prefix("assets/")
        .and_then(|name| name.rsplit_once('.'));
    let Some((stem, _)) = stem.filter(|(stem, _)| stem.is_ascii() && stem.len() > HASH) else {
        return false;
    };
    let (name, hash) = stem.split_at(stem.len() - HASH);
    name.ends_with('-')
        && hash.contains(|letter: char| letter.is_ascii_digit() || letter.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_takes_gzip_gets_it() {
        for (said, takes) in [
            ("gzip, deflate, br", true),
            ("br;q=1.0, GZIP;q=0.8", true),
            ("gzip;q=0", false),
            ("br", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(said));
            assert_eq!(accepts_gzip(&headers), takes, "{said}");
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }

    #[test]
    fn only_names_with_a_hash_are_kept_for_ever() {
        for (path, is_kept) in [
            ("assets/index-DiwrgTda.js", true),
            ("assets/forecast-chart-BI-_M5Ws.js", true),
            ("index.html", false),
            ("assets/licenses.txt", false),
            ("assets/red-hat-text.woff2", false),
            ("assets/red-hat-text-400-normal.woff2", false),
            ("index-DiwrgTda.js", false),
        ] {
            assert_eq!(is_hashed(path), is_kept, "{path}");
        }
    }

    #[test]
    fn every_file_of_the_page_is_served_and_compressed_as_it_is() {
        for path in Dist::iter() {
            let Some(plain) = path.strip_suffix(".gz") else {
                assert!(content_type(&path).is_some(), "{path}");
                continue;
            };
            let file = |path: &str| Dist::get(path).unwrap().data;
            let mut unpacked = Vec::new();
            let packed = file(&path);
            std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&packed[..]), &mut unpacked)
                .unwrap();
            assert_eq!(unpacked, *file(plain), "{path}");
        }
    }
}
