//! Whether the file is whole, and whether its sums are those of its evidence.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::super::evidence::Evidence;
use super::{Store, StoreError, open, read, write};

/// What an examination found.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Findings {
    /// What the database says of its own pages and indexes.
    pub database: Vec<String>,
    /// Evidence whose content is not that of its id.
    pub changed: Vec<String>,
    /// Sums that are not those of the evidence.
    pub sums: Vec<String>,
    /// Whether the sums were stale, so that nothing could be compared.
    pub stale: bool,
}

impl Findings {
    pub fn is_sound(&self) -> bool {
        self.database.is_empty() && self.changed.is_empty() && self.sums.is_empty()
    }
}

impl Store {
    /// Examines the whole file; changes nothing.
    ///
    /// # Errors
    /// Trouble with the file other than damage.
    pub fn examine(&self) -> Result<Findings, StoreError> {
        let found = self.reading(|c| {
            let mut found = Findings { stale: write::is_stale(c)?, ..Findings::default() };
            let mut check = c.prepare("PRAGMA integrity_check(20)")?;
            let said = check.query_map([], |r| r.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()?;
            found.database.extend(said.into_iter().filter(|s| s != "ok"));
            if !found.database.is_empty() {
                return Ok(found);
            }
            let mut rows = c.prepare("SELECT id, content FROM evidence ORDER BY id")?;
            let mut rows = rows.query([])?;
            while let Some(row) = rows.next()? {
                let id: String = row.get(0)?;
                let content = serde_json::from_str::<Evidence>(row.get_ref(1)?.as_str().unwrap_or(""));
                if content.ok().is_none_or(|e| e.id() != id) {
                    found.changed.push(id);
                }
            }
            if !found.stale {
                found.sums = compare(c)?;
            }
            Ok(found)
        });
        match found {
            Err(StoreError::Corrupt(_, why)) => Ok(Findings { database: vec![why], ..Findings::default() }),
            other => other,
        }
    }

    /// Makes the sums anew from the evidence, whatever they were.
    ///
    /// # Errors
    /// Trouble with the file.
    pub fn rebuild(&mut self) -> Result<(), StoreError> {
        let path = self.path.clone();
        let failed = |e: rusqlite::Error| StoreError::of(&path, &e);
        let tx = self.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).map_err(failed)?;
        write::rebuild(&tx).map_err(failed)?;
        tx.commit().map_err(failed)
    }

    /// Sets a damaged file aside and records what can still be read of it in a new one. Returns where it went and how many
    /// pieces were saved.
    ///
    /// # Errors
    /// When the file cannot be moved or a new one cannot be written.
    pub fn salvage(self) -> Result<(Store, PathBuf, usize), StoreError> {
        let saved: Vec<Evidence> = self.readable();
        let path = self.path.clone();
        drop(self.connection);
        let aside = open::set_aside_known(&path)?;
        let mut store = Store::open(&path)?;
        let count = store.record(&saved)?;
        Ok((store, aside, count))
    }

    /// Every piece that can be read and is what its id says. Where the damage ends the reading, from both ends, the bytes of
    /// the file are searched for the rest.
    fn readable(&self) -> Vec<Evidence> {
        let mut all = BTreeMap::new();
        let mut whole = true;
        for order in ["", " ORDER BY rowid DESC"] {
            let sql = format!("SELECT id, content FROM evidence NOT INDEXED{order}");
            whole &= self.read_until_damage(&sql, &mut all).is_ok();
        }
        if !whole {
            for ending in ["", "-wal"] {
                let bytes = std::fs::read(open::beside(&self.path, ending)).unwrap_or_default();
                search(&bytes, &mut all);
            }
        }
        all.into_values().collect()
    }

    fn read_until_damage(&self, sql: &str, all: &mut BTreeMap<String, Evidence>) -> rusqlite::Result<()> {
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (Ok(id), Ok(content)) = (row.get::<_, String>(0), row.get::<_, String>(1)) else { continue };
            all.extend(sound(&id, content.as_bytes()));
        }
        Ok(())
    }
}

/// The piece at the beginning of `bytes`, if it is what the id says.
fn sound(id: &str, bytes: &[u8]) -> Option<(String, Evidence)> {
    let e = serde_json::Deserializer::from_slice(bytes).into_iter::<Evidence>().next()?.ok()?;
    (e.id() == id && e.check().is_ok()).then(|| (id.to_owned(), e))
}

/// Rows as they lie in the pages: the id, a few short columns, the content. What was deleted was overwritten with zeros.
fn search(bytes: &[u8], all: &mut BTreeMap<String, Evidence>) {
    const BEGIN: &[u8] = b"{\"run\":";
    for at in memchr::memmem::find_iter(bytes, BEGIN) {
        let Some(Ok(e)) = serde_json::Deserializer::from_slice(&bytes[at..]).into_iter::<Evidence>().next() else {
            continue;
        };
        let id = e.id();
        let before = &bytes[at.saturating_sub(id.len() + 500)..at];
        if memchr::memmem::find(before, id.as_bytes()).is_some() && e.check().is_ok() {
            all.insert(id, e);
        }
    }
}

fn compare(c: &rusqlite::Connection) -> rusqlite::Result<Vec<String>> {
    let (fresh, kept) = (write::fresh(c)?, write::kept(c)?);
    let mut differ = vec![];
    if read::places(c)? != read::places_of(&fresh) {
        differ.push("the order of the runs".to_owned());
    }
    let keys: std::collections::BTreeSet<_> = fresh.sums.keys().chain(kept.keys()).collect();
    for key in keys {
        if fresh.sums.get(key) != kept.get(key) {
            let context = if key.context.is_empty() { "all" } else { &key.context };
            differ.push(format!("{} {} {} in {context}", key.kind.as_str(), key.a, key.b));
        }
    }
    Ok(differ)
}
