//! Variables of modules: which of them a contract means by a name, and which hold nothing that anybody gave them.

use super::side::Side;
use crate::contract::Plan;
use crate::ptx::ast::Space;
use crate::ptx::{AllocationId, Memory};

/// Whether a symbol of the module is that of a variable: the name itself, or one that is mangled with its length, inside
/// the namespaces that are given.
pub fn is_symbol_of(symbol: &str, name: &str) -> bool {
    if symbol == name {
        return true;
    }
    let parts: Vec<&str> = name.split("::").filter(|p| !p.is_empty()).collect();
    let Some(own) = parts.last() else { return false };
    let mut rest = match symbol.strip_prefix("_Z") {
        Some(rest) => rest,
        None => return parts.len() == 1 && symbol == *own,
    };
    for part in &parts {
        let piece = format!("{}{part}", part.len());
        let digit_before = |at: usize| rest.get(..at).is_some_and(|r| r.ends_with(|c: char| c.is_ascii_digit()));
        let Some(at) = rest.match_indices(&piece).map(|(at, _)| at).find(|at| !digit_before(*at)) else { return false };
        rest = rest.get(at + piece.len()..).unwrap_or("");
    }
    // Nothing but the end of the nested name may follow.
    rest.is_empty() || rest == "E"
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
            ("_ZN54_INTERNAL_00000000_4_k_cu_7weights7weightsE", "weights", true),
            ("_ZN7weights4biasE", "weights", false),
        ];
        for (symbol, name, expected) in cases {
            assert_eq!(is_symbol_of(symbol, name), expected, "{symbol} {name}");
        }
    }
}
