//! Opening: a new file, an older layout, a damaged file, a file of somebody else.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::schema::{APPLICATION, MIGRATIONS, VERSION};
use super::{Store, StoreError};

/// How long a process waits for others.
const PATIENCE: Duration = Duration::from_secs(30);

impl Store {
    /// Opens the memory at `path`, made if it is not there. A damaged one is moved to a new name first; see
    /// [`Store::set_aside`].
    ///
    /// # Errors
    /// When the file is somebody else's, of a later version, or cannot be read and written.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(|e| StoreError::Unusable(folder.to_owned(), e.to_string()))?;
        }
        match connect(path) {
            Err(StoreError::Corrupt(..)) => {
                let moved = move_aside(path)?;
                connect(path).map(|store| Store { set_aside: moved, ..store })
            }
            other => other,
        }
    }

    /// Opens a memory that must be there.
    ///
    /// # Errors
    /// As [`Store::open`], and [`StoreError::Missing`].
    pub fn open_existing(path: &Path) -> Result<Store, StoreError> {
        if path.is_file() { Store::open(path) } else { Err(StoreError::Missing(path.to_owned())) }
    }

    /// Opens a memory whose evidence is only read and that must be there. Nothing of it changes: a damaged one stays where it
    /// is, and an older layout stays as it is.
    ///
    /// # Errors
    /// As [`Store::open_existing`], and [`StoreError::Corrupt`].
    pub fn open_source(path: &Path) -> Result<Store, StoreError> {
        if !path.is_file() {
            return Err(StoreError::Missing(path.to_owned()));
        }
        match reach(path)? {
            (_, 0) => Err(StoreError::Foreign(path.to_owned(), "it is empty".to_owned())),
            (connection, _) => Ok(Store { path: path.to_owned(), connection, set_aside: None }),
        }
    }
}

/// A connection to a file of today's layout.
fn connect(path: &Path) -> Result<Store, StoreError> {
    let (mut connection, version) = reach(path)?;
    let failed = |e: rusqlite::Error| StoreError::of(path, &e);
    // A process that is killed loses nothing; a machine that loses its power may lose the last steps, never the file.
    connection.pragma_update(None, "synchronous", "NORMAL").map_err(failed)?;
    log_ahead(&connection).map_err(failed)?;
    // What was forgotten is gone from the file, so that nothing that searches its bytes brings it back.
    connection.pragma_update(None, "secure_delete", true).map_err(failed)?;
    if version < VERSION {
        migrate(path, &mut connection)?;
    }
    Ok(Store { path: path.to_owned(), connection, set_aside: None })
}

/// Turns the write-ahead log on, which a file keeps. The database does not wait for others by itself here.
fn log_ahead(connection: &Connection) -> rusqlite::Result<()> {
    const PAUSE: Duration = Duration::from_millis(5);
    let mut left = PATIENCE.as_millis() / PAUSE.as_millis();
    loop {
        let mode: String = connection.pragma_query_value(None, "journal_mode", |r| r.get(0))?;
        if mode == "wal" {
            return Ok(());
        }
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(e) if left > 0 && e.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) => {
                left -= 1;
                std::thread::sleep(PAUSE);
            }
            other => return other,
        }
    }
}

