//! Who a finding is (insights.md, section 1.4): the informer, the scope and the uid together. The order in which a payload names pools and
//! objects does not matter, and two informers may use one uid.

use std::fmt::Write;

use drydock_api::insights::Scope;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::{Digest, Sha256};

use crate::informer_name::InformerName;

/// What is encoded in a part: everything but the unreserved characters of RFC 3986, so that no separator is left.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// How many bytes of the digest a UUID has.
const UUID_BYTES: usize = 16;

/// The full identity of a finding, as text: `informer/scope/pools/resources/uid`. The parts of a pool or an object are joined by
/// colons, several of them by commas, in order.
pub fn canonical(informer: &InformerName, scope: &Scope, uid: &str) -> String {
    let pools = scope.worker_pool.iter().map(|pool| {
        let namespace = pool.namespace.as_deref().unwrap_or_default();
        parts(&[&pool.kind, namespace, &pool.name])
    });
    let resources = scope.resources.iter().map(|resource| {
        let group = resource.group.as_deref().unwrap_or_default();
        let namespace = resource.namespace.as_deref().unwrap_or_default();
        parts(&[group, &resource.kind, namespace, &resource.name])
    });
    [
        encode(informer.as_str()),
        scope.scope_type.as_str().to_owned(),
        in_order(pools),
        in_order(resources),
        encode(uid),
    ]
    .join("/")
}

/// The identity of a finding, short enough for a key: 32 hexadecimal digits.
pub fn uuid(informer: &InformerName, scope: &Scope, uid: &str) -> String {
    digest(&canonical(informer, scope, uid))
}

/// A digest of a text: 32 hexadecimal digits.
pub(crate) fn digest(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let mut digits = String::with_capacity(2 * UUID_BYTES);
    for byte in digest.iter().take(UUID_BYTES) {
        // Writing to a String cannot fail.
        let _written = write!(digits, "{byte:02x}");
    }
    digits
}

fn parts(parts: &[&str]) -> String {
    let encoded: Vec<_> = parts.iter().map(|part| encode(part)).collect();
    encoded.join(":")
}

fn in_order(elements: impl Iterator<Item = String>) -> String {
    let mut elements: Vec<_> = elements.collect();
    elements.sort();
    elements.dedup();
    elements.join(",")
}

fn encode(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

#[cfg(test)]
mod tests;
