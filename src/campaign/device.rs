//! The device part of a program, in a namespace of its own, so that many stand in one text for the compiler. Launches of
//! the host function become a kernel that says which kernel would be launched: the guard's own text decides.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::program::Made;

/// One version of a program for the compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    pub namespace: String,
    /// Lines that stand before all namespaces.
    pub includes: BTreeSet<String>,
    pub text: String,
    /// Its kernels, without the namespace, with the template arguments of each.
    pub kernels: Vec<(String, String)>,
    /// By kernel of the program: those among which its host function chooses, by the number that [`which`] writes.
    pub launched: BTreeMap<String, Vec<String>>,
}

/// The kernel that says which kernel the host function of `name` launches.
pub fn which(name: &str) -> String {
    format!("kopt_which_{name}")
}

impl Unit {
    /// Host functions stand last in `text`; whatever the engine inserted before them belongs to the device.
    pub fn new(namespace: String, text: &str, program: &[Made]) -> Unit {
        let starts: Vec<(usize, &Made)> =
            program.iter().filter_map(|k| Some((text.rfind(&format!("\nvoid run_{}(", k.name))?, k))).collect();
        let first = starts.iter().map(|(at, _)| *at).min().unwrap_or(text.len());
        let (device, _) = text.split_at(first);
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
        let mut kernels: Vec<(String, String)> = vec![];
        for (name, is_template) in names_of_kernels(device) {
            let origin = program.iter().find(|k| name == k.name || name.starts_with(&format!("{}_", k.name)));
            let list = origin.map(|k| k.template.join(", ")).filter(|_| is_template).unwrap_or_default();
            let arguments = if list.is_empty() { list } else { format!("<{list}>") };
            if !kernels.iter().any(|(n, _)| *n == name) {
                kernels.push((name, arguments));
            }
        }
        let mut launched = BTreeMap::new();
        for (at, k) in &starts {
            let next = starts.iter().map(|(n, _)| *n).filter(|n| n > at).min().unwrap_or(text.len());
            let host = &text[*at..next];
            let mut own_launches = vec![];
            if host.matches("<<<").count() > 1
                && let Some(chooser) = chooser(host, &which(k.name), &mut own_launches)
            {
                own += &chooser;
                kernels.push((which(k.name), String::new()));
                launched.insert(k.name.to_owned(), own_launches);
            }
        }
        let mut text = format!("namespace {namespace} {{\n{own}}}\n");
        defined.iter().for_each(|d| text += &format!("#undef {d}\n"));
        Unit { namespace, includes, text, kernels, launched }
    }

    /// The name expression of a kernel.
    pub fn expression(&self, (name, arguments): &(String, String)) -> String {
        format!("{}::{name}{arguments}", self.namespace)
    }

    pub fn names(&self) -> Vec<String> {
        self.kernels.iter().map(|k| self.expression(k)).collect()
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

/// The kernels that a text defines, and whether each is a template.
fn names_of_kernels(text: &str) -> Vec<(String, bool)> {
    let word = |rest: &str| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("").to_owned();
    let mut found = vec![];
    let mut from = 0;
    while let Some(at) = text[from..].find("__global__ void ").map(|i| i + from) {
        let head = text[..at].trim_end();
        from = at + "__global__ void ".len();
        // An explicit instantiation defines nothing.
        if !head.ends_with("template") {
            let line = head.lines().next_back().unwrap_or("");
            found.push((word(&text[from..]), line.trim_start().starts_with("template <")));
        }
    }
    found
}

/// The host function with a store in the place of each launch.
fn chooser(host: &str, which: &str, launched: &mut Vec<String>) -> Option<String> {
    let open = host.find('(')?;
    let close = open + host[open..].find(") {")?;
    let parameters = &host[open + 1..close];
    let comma = if parameters.is_empty() { "" } else { ", " };
    let mut body = String::new();
    let mut rest = &host[close + 1..];
    while let Some(at) = rest.find("<<<") {
        let plain = if rest[..at].ends_with('>') { rest[..at].rfind('<')? } else { at };
        let start = rest[..plain].rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |i| i + 1);
        let name = rest[start..plain].to_owned();
        let after = at + rest[at..].find(';')?;
        let number = launched.iter().position(|n| *n == name).unwrap_or_else(|| {
            launched.push(name);
            launched.len() - 1
        });
        let _ = write!(body, "{}*chosen = {number}", &rest[..start]);
        rest = &rest[after..];
    }
    body += rest;
    Some(format!("__global__ void {which}({parameters}{comma}int* chosen){body}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_become_choices() {
        let text = "#include <cuda_fp16.h>\n#define W 3\n__global__ void k(float* x, int n) {\n  x[n] = W;\n}\n\
                    \n__global__ void k_vectorized(float* x, int n) {\n}\n\
                    \nvoid run_k(float* x, int n) {\n  if (n % 4 == 0) {\n    k_vectorized<<<1, 2>>>(x, n);\n  } else {\n    k<<<1, 2>>>(x, n);\n  }\n}\n";
        let made = |name, template: &[&str]| Made {
            name,
            template: template.iter().map(|t| (*t).to_owned()).collect(),
            cells: vec![],
            loose: vec![],
        };
        let names = |u: &Unit| u.names().iter().map(|n| n.split_once("::").unwrap().1.to_owned()).collect::<Vec<_>>();
        let unit = Unit::new("p1".into(), text, &[made("k", &[])]);
        assert_eq!(names(&unit), ["k", "k_vectorized", "kopt_which_k"]);
        assert_eq!(unit.launched["k"], ["k_vectorized", "k"]);
        assert!(
            unit.text.contains("kopt_which_k(float* x, int n, int* chosen) {\n  if (n % 4 == 0) {\n    *chosen = 0;\n"),
            "{}",
            unit.text
        );
        assert!(!unit.text.contains("<<<") && !unit.text.contains("run_k") && unit.text.ends_with("#undef W\n"));
        assert_eq!(unit.includes.len(), 1);
        let plain = "__global__ void k() {\n}\n\nvoid run_k() {\n  k<<<1, 1>>>();\n}\n";
        let plain = Unit::new("p2".into(), plain, &[made("k", &[])]);
        assert_eq!((plain.kernels.len(), plain.launched.len()), (1, 0));
        let two = "template <typename T, int W>\n__global__ void k(T* x) {\n}\ntemplate <typename T, int W>\n__global__ void k_fast(T* x) {\n}\n\
                   template __global__ void k<float, 4>(float* x);\n__global__ void m() {\n}\n\
                   \nvoid run_k(float* x) {\n  if (x) {\n    k_fast<float, 4><<<1, 2>>>(x);\n  } else {\n    k<float, 4><<<1, 2>>>(x);\n  }\n}\n\
                   \nvoid run_m() {\n  m<<<1, 1>>>();\n}\n";
        let two = Unit::new("p3".into(), two, &[made("k", &["float", "4"]), made("m", &[])]);
        assert_eq!(names(&two), ["k<float, 4>", "k_fast<float, 4>", "m", "kopt_which_k"]);
        assert_eq!(two.launched["k"], ["k_fast", "k"]);
        assert!(!two.text.contains("<<<"));
    }
}
