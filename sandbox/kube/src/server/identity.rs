//! Who asks.

/// A client as the server knows it: for faults, for counting requests, and as the manager of the fields it writes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    user_agent: String,
}

impl Identity {
    /// The client that sends this user agent, for example `drydock-hub/0.1.0 (linux/amd64)`.
    pub fn new(user_agent: impl Into<String>) -> Self {
        Self {
            user_agent: user_agent.into(),
        }
    }

    /// The whole user agent.
    pub fn user_agent(&self) -> &str {
        &self.user_agent
    }

    /// The first part of the user agent, up to `/`, at most 128 bytes: the name by which requests are counted and the
    /// field manager of writes that name none. `unknown` if it is empty.
    pub fn name(&self) -> &str {
        let first = self.user_agent.split('/').next().unwrap_or_default();
        let mut end = first.len().min(128);
        while !first.is_char_boundary(end) {
            end -= 1;
        }
        if end == 0 { "unknown" } else { &first[..end] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_the_first_part_of_the_user_agent() {
        assert_eq!(Identity::new("kubectl/v1.32 (linux)").name(), "kubectl");
        assert_eq!(Identity::new("plain").name(), "plain");
        assert_eq!(Identity::new("").name(), "unknown");
        assert_eq!(Identity::new("é".repeat(100)).name().len(), 128);
        assert_eq!(Identity::new(format!("a{}", "é".repeat(100))).name().len(), 127);
    }
}
