//! Reading runs and results. Works on a connection and inside a transaction.

use rusqlite::types::{FromSql, ToSql};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::At;
use super::error::storage;
use crate::base::ids::RunId;
use crate::base::storage::StorageError;
use crate::runs::journal::Changes;
use crate::runs::run::{ModuleReport, ResultRecord, RunSummary};
use crate::store::document::{decode, decode_reports};
use crate::store::row::{RunRow, bounds, limit};

/// The runs that `sql` selects; its columns are those of [`RunRow`].
pub(super) fn runs(
    connection: &Connection,
    sql: &str,
    values: &[&dyn ToSql],
) -> Result<Vec<RunSummary>, StorageError> {
    let mut statement = connection.prepare_cached(sql).map_err(storage)?;
    let rows = statement.query_map(values, read_run).map_err(storage)?;
    rows.map(|row| row.map_err(storage)?.into_summary()).collect()
}

fn read_run(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    Ok(RunRow {
        id: row.get(0)?,
        account: row.get(1)?,
        status: row.get(2)?,
        search_type: row.get(3)?,
        query: row.get(4)?,
        premium: row.get(5)?,
        total_results: row.get(6)?,
        progress: row.get(7)?,
        coverage: row.get(8)?,
        credits_charged: row.get(9)?,
        created_at: row.get::<_, At>(10)?.0,
        completed_at: row.get::<_, Option<At>>(11)?.map(|at| at.0),
        error: row.get(12)?,
        simulated: row.get(13)?,
        revision: row.get(14)?,
    })
}

/// Results of a run with an id above `after`, in order.
pub(super) fn results(
    connection: &Connection,
    run: RunId,
    after: u32,
    count: usize,
) -> Result<Vec<ResultRecord>, StorageError> {
    let sql = "SELECT record FROM results WHERE run = ?1 AND id > ?2 ORDER BY id LIMIT ?3";
    records(connection, sql, params![run.0, after, limit(count)])
}

/// Results of a run that were added or changed, in order.
pub(super) fn changes(
    connection: &Connection,
    run: RunId,
    changes: Changes,
    count: usize,
) -> Result<Vec<ResultRecord>, StorageError> {
    let sql = "SELECT record FROM results WHERE run = ?1 AND id > ?2 AND (revision > ?3 OR id > ?4) \
               AND revision <= ?5 ORDER BY id LIMIT ?6";
    let (since, known, until) = bounds(changes)?;
    records(connection, sql, params![run.0, changes.after, since, known, until, limit(count)])
}

fn records(
    connection: &Connection,
    sql: &str,
    values: &[&dyn ToSql],
) -> Result<Vec<ResultRecord>, StorageError> {
    let mut statement = connection.prepare_cached(sql).map_err(storage)?;
    let rows = statement.query_map(values, |row| row.get::<_, String>(0)).map_err(storage)?;
    rows.map(|row| decode(&row.map_err(storage)?)).collect()
}

/// The modules of a run that ended.
pub(super) fn reports(connection: &Connection, run: RunId) -> Result<Vec<ModuleReport>, StorageError> {
    let stored: Option<String> = column(connection, "SELECT reports FROM runs WHERE id = ?1", run)?;
    stored.map_or(Ok(Vec::new()), |text| decode_reports(&text))
}

/// The modules that were to be asked.
pub(super) fn planned(connection: &Connection, run: RunId) -> Result<Vec<String>, StorageError> {
    let stored: Option<String> = column(connection, "SELECT planned FROM runs WHERE id = ?1", run)?;
    stored.map_or(Ok(Vec::new()), |text| decode(&text))
}

fn column<T: FromSql>(connection: &Connection, sql: &str, run: RunId) -> Result<Option<T>, StorageError> {
    connection
        .prepare_cached(sql)
        .and_then(|mut statement| statement.query_row([run.0], |row| row.get(0)).optional())
        .map_err(storage)
}
