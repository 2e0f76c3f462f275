//! The thread that makes segments of pages while the crawl goes on.

use super::segment::{Document, Pages};
use super::{Fields, analyzer};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::thread::JoinHandle;
use tantivy::TantivyError;
use tantivy::index::SegmentMeta;

/// Batches that may wait for the thread; then whoever brings another waits, too.
const WAITING: usize = 8;

enum Order {
    Add(Vec<Document>),
    /// All pages so far are wanted as segments.
    Finish(Sender<Vec<SegmentMeta>>),
}

pub(super) struct Worker {
    orders: Option<SyncSender<Order>>,
    thread: Option<JoinHandle<Result<(), TantivyError>>>,
}

impl Worker {
    /// A segment is written whenever its pages take so much memory.
    pub fn start(index: tantivy::Index, fields: Fields, memory: usize) -> Result<Worker, TantivyError> {
        let (orders, received) = mpsc::sync_channel(WAITING);
        let thread = std::thread::Builder::new()
            .name("gleaner-index".into())
            .spawn(move || obey(&index, fields, memory, &received))?;
        Ok(Worker { orders: Some(orders), thread: Some(thread) })
    }

    pub fn add(&mut self, pages: Vec<Document>) -> Result<(), TantivyError> {
        self.order(Order::Add(pages))
    }

    /// The segments of all pages that were added since the last time. They are kept from the index's clean-up
    /// for as long as somebody holds these descriptions.
    pub fn finish(&mut self) -> Result<Vec<SegmentMeta>, TantivyError> {
        let (reply, segments) = mpsc::channel();
        self.order(Order::Finish(reply))?;
        segments.recv().map_err(|_| self.why_ended())
    }

    fn order(&mut self, order: Order) -> Result<(), TantivyError> {
        match self.orders.as_ref().map(|orders| orders.send(order)) {
            Some(Ok(())) => Ok(()),
            _ => Err(self.why_ended()),
        }
    }

    fn why_ended(&mut self) -> TantivyError {
        self.orders = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(Err(why))) => why,
            _ => TantivyError::ErrorInThread("the thread that writes the index ended".into()),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // What was not finished is given up.
            let _ = thread.join();
        }
    }
}

fn obey(
    index: &tantivy::Index,
    fields: Fields,
    memory: usize,
    orders: &Receiver<Order>,
) -> Result<(), TantivyError> {
    let mut pages = Pages::new(index, fields, analyzer());
    let mut segments = Vec::new();
    for order in orders {
        match order {
            Order::Add(batch) => {
                batch.iter().for_each(|page| pages.add(page));
                if pages.memory() >= memory {
                    segments.push(pages.write(index)?);
                }
            }
            Order::Finish(reply) => {
                if !pages.is_empty() {
                    segments.push(pages.write(index)?);
                }
                let _ = reply.send(std::mem::take(&mut segments));
            }
        }
    }
    Ok(())
}
