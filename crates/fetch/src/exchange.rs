//! One request and its answer on one connection, under the clock.

use crate::pool::{Conn, NoBody, Sender};
use crate::stream::Flood;
use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::{Request, Response};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep};
use types::Failure;

/// Total, idle and pace limits on one timer. Progress only notes the time; the timer is set again when it
/// fires, because that is rarer than progress. Each look compares with the clock: a server that always has
/// something to read uses up the task's budget (tokio's coop), and then a timer never says that it has fired.
pub(crate) struct Timer {
    deadline: Instant,
    idle: Duration,
    progress: Instant,
    pace: Pace,
    sleep: Pin<Box<Sleep>>,
}

/// The least that a body must bring in each stretch of time, from its first byte on.
#[derive(Clone, Copy)]
pub(crate) struct Pace {
    /// Bytes per second; 0 = any pace will do.
    pub least: u64,
    pub window: Duration,
    /// When the present stretch began, and what came since.
    since: Option<Instant>,
    bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LateKind {
    Total,
    Idle,
    Slow,
}

impl Pace {
    pub fn new(least: u64, window: Duration) -> Pace {
        Pace { least, window, since: None, bytes: 0 }
    }

    /// Would so many bytes in this time be too few?
    pub fn is_slow(&self, bytes: u64, time: Duration) -> bool {
        (bytes as f64) < self.least as f64 * time.as_secs_f64()
    }

    fn moved(&mut self, bytes: u64, now: Instant) {
        if self.least > 0 {
            self.since.get_or_insert(now);
            self.bytes += bytes;
        }
    }

    fn ends(&self) -> Option<Instant> {
        self.since.map(|since| since + self.window)
    }

    /// Was the stretch that ended too slow? Else the next one begins.
    fn check(&mut self, now: Instant) -> bool {
        if self.ends().is_none_or(|end| now < end) {
            return false;
        }
        let time = self.since.map_or(Duration::ZERO, |since| now - since);
        let slow = self.is_slow(self.bytes, time);
        (self.since, self.bytes) = (Some(now), 0);
        slow
    }
}

impl Timer {
    pub fn new(deadline: Instant, idle: Duration, pace: Pace) -> Timer {
        let progress = Instant::now();
        let sleep = Box::pin(tokio::time::sleep_until(deadline.min(progress + idle)));
        Timer { deadline, idle, progress, pace, sleep }
    }

    pub fn progress(&mut self) {
        self.progress = Instant::now();
    }

    /// So many bytes of the body came. Too late all the same?
    fn moved(&mut self, bytes: usize) -> Option<LateKind> {
        let now = Instant::now();
        self.progress = now;
        self.pace.moved(bytes as u64, now);
        self.late(now)
    }

    fn late(&mut self, now: Instant) -> Option<LateKind> {
        if now >= self.deadline {
            Some(LateKind::Total)
        } else if now >= self.progress + self.idle {
            Some(LateKind::Idle)
        } else {
            self.pace.check(now).then_some(LateKind::Slow)
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<LateKind> {
        loop {
            if let Some(late) = self.late(Instant::now()) {
                return Poll::Ready(late);
            }
            let silence_ends = self.progress + self.idle;
            let next = self.deadline.min(silence_ends).min(self.pace.ends().unwrap_or(silence_ends));
            if self.sleep.deadline() > next {
                self.sleep.as_mut().reset(next);
            }
            if self.sleep.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            self.sleep.as_mut().reset(next);
        }
    }
}

pub(crate) enum NoHead {
    Late(LateKind),
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
    Late(LateKind),
    Failed(hyper::Error),
}

/// The next piece of the body.
pub(crate) async fn piece(conn: &mut Conn, body: &mut Incoming, timer: &mut Timer) -> Piece {
    poll_fn(|cx| {
        // The body asks, the connection brings, the body takes: in this order one wake-up is enough.
        for round in 0..2 {
            match Pin::new(&mut *body).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    // Trailers are of no use here.
                    let Ok(data) = frame.into_data() else { return Poll::Ready(Piece::End) };
                    return Poll::Ready(match timer.moved(data.len()) {
                        Some(late) => Piece::Late(late),
                        None => Piece::Data(data),
                    });
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

/// What kind of failure an error of the connection is.
pub(crate) fn failure(e: &hyper::Error) -> Failure {
    let text = types::with_causes(e);
    if e.is_parse_too_large() || is_flood(e) { Failure::TooLarge(text) } else { Failure::Protocol(text) }
}

/// Did the server use up what it may send for nothing?
pub(crate) fn is_flood(e: &hyper::Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(e);
    while let Some(e) = cause {
        let inner = e.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        if inner.is_some_and(|inner| inner.is::<Flood>()) {
            return true;
        }
        cause = e.source();
    }
    false
}
