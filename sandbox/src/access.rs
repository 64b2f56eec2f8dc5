//! What a stand-in needs of an API server: the in-memory one, or a real one.
