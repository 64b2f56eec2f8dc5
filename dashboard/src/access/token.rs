//! The token by which a browser on a person's own machine is known.

use std::sync::Arc;

use ring::rand::{SecureRandom, SystemRandom};
use subtle::ConstantTimeEq;

/// How many random bytes a token has.
const TOKEN_BYTES: usize = 32;

/// No random bytes can be had.
#[derive(Debug, thiserror::Error)]
#[error("the system gives no random bytes, of which a token is made")]
pub struct TokenError;

/// What a browser must know to be answered.
#[derive(Clone)]
pub struct Token(Arc<str>);

impl Token {
    /// A token that nobody can guess.
    ///
    /// # Errors
    /// If the system gives no random bytes.
    pub fn random() -> Result<Self, TokenError> {
        let mut bytes = [0; TOKEN_BYTES];
        SystemRandom::new().fill(&mut bytes).map_err(|_| TokenError)?;
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self(digits.into()))
    }

    /// The token as text, for the link.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the token, in a time that says nothing about how much of it is right.
    pub(super) fn is(&self, other: &str) -> bool {
        self.0.as_bytes().ct_eq(other.as_bytes()).into()
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_itself_alone_and_is_not_printed() {
        let token = Token::random().unwrap();
        assert_eq!(token.as_str().len(), 2 * TOKEN_BYTES);
        assert!(token.is(token.as_str()));
        for other in ["", "x", &token.as_str()[1..], Token::random().unwrap().as_str()] {
            assert!(!token.is(other));
        }
        assert_eq!(format!("{token:?}"), "Token");
    }
}
