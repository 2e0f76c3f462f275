//! One request and its answer on one connection, under the clock.

use crate::pool::{Conn, NoBody, Sender};
use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::{Request, Response};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep};
use types::Failure;

/// Total and idle limits on one timer. Progress only notes the time; the timer is set again when it fires, because
/// that is rarer than progress.
pub(crate) struct Timer {
    deadline: Instant,
    idle: Duration,
    progress: Instant,
    sleep: Pin<Box<Sleep>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Late {
    Total,
    Idle,
}

impl Timer {
    pub fn new(deadline: Instant, idle: Duration) -> Timer {
        let progress = Instant::now();
        let sleep = Box::pin(tokio::time::sleep_until(deadline.min(progress + idle)));
        Timer { deadline, idle, progress, sleep }
    }

    pub fn progress(&mut self) {
        self.progress = Instant::now();
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Late> {
        loop {
            if self.sleep.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            let now = Instant::now();
            if now >= self.deadline {
                return Poll::Ready(Late::Total);
            }
            let silence_ends = self.progress + self.idle;
            if now >= silence_ends {
                return Poll::Ready(Late::Idle);
            }
            self.sleep.as_mut().reset(self.deadline.min(silence_ends));
        }
    }
}

pub(crate) enum NoHead {
    Late(Late),
    Failed(hyper::Error),
}

/// Sends the request and waits for the head of the answer.
pub(crate) async fn head(
    conn: &mut Conn,
    request: Request<NoBody>,
    timer: &mut Timer,
) -> Result<Response<Incoming>, NoHead> {
    let settle = |done: Result<_, hyper::Error>| Poll::Ready(done.map_err(NoHead::Failed));
    match &mut conn.sender {
        Sender::H1 { sender, driver } => {
            let mut answer = pin!(sender.send_request(request));
            poll_fn(|cx| {
                driver.poll(cx);
                if let Poll::Ready(done) = answer.as_mut().poll(cx) {
                    return settle(done);
                }
                timer.poll(cx).map(|late| Err(NoHead::Late(late)))
            })
            .await
        }
        Sender::H2 { sender } => {
            let mut answer = pin!(sender.send_request(request));
            poll_fn(|cx| {
                if let Poll::Ready(done) = answer.as_mut().poll(cx) {
                    return settle(done);
                }
                timer.poll(cx).map(|late| Err(NoHead::Late(late)))
            })
            .await
        }
    }
}

pub(crate) enum Piece {
    Data(Bytes),
    End,
    Late(Late),
    Failed(hyper::Error),
}

/// The next piece of the body.
pub(crate) async fn piece(conn: &mut Conn, body: &mut Incoming, timer: &mut Timer) -> Piece {
    poll_fn(|cx| {
        // The body asks, the connection brings, the body takes: in this order one wake-up is enough.
        for round in 0..2 {
            match Pin::new(&mut *body).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    timer.progress();
                    // Trailers are of no use here.
                    return Poll::Ready(frame.into_data().map_or(Piece::End, Piece::Data));
                }
                Poll::Ready(Some(Err(e))) => return Poll::Ready(Piece::Failed(e)),
                Poll::Ready(None) => return Poll::Ready(Piece::End),
                Poll::Pending => {}
            }
            if round == 0
                && let Sender::H1 { driver, .. } = &mut conn.sender
            {
                driver.poll(cx);
            }
        }
        timer.poll(cx).map(Piece::Late)
    })
    .await
}

/// What kind of failure an error before the head is.
pub(crate) fn failure(e: &hyper::Error) -> Failure {
    let text = types::with_causes(e);
    if e.is_parse_too_large() { Failure::TooLarge(text) } else { Failure::Protocol(text) }
}
