//! Objects without a spec: the original's definitions accept them, but for UpgradeConfig.

/// Reads a spec that may be absent: it is the default then. The fields are given with the attributes that they need to be read.
macro_rules! default_if_absent {
    ($spec:ident { $($(#[$attribute:meta])* $field:ident: $type:ty),* $(,)? }) => {
        /// The spec as it is read.
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct SpecOnTheWire {
            $($(#[$attribute])* $field: $type,)*
        }

        impl From<Option<SpecOnTheWire>> for $spec {
            fn from(spec: Option<SpecOnTheWire>) -> Self {
                match spec {
                    Some(SpecOnTheWire { $($field),* }) => Self { $($field),* },
                    None => Self::default(),
                }
            }
        }
    };
}

pub(super) use default_if_absent;
