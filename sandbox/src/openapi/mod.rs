//! Discovery and OpenAPI v3 documents.
