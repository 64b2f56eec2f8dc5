//! Everything behind the server's lock.

use std::sync::Arc;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;
use virtual_clock::Clock;

use super::kinds::Registry;
use super::{Call, ServedKind, ServerSettings, Status, metadata};
use crate::apply::ManagedFields;
use crate::store::{CollectionId, Key, Object, Store};

/// The letters of generated names: without vowels and letters that look alike, as the real server's.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

pub(super) struct State {
    pub(super) store: Store,
    pub(super) registry: Arc<Registry>,
    clock: Clock,
    random: ChaCha8Rng,
}

impl State {
    pub(super) fn new(settings: &ServerSettings) -> Self {
        let mut state = Self {
            store: Store::new(settings.history),
            registry: Arc::clone(settings.types.registry()),
            clock: settings.clock.clone(),
            random: ChaCha8Rng::seed_from_u64(seed_of(settings)),
        };
        let crds = CollectionId::new("apiextensions.k8s.io", "customresourcedefinitions");
        let random = &mut state.random;
        for (key, object) in settings.types.objects(&settings.clock, || uid(random)) {
            state.store.seed(&crds, key.clone(), Arc::clone(object));
        }
        state.seed_namespaces();
        state
    }

    /// The present moment, as objects carry it.
    pub(super) fn now(&self) -> String {
        metadata::time(self.clock.now())
    }

    pub(super) fn timestamp(&self) -> jiff::Timestamp {
        self.clock.now()
    }

    pub(super) fn new_uid(&mut self) -> String {
        uid(&mut self.random)
    }

    /// Five letters for the end of a generated name.
    pub(super) fn suffix(&mut self) -> String {
        (0..5)
            .map(|_| {
                let at = self.random.next_u32() as usize % ALPHABET.len();
                char::from(ALPHABET[at])
            })
            .collect()
    }

    pub(super) fn get(&self, call: &Call) -> Result<Arc<Object>, Status> {
        let object = self.live(call)?;
        match call.subresource {
            Some(super::Subresource::Scale) => super::scale::read(&call.kind, object),
            _ => Ok(self.presented(&call.kind, object)),
        }
    }

    /// The stored object that a call is about.
    pub(super) fn live(&self, call: &Call) -> Result<&Arc<Object>, Status> {
        self.store
            .get(&call.kind.collection, &call.key())
            .ok_or_else(|| Status::not_found(&call.kind, &call.name))
    }

    /// An object in the version and form of `kind`; most are stored so.
    #[expect(
        clippy::unused_self,
        reason = "conversion belongs to the state, as storage does"
    )]
    pub(super) fn presented(&self, kind: &ServedKind, object: &Arc<Object>) -> Arc<Object> {
        super::conversion::presented(kind, object)
    }

    /// A value in the form in which its kind is stored.
    pub(super) fn to_store(&self, kind: &ServedKind, value: Value) -> Value {
        let is_stored_so = kind.storage_api_version == kind.api_version();
        let storage = if is_stored_so || kind.origin == super::Origin::BuiltIn {
            None
        } else {
            self.registry.storage_of(&kind.collection).map(Arc::as_ref)
        };
        super::conversion::stored(kind, storage, value)
    }

    /// Writes an object, unless nothing is to be written.
    ///
    /// # Errors
    /// 500 for one that etcd would not take, not even without its managed fields.
    pub(super) fn write(
        &mut self,
        kind: &ServedKind,
        key: &Key,
        value: Value,
        mut managed: ManagedFields,
        dry_run: bool,
    ) -> Result<Arc<Object>, Status> {
        if dry_run {
            return Ok(Arc::new(Object::managed(value, managed, self.store.revision())));
        }
        if !crate::store::fits(&value, &managed) {
            managed = ManagedFields::default();
            if !crate::store::fits(&value, &managed) {
                return Err(Status::new(500, "", "etcdserver: request is too large"));
            }
        }
        Ok(self.store.put(&kind.collection, key, value, managed))
    }
}

fn seed_of(settings: &ServerSettings) -> u64 {
    // FNV-1a: the same on every machine and in every version.
    settings
        .name
        .bytes()
        .fold(settings.seed ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
}

fn uid(random: &mut ChaCha8Rng) -> String {
    let mut bytes = [0_u8; 16];
    random.fill_bytes(&mut bytes);
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let number = u128::from_be_bytes(bytes);
    let digits = format!("{number:032x}");
    format!(
        "{}-{}-{}-{}-{}",
        &digits[..8],
        &digits[8..12],
        &digits[12..16],
        &digits[16..20],
        &digits[20..]
    )
}
