//! What the policy and people read.

use std::collections::BTreeMap;

use rusqlite::Row;

use super::super::context::Context;
use super::super::evidence::Evidence;
use super::super::snapshot::Snapshot;
use super::super::sums::{COLUMNS, Sums};
use super::super::tables::{Key, Tables, Weights};
use super::{Store, StoreError};
use crate::skill::Directions;

/// Which evidence is asked for; all conditions must hold.
#[derive(Clone, Copy, Debug, Default)]
pub struct About<'a> {
    /// The direction before; `Some("")` is the start of a run.
    pub from: Option<&'a str>,
    pub direction: Option<&'a str>,
    pub skill: Option<&'a str>,
}

impl Store {
    /// What [`crate::policy::choose`] needs: a context, the last directions ("" at the start), the bottleneck's word or "",
    /// and the skills that are legal, each with its direction.
    ///
    /// # Errors
    /// Trouble with the file.
    pub fn snapshot<'d>(
        &mut self,
        directions: &'d Directions,
        context: &Context,
        froms: &[&str],
        bottleneck: &str,
        skills: &[(&str, &str)],
    ) -> Result<Snapshot<'d>, StoreError> {
        self.refresh()?;
        let keys = Snapshot::keys(directions, context, froms, bottleneck, skills);
        self.reading(|c| {
            let mut sums = BTreeMap::new();
            let mut statement =
                c.prepare_cached("SELECT * FROM sums WHERE kind = ?1 AND context = ?2 AND a = ?3 AND b = ?4")?;
            for key in keys {
                let mut rows = statement.query([key.kind.as_str(), &key.context, &key.a, &key.b])?;
                let found = rows.next()?.map(|row| columns(row, 4)).transpose()?;
                if let Some(found) = found {
                    sums.insert(key, found);
                }
            }
            Ok(Snapshot::of_sums(directions, sums, Weights::unit(runs(c)?)))
        })
    }

    /// All sums, and the weight of the latest run.
    ///
    /// # Errors
    /// Trouble with the file.
    pub fn sums(&mut self) -> Result<(BTreeMap<Key, Sums>, i64), StoreError> {
        self.refresh()?;
        self.reading(|c| Ok((super::write::kept(c)?, Weights::unit(runs(c)?))))
    }

    /// Evidence in its order: by start and name of the run, and by step. Rows that cannot be read are left out.
    ///
    /// # Errors
    /// Trouble with the file.
    pub fn evidence(&self, about: About) -> Result<Vec<Evidence>, StoreError> {
        let sql = "SELECT content FROM evidence
                   WHERE (?1 IS NULL OR origin = ?1) AND (?2 IS NULL OR direction = ?2) AND (?3 IS NULL OR skill = ?3)
                   ORDER BY started, run, step, id";
        self.reading(|c| {
            let mut statement = c.prepare_cached(sql)?;
            let mut rows = statement.query([about.from, about.direction, about.skill])?;
            let mut all = vec![];
            while let Some(row) = rows.next()? {
                all.extend(serde_json::from_str(row.get_ref(0)?.as_str().unwrap_or("")).ok());
            }
            Ok(all)
        })
    }

    /// How many pieces of evidence, and how many runs with any.
    ///
    /// # Errors
    /// Trouble with the file.
    pub fn counts(&self) -> Result<(u64, u64), StoreError> {
        self.reading(|c| {
            let one = |sql: &str| c.query_row(sql, [], |r| r.get::<_, i64>(0)).map(|n| n as u64);
            Ok((one("SELECT count(*) FROM evidence")?, one("SELECT count(DISTINCT run) FROM evidence")?))
        })
    }

    /// One transaction, so that all that is read belongs together.
    pub(super) fn reading<T>(
        &self,
        work: impl FnOnce(&rusqlite::Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let tx = self.connection.unchecked_transaction().map_err(|e| self.error(&e))?;
        work(&tx).map_err(|e| self.error(&e))
    }
}

/// How many runs there are, by the place of the last.
pub(super) fn runs(c: &rusqlite::Connection) -> rusqlite::Result<usize> {
    let mut statement = c.prepare_cached("SELECT place FROM runs ORDER BY started DESC, run DESC LIMIT 1")?;
    let mut rows = statement.query([])?;
    let last: Option<i64> = rows.next()?.map(|r| r.get(0)).transpose()?;
    Ok(last.map_or(0, |l| l as usize + 1))
}

pub(super) fn columns(row: &Row, from: usize) -> rusqlite::Result<Sums> {
    let mut columns = [0; COLUMNS.len()];
    for (i, c) in columns.iter_mut().enumerate() {
        *c = row.get(from + i)?;
    }
    Ok(Sums::of_columns(columns))
}

/// The runs with their places, as they are kept, for `doctor`.
pub(super) fn places(c: &rusqlite::Connection) -> rusqlite::Result<Vec<(String, u64)>> {
    let mut statement = c.prepare("SELECT run, started FROM runs ORDER BY place")?;
    let rows = statement.query_map([], |r| Ok((r.get(0)?, r.get::<_, i64>(1)? as u64)))?;
    rows.collect()
}

/// The same of tables that were made anew.
pub(super) fn places_of(tables: &Tables) -> Vec<(String, u64)> {
    tables.runs.iter().map(|(r, s)| (r.to_owned(), s)).collect()
}
