//! The layout of the database and how older ones become it.

/// Marks a database as kopt's: "kopt" in ASCII.
pub const APPLICATION: i64 = 0x6B6F_7074;

/// One step for each version: the first makes version 1 of an empty file. `PRAGMA user_version` says where a file stands.
pub const MIGRATIONS: &[&str] = &[
    // 1: evidence alone.
    "CREATE TABLE evidence (
        id TEXT PRIMARY KEY, run TEXT NOT NULL, started INTEGER NOT NULL, step INTEGER NOT NULL,
        origin TEXT NOT NULL, direction TEXT NOT NULL, skill TEXT NOT NULL, content TEXT NOT NULL
     ) STRICT;
     CREATE INDEX evidence_order ON evidence (started, run, step, id);
     CREATE INDEX evidence_skill ON evidence (skill);",
    // 2: sums, kept with every step instead of made at every start.
    "CREATE TABLE runs (run TEXT PRIMARY KEY, started INTEGER NOT NULL, place INTEGER NOT NULL) STRICT, WITHOUT ROWID;
     CREATE INDEX runs_order ON runs (started, run);
     CREATE TABLE sums (
        kind TEXT NOT NULL, context TEXT NOT NULL, a TEXT NOT NULL, b TEXT NOT NULL,
        tries INTEGER NOT NULL, plain_rewarded INTEGER NOT NULL, plain_reward INTEGER NOT NULL,
        all_steps INTEGER NOT NULL, correct INTEGER NOT NULL, not_compiled INTEGER NOT NULL, wrong INTEGER NOT NULL,
        rewarded INTEGER NOT NULL, reward INTEGER NOT NULL, square INTEGER NOT NULL,
        estimated INTEGER NOT NULL, estimate INTEGER NOT NULL,
        PRIMARY KEY (kind, context, a, b)
     ) STRICT, WITHOUT ROWID;
     CREATE TABLE state (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
     INSERT INTO state SELECT 'stale', EXISTS (SELECT 1 FROM evidence);",
];

/// The version that this kopt writes.
pub const VERSION: i64 = MIGRATIONS.len() as i64;
