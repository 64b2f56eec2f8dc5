//! A panic in one object's reconcile becomes that object's error: it must not take the other objects' controller down.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use thiserror::Error;

/// Something panicked.
#[derive(Debug, Error)]
#[error("a fault of the program, not of the object: {message}; please report it")]
pub struct Panicked {
    /// What the panic said.
    pub message: String,
}

/// Runs `future`; a panic inside becomes an error.
///
/// # Errors
/// If `future` panics.
pub async fn catch_panic<T>(future: impl Future<Output = T>) -> Result<T, Panicked> {
    AssertUnwindSafe(future)
        .catch_unwind()
        .await
        .map_err(|payload| Panicked {
            message: text(payload.as_ref()),
        })
}

fn text(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panic without a message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_error_with_its_message() {
        let error = catch_panic(async { panic!("dev{}", 3) })
            .await
            .expect_err("it panicked");
        assert!(error.to_string().contains("dev3"), "{error}");
        assert_eq!(catch_panic(async { 7 }).await.expect("no panic"), 7);
    }
}
