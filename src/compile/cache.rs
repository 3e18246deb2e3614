//! Compiled results by the hash of everything that they depend on.
//!
//! One file per result: a magic line, the hash of the rest, then the parts with their lengths. A file that is torn,
//! foreign or damaged is a miss, never an error.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::ptxas::KernelResources;

/// What is stored of a successful compilation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    pub kernels: Vec<KernelResources>,
    pub lowered: BTreeMap<String, String>,
    pub ptx: String,
    pub cubin: Vec<u8>,
    pub log: String,
}

/// A content hash: what a result depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key([u8; 32]);

impl Key {
    /// Hashes the parts with their lengths, so that no two lists of parts collide by concatenation.
    pub fn of<'a>(parts: impl IntoIterator<Item = &'a str>) -> Key {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        Key(*hasher.finalize().as_bytes())
    }

    pub fn hex(&self) -> String {
        blake3::Hash::from_bytes(self.0).to_hex().to_string()
    }
}

/// A folder of results, or no cache at all.
#[derive(Clone, Debug, Default)]
pub struct Cache {
    folder: Option<PathBuf>,
}

const MAGIC: &[u8; 16] = b"kopt-compiled-1\n";

#[derive(Serialize, Deserialize)]
struct Meta {
    kernels: Vec<KernelResources>,
    lowered: BTreeMap<String, String>,
    log: String,
}

static COUNTER: AtomicU64 = AtomicU64::new(0);

impl Cache {
    /// Results in `<folder>/compile`.
    pub fn in_folder(folder: &Path) -> Cache {
        Cache { folder: Some(folder.join("compile")) }
    }

    /// Nothing is kept.
    pub fn none() -> Cache {
        Cache { folder: None }
    }

    fn path(&self, key: &Key) -> Option<PathBuf> {
        let hex = key.hex();
        Some(self.folder.as_ref()?.join(hex.get(..2)?).join(hex))
    }

    /// The result under `key`, if there is a whole one.
    pub fn get(&self, key: &Key) -> Option<Stored> {
        decode(&fs::read(self.path(key)?).ok()?)
    }

    /// Stores a result; a reader sees all of it or nothing.
    ///
    /// # Errors
    /// When the folder cannot be written: the caller may go on without.
    pub fn put(&self, key: &Key, stored: &Stored) -> std::io::Result<()> {
        let Some(path) = self.path(key) else { return Ok(()) };
        let parent = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(parent)?;
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let temporary = parent.join(format!(".{}-{number}", std::process::id()));
        let written = fs::File::create(&temporary).and_then(|mut f| f.write_all(&encode(stored)));
        let moved = written.and_then(|()| fs::rename(&temporary, &path));
        if moved.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        moved
    }

    /// Removes the oldest results until at most `bytes` are left; returns the bytes freed.
    pub fn prune(&self, bytes: u64) -> std::io::Result<u64> {
        let Some(folder) = self.folder.as_ref().filter(|f| f.is_dir()) else { return Ok(0) };
        let mut files: Vec<(SystemTime, PathBuf, u64)> = vec![];
        for shelf in fs::read_dir(folder)?.flatten().filter(|e| e.path().is_dir()) {
            for file in fs::read_dir(shelf.path())?.flatten() {
                let Ok(meta) = file.metadata() else { continue };
                files.push((meta.modified().unwrap_or(SystemTime::UNIX_EPOCH), file.path(), meta.len()));
            }
        }
        files.sort();
        let mut total: u64 = files.iter().map(|f| f.2).sum();
        let mut freed = 0;
        for (_, path, size) in files {
            if total <= bytes {
                break;
            }
            if fs::remove_file(path).is_ok() {
                total -= size;
                freed += size;
            }
        }
        Ok(freed)
    }
}

fn encode(stored: &Stored) -> Vec<u8> {
    let meta = Meta { kernels: stored.kernels.clone(), lowered: stored.lowered.clone(), log: stored.log.clone() };
    // Strings and numbers always serialise.
    let meta = serde_json::to_vec(&meta).unwrap_or_default();
    let mut payload = Vec::with_capacity(meta.len() + stored.ptx.len() + stored.cubin.len() + 24);
    for part in [meta.as_slice(), stored.ptx.as_bytes(), &stored.cubin] {
        payload.extend_from_slice(&(part.len() as u64).to_le_bytes());
        payload.extend_from_slice(part);
    }
    let hash = blake3::hash(&payload);
    [MAGIC.as_slice(), hash.as_bytes().as_slice(), &payload].concat()
}

fn decode(bytes: &[u8]) -> Option<Stored> {
    let rest = bytes.strip_prefix(MAGIC.as_slice())?;
    let (hash, mut payload) = rest.split_at_checked(32)?;
    if blake3::hash(payload).as_bytes().as_slice() != hash {
        return None;
    }
    let mut part = || -> Option<&[u8]> {
        let (length, rest) = payload.split_at_checked(8)?;
        let length = usize::try_from(u64::from_le_bytes(length.try_into().ok()?)).ok()?;
        let (part, rest) = rest.split_at_checked(length)?;
        payload = rest;
        Some(part)
    };
    let meta: Meta = serde_json::from_slice(part()?).ok()?;
    let ptx = String::from_utf8(part()?.to_vec()).ok()?;
    let cubin = part()?.to_vec();
    Some(Stored { kernels: meta.kernels, lowered: meta.lowered, ptx, cubin, log: meta.log })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Stored {
        let kernels = vec![KernelResources { symbol: "_Z1k".into(), registers: 12, ..KernelResources::default() }];
        let lowered = BTreeMap::from([("k".to_owned(), "_Z1k".to_owned())]);
        Stored { kernels, lowered, ptx: "// ptx".into(), cubin: vec![0, 1, 255], log: "é".into() }
    }

    #[test]
    fn what_was_put_comes_back_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::in_folder(folder.path());
        let key = Key::of(["a", "bc"]);
        assert_eq!(cache.get(&key), None);
        cache.put(&key, &sample()).unwrap();
        assert_eq!(cache.get(&key), Some(sample()));
        assert_eq!(cache.get(&Key::of(["ab", "c"])), None);
        Cache::none().put(&key, &sample()).unwrap();
        assert_eq!(Cache::none().get(&key), None);
    }

    #[test]
    fn a_damaged_file_is_a_miss() {
        let whole = encode(&sample());
        for cut in 0..whole.len() {
            assert_eq!(decode(&whole[..cut]), None, "{cut}");
        }
        for at in 0..whole.len() {
            let mut bent = whole.clone();
            bent[at] ^= 0x40;
            assert_eq!(decode(&bent), None, "{at}");
        }
        // Lengths that lie, under a hash that is right.
        let mut payload = u64::MAX.to_le_bytes().to_vec();
        payload.extend_from_slice(b"x");
        let lying = [MAGIC.as_slice(), blake3::hash(&payload).as_bytes(), &payload].concat();
        assert_eq!(decode(&lying), None);
    }

    #[test]
    fn pruning_keeps_to_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::in_folder(folder.path());
        for n in 0..10 {
            cache.put(&Key::of([n.to_string().as_str()]), &sample()).unwrap();
        }
        let one = encode(&sample()).len() as u64;
        assert_eq!(cache.prune(3 * one).unwrap(), 7 * one);
        let left = (0..10).filter(|n: &i32| cache.get(&Key::of([n.to_string().as_str()])).is_some()).count();
        assert_eq!(left, 3);
    }
}
