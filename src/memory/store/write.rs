//! Recording and forgetting.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

use super::super::evidence::Evidence;
use super::super::sums::{COLUMNS, Sums};
use super::super::tables::{Key, Tables, Weights};
use super::{Store, StoreError};

/// From how many pieces on it is faster to make the sums anew than to add to them.
const MANY: usize = 256;

impl Store {
    /// Records evidence; what is there already is not recorded twice. All of it or nothing. Returns how many pieces were new.
    ///
    /// # Errors
    /// Evidence with impossible values; trouble with the file.
    pub fn record(&mut self, evidence: &[Evidence]) -> Result<usize, StoreError> {
        for e in evidence {
            e.check()?;
        }
        self.change(|c| {
            let mut stale = is_stale(c)? || evidence.len() > MANY;
            let mut new = 0;
            for e in evidence {
                if insert(c, e)? {
                    new += 1;
                    stale |= !enter(c, e, stale)?;
                }
            }
            if stale && new > 0 {
                c.execute("INSERT INTO state VALUES ('stale', 1) ON CONFLICT DO UPDATE SET value = 1", [])?;
            }
            Ok(new)
        })
    }

    /// Removes all evidence of a skill, and returns how much there was. A memory that still has it brings it back when merged.
    ///
    /// # Errors
    /// Trouble with the file.
    pub fn forget(&mut self, skill: &str) -> Result<usize, StoreError> {
        self.change(|c| {
            let gone = c.execute("DELETE FROM evidence WHERE skill = ?1", [skill])?;
            if gone > 0 {
                rebuild(c)?;
            }
            Ok(gone)
        })
    }

    /// Makes the sums anew if they are stale.
    ///
    /// # Errors
    /// Trouble with the file.
    pub fn refresh(&mut self) -> Result<(), StoreError> {
        if !is_stale(&self.connection).map_err(|e| self.error(&e))? {
            return Ok(());
        }
        self.change(|c| if is_stale(c)? { rebuild(c) } else { Ok(()) })
    }

    /// One transaction that is alone in writing from its beginning, so that it cannot fail halfway for others.
    fn change<T>(&mut self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let path = self.path.clone();
        let failed = |e: rusqlite::Error| StoreError::of(&path, &e);
        let tx = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let done = work(&tx).map_err(failed)?;
        tx.commit().map_err(failed)?;
        Ok(done)
    }
}

pub(super) fn is_stale(c: &Connection) -> rusqlite::Result<bool> {
    let stale =
        c.prepare_cached("SELECT value FROM state WHERE name = 'stale'")?.query_row([], |r| r.get(0)).optional()?;
    Ok(stale.unwrap_or(0i64) != 0)
}

/// Whether the piece was not there.
fn insert(c: &Connection, e: &Evidence) -> rusqlite::Result<bool> {
    let sql = "INSERT OR IGNORE INTO evidence (id, run, started, step, origin, direction, skill, content)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    // Checked evidence always serialises.
    let content = serde_json::to_string(e).unwrap_or_default();
    let started = e.started as i64;
    let values = params![e.id(), e.run, started, e.step, e.from(), e.direction, e.skill, content];
    Ok(c.prepare_cached(sql)?.execute(values)? == 1)
}

