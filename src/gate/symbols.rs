//! Variables of modules: which of them a contract means by a name, and which hold nothing that anybody gave them.

use super::side::Side;
use crate::contract::Plan;
use crate::ptx::ast::Space;
use crate::ptx::{AllocationId, Memory};

/// Whether a symbol of the module is that of a variable: the name itself, or one that is mangled from it and from the
/// namespaces around it.
pub fn is_symbol_of(symbol: &str, name: &str) -> bool {
    let wanted: Vec<&str> = name.split("::").filter(|p| !p.is_empty()).collect();
    match parts(symbol) {
        Some(parts) => !wanted.is_empty() && parts.ends_with(&wanted),
        None => symbol == name,
    }
}

/// Namespaces and name of a mangled symbol of a variable: `_ZN2v17weightsE` is `v1`, `weights`.
fn parts(symbol: &str) -> Option<Vec<&str>> {
    let mut rest = symbol.strip_prefix("_Z")?;
    rest = rest.strip_prefix('N').unwrap_or(rest);
    let mut found = vec![];
    while !rest.is_empty() && rest != "E" {
        // Of internal linkage.
        rest = rest.strip_prefix('L').unwrap_or(rest);
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let length: usize = rest.get(..digits)?.parse().ok()?;
        found.push(rest.get(digits..digits + length)?);
        rest = rest.get(digits + length..)?;
    }
    Some(found)
}

/// The name of a variable as people read it.
pub fn readable(symbol: &str) -> String {
    let plain = |p: &&str| !p.starts_with("_INTERNAL_") && !p.starts_with("_GLOBAL__N");
    parts(symbol).map_or_else(|| symbol.to_owned(), |p| p.into_iter().filter(plain).collect::<Vec<_>>().join("::"))
}

/// The allocation of the variable of this name.
pub(super) fn find(side: &Side, memory: &Memory, name: &str) -> Option<AllocationId> {
    let variables = side.programs.values().flat_map(|p| &p.variables);
    let own = variables.filter(|v| is_symbol_of(&v.name, name));
    own.filter_map(|v| memory.symbol(&v.name)).next()
}

/// Whether the variables of kernels are in constant memory; and their symbols, of those that no initialiser and no
/// argument of the plan fills. Each once, by name.
pub fn unfilled(side: &Side, plan: &Plan) -> Vec<(String, bool)> {
    let given = |symbol: &str| plan.args.iter().filter_map(|a| a.symbol.as_deref()).any(|n| is_symbol_of(symbol, n));
    let variables = side.programs.values().flat_map(|p| &p.variables);
    let bare = variables.filter(|v| matches!(v.space, Space::Const | Space::Global) && !v.is_initialised());
    let mut found: Vec<(String, bool)> =
        bare.filter(|v| !given(&v.name)).map(|v| (v.name.clone(), v.space == Space::Const)).collect();
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_mangled_symbols() {
        let cases = [
            ("weights", "weights", true),
            ("weights", "weights2", false),
            ("_ZN2v17weightsE", "weights", true),
            ("_ZN2v17weightsE", "v1::weights", true),
            ("_ZN2v17weightsE", "v2::weights", false),
            ("_ZN2v117weights_of_kernelE", "weights", false),
            ("_ZL7weights", "weights", true),
            ("_ZN33_INTERNAL_00000000_4_k_cu_weights7weightsE", "weights", true),
            ("_ZN7weights4biasE", "weights", false),
        ];
        for (symbol, name, expected) in cases {
            assert_eq!(is_symbol_of(symbol, name), expected, "{symbol} {name}");
        }
        assert_eq!(readable("_ZN33_INTERNAL_00000000_4_k_cu_weights7weightsE"), "weights");
        assert_eq!(readable("_ZN2v17weightsE"), "v1::weights");
    }
}
