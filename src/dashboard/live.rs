//! The live stream of a collection: one look per tick, however many listen; no look when nobody does.

use super::shelf::Volume;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// Between two looks at a collection.
const TICK: Duration = Duration::from_millis(500);

/// Where the listeners of one collection hang.
#[derive(Default)]
pub struct Hub {
    sender: Mutex<Option<watch::Sender<Arc<str>>>>,
}

impl Hub {
    /// Listens; the first listener starts the looking. `message` makes one from the collection; `None` =
    /// nothing changed.
    pub fn listen(
        volume: &Arc<Volume>,
        message: impl Fn(&Volume) -> Option<String> + Send + 'static,
    ) -> watch::Receiver<Arc<str>> {
        let mut sender = volume.hub.sender.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(s) = sender.as_ref() {
            return s.subscribe();
        }
        let first: Arc<str> = message(volume).unwrap_or_default().into();
        let (s, receiver) = watch::channel(first);
        *sender = Some(s);
        drop(sender);
        let volume = volume.clone();
        let looking = std::thread::Builder::new().name("dashboard-live".into()).spawn(move || {
            loop {
                std::thread::sleep(TICK);
                let text = message(&volume);
                let mut sender = volume.hub.sender.lock().unwrap_or_else(PoisonError::into_inner);
                // Under the lock, so that nobody comes to listen while we leave.
                if sender.as_ref().is_none_or(|s| s.is_closed()) {
                    *sender = None;
                    return;
                }
                if let (Some(text), Some(s)) = (text, sender.as_ref()) {
                    s.send_if_modified(|old| {
                        let new = **old != *text;
                        if new {
                            *old = text.as_str().into();
                        }
                        new
                    });
                }
            }
        });
        if let Err(e) = looking {
            tracing::error!(error = %e, "no thread for the live stream");
        }
        receiver
    }

    pub fn listeners(&self) -> usize {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        sender.as_ref().map_or(0, |s| s.receiver_count())
    }
}