/// Adds a new piece to the sums, unless its run changes the weights of others; then false.
fn enter(c: &Connection, e: &Evidence, stale: bool) -> rusqlite::Result<bool> {
    if stale {
        return Ok(false);
    }
    let started = e.started as i64;
    let known: Option<(i64, i64)> = c
        .prepare_cached("SELECT started, place FROM runs WHERE run = ?1")?
        .query_row([&e.run], |r| Ok((r.get(0)?, r.get(1)?)))
        .optional()?;
    let last: Option<(i64, String, i64)> = c
        .prepare_cached("SELECT started, run, place FROM runs ORDER BY started DESC, run DESC LIMIT 1")?
        .query_row([], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))
        .optional()?;
    let runs = last.as_ref().map_or(0, |l| l.2 as usize + 1);
    let (place, runs) = match known {
        Some((known, place)) if known <= started => (place as usize, runs),
        Some(_) => return Ok(false),
        None => {
            let later = last.is_none_or(|(s, r, _)| (s, r.as_str()) < (started, e.run.as_str()));
            if !later || Weights::base(runs + 1) != Weights::base(runs) {
                return Ok(false);
            }
            c.prepare_cached("INSERT INTO runs VALUES (?1, ?2, ?3)")?.execute(params![e.run, started, runs as i64])?;
            (runs, runs + 1)
        }
    };
    let one = Sums::of(e.outcome, Weights::of(place, runs));
    let mut add = c.prepare_cached(&upsert(true))?;
    Key::of(e).iter().try_for_each(|key| put(&mut add, key, &one))?;
    Ok(true)
}

fn upsert(adding: bool) -> String {
    let places: Vec<String> = (1..=4 + COLUMNS.len()).map(|i| format!("?{i}")).collect();
    let insert = format!("INSERT INTO sums VALUES ({})", places.join(", "));
    if !adding {
        return insert;
    }
    let sets: Vec<String> = COLUMNS.iter().map(|c| format!("{c} = {c} + excluded.{c}")).collect();
    format!("{insert} ON CONFLICT DO UPDATE SET {}", sets.join(", "))
}

fn put(statement: &mut rusqlite::CachedStatement, key: &Key, sums: &Sums) -> rusqlite::Result<()> {
    let kind = key.kind.as_str();
    let mut values: Vec<&dyn rusqlite::ToSql> = vec![&kind, &key.context, &key.a, &key.b];
    let columns = sums.columns();
    values.extend(columns.iter().map(|c| c as &dyn rusqlite::ToSql));
    statement.execute(values.as_slice()).map(|_| ())
}

/// Makes runs and sums from the evidence.
pub(super) fn rebuild(c: &Connection) -> rusqlite::Result<()> {
    let tables = fresh(c)?;
    c.execute_batch("DELETE FROM runs; DELETE FROM sums;")?;
    let mut run = c.prepare_cached("INSERT INTO runs VALUES (?1, ?2, ?3)")?;
    for (place, (name, started)) in tables.runs.iter().enumerate() {
        run.execute(params![name, started as i64, place as i64])?;
    }
    let mut statement = c.prepare_cached(&upsert(false))?;
    for (key, sums) in &tables.sums {
        put(&mut statement, key, sums)?;
    }
    c.execute("INSERT INTO state VALUES ('stale', 0) ON CONFLICT DO UPDATE SET value = 0", [])?;
    Ok(())
}

/// Sums over the evidence as it stands, without a look at those that are kept. What cannot be read is left out; `doctor`
/// names it.
pub(super) fn fresh(c: &Connection) -> rusqlite::Result<Tables> {
    let mut statement = c.prepare_cached("SELECT content FROM evidence")?;
    let mut rows = statement.query([])?;
    let mut all: Vec<Evidence> = vec![];
    while let Some(row) = rows.next()? {
        let text = row.get_ref(0)?.as_str().unwrap_or("");
        all.extend(serde_json::from_str::<Evidence>(text).ok());
    }
    Ok(Tables::of(&all))
}

/// The sums as they are kept.
pub(super) fn kept(c: &Connection) -> rusqlite::Result<BTreeMap<Key, Sums>> {
    let mut statement = c.prepare_cached("SELECT * FROM sums")?;
    let mut rows = statement.query([])?;
    let mut sums = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let Some(kind) = super::super::Kind::parse(row.get_ref(0)?.as_str().unwrap_or("")) else { continue };
        let key = Key { kind, context: row.get(1)?, a: row.get(2)?, b: row.get(3)? };
        sums.insert(key, super::read::columns(row, 4)?);
    }
    Ok(sums)
}
