//! The root of a foreign kind: what `kube::Api` needs to read and write it.

/// Fields of a foreign object that Drydock does not read, kept as they are.
pub type Fields = std::collections::BTreeMap<String, serde_json::Value>;

/// Defines the root type of a foreign kind: `apiVersion`, `kind`, `metadata`, and `spec` and `status` where given.
macro_rules! foreign_kind {
    (
        $(#[$attribute:meta])*
        $kind:ident, $group:literal, $version:literal, $plural:literal, $scope:ident
        $(, spec: $spec:ty)? $(, status: $status:ty)?
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        pub struct $kind {
            /// Group and version.
            pub api_version: String,
            /// The kind.
            pub kind: String,
            /// Name, labels and the like.
            pub metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
            $(
                /// What is wanted.
                pub spec: $spec,
            )?
            $(
                /// What is observed.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub status: Option<$status>,
            )?
        }

        impl Default for $kind {
            fn default() -> Self {
                Self {
                    api_version: concat!($group, "/", $version).to_owned(),
                    kind: stringify!($kind).to_owned(),
                    metadata: Default::default(),
                    $(spec: <$spec>::default(),)?
                    $(status: None::<$status>,)?
                }
            }
        }

        impl kube::core::Resource for $kind {
            type DynamicType = ();
            type Scope = kube::core::$scope;

            fn kind(&(): &()) -> std::borrow::Cow<'_, str> {
                stringify!($kind).into()
            }

            fn group(&(): &()) -> std::borrow::Cow<'_, str> {
                $group.into()
            }

            fn version(&(): &()) -> std::borrow::Cow<'_, str> {
                $version.into()
            }

            fn plural(&(): &()) -> std::borrow::Cow<'_, str> {
                $plural.into()
            }

            fn meta(&self) -> &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &mut self.metadata
            }
        }
    };
}

pub(crate) use foreign_kind;
