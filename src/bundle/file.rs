//! A bundle as a file: a ZIP archive with `manifest.json` and `blobs/HASH`, the same bytes for the same bundle.

use std::collections::BTreeMap;
use std::io::{Read, Seek, Write};

use serde::Deserialize;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

use super::{Blob, Bundle, BundleError, FORMAT, Manifest};

const MANIFEST: &str = "manifest.json";
const BLOBS: &str = "blobs/";
/// Bytes of everything, unpacked.
const MOST_BYTES: u64 = 4 << 30;
const MOST_ENTRIES: usize = 100_000;

/// Writes a bundle.
///
/// # Errors
/// Those of `output`.
pub fn write(bundle: &Bundle, output: impl Write + Seek) -> Result<(), BundleError> {
    let mut zip = ZipWriter::new(output);
    // No clock: the same bundle has the same bytes.
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(DateTime::default())
        .unix_permissions(0o644);
    let manifest = serde_json::to_vec_pretty(&bundle.manifest).map_err(std::io::Error::other)?;
    zip.start_file(MANIFEST, options).map_err(std::io::Error::other)?;
    zip.write_all(&manifest)?;
    for (blob, contents) in &bundle.blobs {
        zip.start_file(format!("{BLOBS}{}", blob.hex()), options).map_err(std::io::Error::other)?;
        zip.write_all(contents)?;
    }
    zip.finish().map_err(std::io::Error::other)?;
    Ok(())
}

/// Reads a bundle and checks that every part is what the manifest says.
///
/// # Errors
/// See [`BundleError`].
pub fn read(input: impl Read + Seek) -> Result<Bundle, BundleError> {
    let mut zip = ZipArchive::new(input).map_err(|e| BundleError::NotOne(e.to_string()))?;
    if zip.len() > MOST_ENTRIES {
        return Err(BundleError::TooLarge(format!("{} parts", zip.len())));
    }
    let mut left = MOST_BYTES;
    let mut entries: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for n in 0..zip.len() {
        let damaged = |e: &dyn std::fmt::Display| BundleError::Damaged(e.to_string());
        let mut entry = zip.by_index(n).map_err(|e| damaged(&e))?;
        let name = entry.name().map_err(|e| damaged(&e))?.into_owned();
        let mut contents = vec![];
        // What the archive says of its own size is not believed.
        entry.by_ref().take(left + 1).read_to_end(&mut contents).map_err(|e| damaged(&e))?;
        left = left
            .checked_sub(contents.len() as u64)
            .ok_or_else(|| BundleError::TooLarge(format!("more than {MOST_BYTES} bytes")))?;
        entries.insert(name, contents);
    }
    let manifest = entries.get(MANIFEST).ok_or_else(|| BundleError::NotOne(format!("it has no {MANIFEST}")))?;
    let manifest = manifest_of(manifest)?;
    let mut bundle = Bundle { manifest, blobs: BTreeMap::new() };
    for (name, contents) in entries {
        let Some(hex) = name.strip_prefix(BLOBS) else { continue };
        let blob = Blob::of(&contents);
        if blob.hex() != hex {
            return Err(BundleError::Damaged(format!("`{name}` has other contents")));
        }
        bundle.blobs.insert(blob, contents);
    }
    check(&bundle)?;
    Ok(bundle)
}

fn manifest_of(text: &[u8]) -> Result<Manifest, BundleError> {
    #[derive(Deserialize)]
    struct Layout {
        format: u32,
        kopt: String,
    }
    let not_one = |e: serde_json::Error| BundleError::NotOne(format!("{MANIFEST}: {e}"));
    let layout: Layout = serde_json::from_slice(text).map_err(not_one)?;
    if layout.format != FORMAT {
        return Err(BundleError::Format { there: layout.format, kopt: layout.kopt });
    }
    serde_json::from_slice(text).map_err(not_one)
}

fn check(bundle: &Bundle) -> Result<(), BundleError> {
    if bundle.manifest.cases.is_empty() {
        return Err(BundleError::Damaged("there is no case in it".to_owned()));
    }
    let mut names = std::collections::BTreeSet::new();
    for case in &bundle.manifest.cases {
        if case.id != case.computed_id() {
            return Err(BundleError::Damaged(format!("`{}` is not what its build id says", case.name)));
        }
        if !is_plain(&case.name) {
            return Err(BundleError::Damaged(format!("`{}` is no name for a file", case.name)));
        }
        if !names.insert(&case.name) {
            return Err(BundleError::Twice(case.name.clone()));
        }
        for blob in case.blobs() {
            bundle.contents(blob)?;
        }
    }
    Ok(())
}

/// Results are filed under the name, so that it must not lead anywhere else.
pub(super) fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !name.is_empty() && name.len() <= 200 && !name.starts_with('.') && name.chars().all(plain)
}
