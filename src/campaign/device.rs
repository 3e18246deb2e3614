//! The device part of a program, in a namespace of its own, so that many stand in one text for the compiler. Launches of
//! the host function become a kernel that says which kernel would be launched: the guard's own text decides.

use std::collections::BTreeSet;
use std::fmt::Write as _;

/// One version of a program for the compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    pub namespace: String,
    /// Lines that stand before all namespaces.
    pub includes: BTreeSet<String>,
    pub text: String,
    /// Its kernels, without the namespace.
    pub kernels: Vec<String>,
    /// The kernels among which the host function chooses, by the number that [`WHICH`] writes.
    pub launched: Vec<String>,
}

/// The kernel that says which kernel is launched.
pub const WHICH: &str = "kopt_which";

impl Unit {
    /// `host` is where the host function begins in the original; whatever the engine inserted before it belongs to the
    /// device.
    pub fn new(namespace: String, text: &str, has_host: bool) -> Unit {
        let host = if has_host { text.rfind("\nvoid run_k(") } else { None };
        let (device, host) = text.split_at(host.unwrap_or(text.len()));
        let mut includes = BTreeSet::new();
        let mut defined = vec![];
        let mut own = format!("#line 1 \"{namespace}\"\n");
        for line in device.lines() {
            if line.starts_with("#include") {
                includes.insert(line.to_owned());
                own.push('\n');
                continue;
            }
            if let Some(rest) = line.strip_prefix("#define ") {
                defined.extend(rest.split(|c: char| !c.is_alphanumeric() && c != '_').next());
            }
            own += line;
            own.push('\n');
        }
        let mut kernels = names_of_kernels(device);
        let mut launched = vec![];
        if host.matches("<<<").count() > 1
            && let Some(chooser) = chooser(host, &mut launched)
        {
            own += &chooser;
            kernels.push(WHICH.to_owned());
        }
        let mut text = format!("namespace {namespace} {{\n{own}}}\n");
        defined.iter().for_each(|d| text += &format!("#undef {d}\n"));
        Unit { namespace, includes, text, kernels, launched }
    }

    pub fn names(&self) -> Vec<String> {
        self.kernels.iter().map(|k| format!("{}::{k}", self.namespace)).collect()
    }
}

/// One text for all units.
pub fn joined(units: &[Unit]) -> String {
    let includes: BTreeSet<&String> = units.iter().flat_map(|u| &u.includes).collect();
    let mut text = String::new();
    includes.into_iter().for_each(|i| _ = writeln!(text, "{i}"));
    units.iter().for_each(|u| text += &u.text);
    text
}

fn names_of_kernels(text: &str) -> Vec<String> {
    let word = |rest: &str| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("").to_owned();
    text.split("__global__ void ").skip(1).map(word).collect()
}

/// The host function with a store in the place of each launch.
fn chooser(host: &str, launched: &mut Vec<String>) -> Option<String> {
    let open = host.find('(')?;
    let close = open + host[open..].find(") {")?;
    let parameters = &host[open + 1..close];
    let comma = if parameters.is_empty() { "" } else { ", " };
    let mut body = String::new();
    let mut rest = &host[close + 1..];
    while let Some(at) = rest.find("<<<") {
        let start = rest[..at].rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |i| i + 1);
        let name = rest[start..at].to_owned();
        let after = at + rest[at..].find(';')?;
        let number = launched.iter().position(|n| *n == name).unwrap_or_else(|| {
            launched.push(name);
            launched.len() - 1
        });
        let _ = write!(body, "{}*chosen = {number}", &rest[..start]);
        rest = &rest[after..];
    }
    body += rest;
    Some(format!("__global__ void {WHICH}({parameters}{comma}int* chosen){body}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_become_choices() {
        let text = "#include <cuda_fp16.h>\n#define W 3\n__global__ void k(float* x, int n) {\n  x[n] = W;\n}\n\
                    \n__global__ void k_vectorized(float* x, int n) {\n}\n\
                    \nvoid run_k(float* x, int n) {\n  if (n % 4 == 0) {\n    k_vectorized<<<1, 2>>>(x, n);\n  } else {\n    k<<<1, 2>>>(x, n);\n  }\n}\n";
        let unit = Unit::new("p1".into(), text, true);
        assert_eq!(unit.kernels, ["k", "k_vectorized", WHICH]);
        assert_eq!(unit.launched, ["k_vectorized", "k"]);
        assert!(
            unit.text.contains("kopt_which(float* x, int n, int* chosen) {\n  if (n % 4 == 0) {\n    *chosen = 0;\n"),
            "{}",
            unit.text
        );
        assert!(!unit.text.contains("<<<") && !unit.text.contains("run_k") && unit.text.ends_with("#undef W\n"));
        assert_eq!(unit.includes.len(), 1);
        let plain = Unit::new("p2".into(), "__global__ void k() {\n}\n\nvoid run_k() {\n  k<<<1, 1>>>();\n}\n", true);
        assert_eq!((plain.kernels.len(), plain.launched.len()), (1, 0));
    }
}
