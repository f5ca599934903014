//! Ends a reply from another thread.

use std::sync::Arc;

use tokio::sync::watch;

/// A switch that ends a running reply; clones are the same switch.
///
/// It interrupts a wait, a connect and a stream at once. Once triggered it stays
/// so: a reply that is asked for later ends at once.
#[derive(Debug, Clone)]
pub struct Cancel(Arc<watch::Sender<bool>>);

impl Cancel {
    /// Makes a switch that is not triggered.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    /// Ends every reply that was given this switch, now and later.
    pub fn trigger(&self) {
        self.0.send_replace(true);
    }

    /// Says whether [`trigger`](Self::trigger) was called.
    #[must_use]
    pub fn is_triggered(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until the switch is triggered.
    pub(crate) async fn triggered(&self) {
        let mut receiver = self.0.subscribe();
        receiver.wait_for(|triggered| *triggered).await.expect("invariant: self is a sender");
    }
}

impl Default for Cancel {
    fn default() -> Self {
        Self::new()
    }
}
