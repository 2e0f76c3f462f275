//! A pooler between us and the database, as PgBouncer: may it be there?
//!
//! In session mode it may: a connection of ours has one of the server's as long as it is open. In transaction
//! or statement mode it lends one out for each transaction, and what belongs to a session (prepared
//! statements, the time after which a silent transaction is ended, the lock under which tables are made) is
//! somebody else's the next time. That goes well for a while and then fails anywhere, so it is looked for at
//! the start.

use super::db::{Line, value};
use std::time::Duration;
use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error};
use types::Problem;

/// A pooler without a connection to spare makes the second one wait; then nothing is found out.
const PATIENCE: Duration = Duration::from_secs(3);
const SESSION: &str = "SELECT pg_backend_pid()";

pub(super) const HINT: &str = "set `pool_mode = session` for this database in the pooler (PgBouncer), or connect to PostgreSQL itself; see docs/scale.md";

/// Does the server's connection change under ours? Then a pooler lends them out by the transaction.
pub(super) async fn lends_sessions(line: &Line, client: &Client) -> bool {
    let looked = timeout(PATIENCE, look(line, client)).await;
    matches!(looked, Ok(Ok(true)))
}

/// Two of our connections that meet in the same session, or one that is in another session than before while
/// the other one is in a transaction.
async fn look(line: &Line, client: &Client) -> Result<bool, Error> {
    let other = line.open_plain().await?;
    let before = value(client, SESSION).await?;
    match other.batch_execute("BEGIN").await {
        // No transaction at all: statement mode.
        Err(e) if e.as_db_error().is_some() => return Ok(true),
        begun => begun?,
    }
    let theirs = value(&other, SESSION).await?;
    let after = value(client, SESSION).await?;
    other.batch_execute("ROLLBACK").await?;
    Ok(before.is_some() && (theirs == before || after != before))
}

/// Errors that a statement has whose session is not the one that prepared it.
pub(super) fn is_sign(code: &SqlState) -> bool {
    [SqlState::INVALID_SQL_STATEMENT_NAME, SqlState::DUPLICATE_PSTATEMENT].contains(code)
}

pub(super) fn problem(place: &str) -> Problem {
    Problem::new(format!("the PostgreSQL database {place} cannot be used through this pooler"))
        .because("it lends its connections out by the transaction, and prepared statements and settings belong to a session")
        .hint(HINT)
}