/// A connection to a file of any layout up to today's, with its version.
fn reach(path: &Path) -> Result<(Connection, i64), StoreError> {
    whole(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let failed = |e: rusqlite::Error| StoreError::of(path, &e);
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(PATIENCE).map_err(failed)?;
    connection.set_prepared_statement_cache_capacity(64);
    let version = version(path, &connection)?;
    Ok((connection, version))
}

/// Looks at the first bytes and the length, without the database: a file that is not SQLite's is never opened for writing.
fn whole(path: &Path) -> Result<(), StoreError> {
    let Ok(mut file) = File::open(path) else { return Ok(()) };
    let length = file.metadata().map_or(0, |m| m.len());
    let mut head = [0; 100];
    if length == 0 {
        return Ok(());
    }
    let corrupt = |why: &str| {
        // A file with another ending was perhaps named by mistake, and is left alone.
        if path.extension().is_some_and(|e| e == "sqlite") {
            StoreError::Corrupt(path.to_owned(), why.to_owned())
        } else {
            StoreError::Foreign(path.to_owned(), why.to_owned())
        }
    };
    if file.read_exact(&mut head).is_err() || !head.starts_with(b"SQLite format 3\0") {
        return Err(corrupt("it does not begin as a database does"));
    }
    // What a log holds has not reached the file yet, so its length says nothing.
    let log = fs::metadata(beside(path, "-wal")).map_or(0, |m| m.len());
    let page = match u64::from(u16::from_be_bytes([head[16], head[17]])) {
        1 => 65536,
        n => n,
    };
    let pages = u64::from(u32::from_be_bytes([head[28], head[29], head[30], head[31]]));
    if log == 0 && length < page * pages {
        return Err(StoreError::Corrupt(path.to_owned(), format!("{length} bytes are left of {}", page * pages)));
    }
    Ok(())
}

/// The version of the layout, 0 for an empty file.
fn version(path: &Path, connection: &Connection) -> Result<i64, StoreError> {
    let failed = |e: rusqlite::Error| StoreError::of(path, &e);
    // In one transaction: another process may be making the file just now.
    let tx = connection.unchecked_transaction().map_err(failed)?;
    let number =
        |name: &str| -> Result<i64, StoreError> { tx.pragma_query_value(None, name, |r| r.get(0)).map_err(failed) };
    let (version, application) = (number("user_version")?, number("application_id")?);
    let tables: i64 = tx.query_row("SELECT count(*) FROM sqlite_schema", [], |r| r.get(0)).map_err(failed)?;
    if application != APPLICATION && (version != 0 || tables != 0) {
        return Err(StoreError::Foreign(path.to_owned(), "it is a database of another program".to_owned()));
    }
    if version > VERSION {
        return Err(StoreError::Newer(path.to_owned(), version, VERSION));
    }
    Ok(version)
}

/// Takes the missing steps in one transaction; another process may have taken them meanwhile.
fn migrate(path: &Path, connection: &mut Connection) -> Result<(), StoreError> {
    let failed = |e: rusqlite::Error| StoreError::of(path, &e);
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    let version: i64 = tx.pragma_query_value(None, "user_version", |r| r.get(0)).map_err(failed)?;
    for step in MIGRATIONS.get(usize::try_from(version).unwrap_or(0)..).unwrap_or(&[]) {
        tx.execute_batch(step).map_err(failed)?;
    }
    tx.pragma_update(None, "application_id", APPLICATION).map_err(failed)?;
    tx.pragma_update(None, "user_version", VERSION).map_err(failed)?;
    tx.commit().map_err(failed)
}

pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Moves a damaged file with its log to the first free name. `None` where another process was faster and a sound file
/// stands there now.
fn move_aside(path: &Path) -> Result<Option<PathBuf>, StoreError> {
    let failed = |e: std::io::Error| StoreError::Unusable(path.to_owned(), e.to_string());
    let lock = File::create(beside(path, ".lock")).map_err(failed)?;
    lock.lock().map_err(failed)?;
    if !path.exists() || connect(path).is_ok() {
        return Ok(None);
    }
    set_aside_known(path).map(Some)
}

/// The same of a file that is known to be damaged although it opens.
pub(super) fn set_aside_known(path: &Path) -> Result<PathBuf, StoreError> {
    let failed = |e: std::io::Error| StoreError::Unusable(path.to_owned(), e.to_string());
    let free = (1..10_000).map(|n| beside(path, &format!(".damaged-{n}"))).find(|p| !p.exists());
    let Some(free) = free else {
        return Err(StoreError::Unusable(path.to_owned(), "too many damaged files were set aside".to_owned()));
    };
    fs::rename(path, &free).map_err(failed)?;
    for ending in ["-wal", "-shm"] {
        let from = beside(path, ending);
        if from.exists() {
            fs::rename(from, beside(&free, ending)).map_err(failed)?;
        }
    }
    Ok(free)
}
