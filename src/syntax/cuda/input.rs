//! What lowering is given: the original text, the masked text, and what the mask set aside.

use crate::ir::LaunchBounds;
use crate::source::mask::{Attribute, AttributeKind, KernelShape, MacroTable, Masked, What};
use crate::source::{FileId, Span};
use std::collections::BTreeMap;
use std::ops::Range;

/// Everything that the lowering knows besides the tree.
#[derive(Clone, Debug)]
pub struct Input<'a> {
    pub file: FileId,
    pub original: &'a str,
    /// Same length as `original`; this is what was parsed.
    pub text: &'a str,
    pub masked: &'a Masked,
    /// Macros of other files.
    pub known: &'a MacroTable,
    /// Object-like macros of this file with an integer value.
    pub constants: Vec<(String, i128, Span)>,
}

impl<'a> Input<'a> {
    pub fn new(file: FileId, original: &'a str, masked: &'a Masked, known: &'a MacroTable) -> Input<'a> {
        let values: BTreeMap<String, i128> = masked.macros.constants().into_iter().collect();
        let mut constants = vec![];
        for define in masked.defines.iter().filter(|d| d.params.is_none()) {
            if let Some(value) = values.get(&define.name) {
                let span = Span::new(file, define.span.start, define.span.end);
                constants.push((define.name.clone(), *value, span));
            }
        }
        Input { file, original, text: &masked.text, masked, known, constants }
    }

    pub fn span(&self, range: Range<usize>) -> Span {
        Span::new(self.file, range.start, range.end)
    }

    pub fn spans(&self, ranges: &[Range<usize>]) -> Vec<Span> {
        ranges.iter().map(|r| self.span(r.clone())).collect()
    }

    /// The heads of kernels that the text defines, modelled or not.
    pub fn lexical_kernels(&self) -> Vec<Span> {
        let defines = |s: KernelShape| matches!(s, KernelShape::Definition | KernelShape::MacroCall);
        self.masked.kernels.iter().filter(|k| defines(k.shape)).map(|k| self.span(k.range.clone())).collect()
    }

    /// The specifiers that macros in `range` stand for, as words.
    pub fn hidden_words(&self, range: Range<usize>) -> Vec<String> {
        let macros = self.masked.attributes_in(range).iter().filter(|a| a.kind == AttributeKind::Macro);
        macros.flat_map(|a| self.expansion_words(a)).collect()
    }

    fn expansion_words(&self, a: &Attribute) -> Vec<String> {
        if !a.expansion.is_empty() {
            return a.expansion.split_whitespace().map(str::to_owned).collect();
        }
        // A macro that nobody defined: its name is the only hint.
        let name = self.original.get(a.span.clone()).unwrap_or("");
        let mut words = vec![];
        for (part, word) in [("DEVICE", "__device__"), ("HOST", "__host__"), ("RESTRICT", "__restrict__")] {
            if name.contains(part) {
                words.push(word.to_owned());
            }
        }
        words
    }

    /// An alignment attribute in `range`: its value, where it is a literal.
    pub fn alignment(&self, range: Range<usize>) -> Option<u32> {
        let mut found = self.masked.attributes_in(range).iter().filter(|a| a.kind == AttributeKind::Align);
        found.find_map(|a| a.args.first()?.0.trim().parse().ok())
    }

    /// Launch attributes in `range`.
    pub fn launch_bounds(&self, range: Range<usize>) -> LaunchBounds {
        let mut bounds = LaunchBounds::default();
        for a in self.masked.attributes_in(range) {
            let mut args = a.args.iter().map(|(text, at)| (text.trim().to_owned(), self.span(at.clone())));
            match a.kind {
                AttributeKind::LaunchBounds => {
                    bounds.max_threads = args.next();
                    bounds.min_blocks = args.next();
                    bounds.max_cluster_blocks = args.next();
                }
                AttributeKind::ClusterDims => {
                    let texts: Vec<&str> = a.args.iter().map(|(t, _)| t.trim()).collect();
                    bounds.cluster_dims = Some((texts.join(", "), self.span(a.span.clone())));
                }
                AttributeKind::MaxNReg => bounds.max_registers = args.next(),
                _ => {}
            }
        }
        bounds
    }

    /// Places in `range` where a macro stands whose effect is not known.
    pub fn opaque_macros(&self, range: Range<usize>) -> Vec<Span> {
        let opaque =
            |w: What| matches!(w, What::StatementMacro | What::LoopMacro | What::Parameters | What::OpaqueCall);
        let found = self.masked.replaced_in(range).iter().filter(|r| opaque(r.what));
        found.map(|r| self.span(r.range.clone())).collect()
    }

    /// Preprocessor conditions in `range` that the mask blanked: the text was read as if each were true.
    pub fn blanked_conditions(&self, range: Range<usize>) -> Vec<Span> {
        let is_condition = |r: Range<usize>| {
            let text = self.original.get(r).unwrap_or("").trim_start().trim_start_matches('#').trim_start();
            text.starts_with("if")
        };
        let found = self.masked.replaced_in(range).iter().filter(|r| r.what == What::Directive);
        found.filter(|r| is_condition(r.range.clone())).map(|r| self.span(r.range.clone())).collect()
    }

    /// Whether an `#if` of the text names the macro.
    pub fn is_tested(&self, name: &str) -> bool {
        let directive = |line: &'a str| line.trim_start().strip_prefix('#').map(str::trim_start);
        let conditions =
            self.original.lines().filter_map(directive).filter(|d| d.starts_with("if") || d.starts_with("elif"));
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        conditions.flat_map(|d| d.split(move |c: char| !is_part(c))).any(|word| word == name)
    }

    /// Semicolons that the mask put behind a call without one, which must then be a macro.
    pub fn added_semicolons(&self, range: Range<usize>) -> Vec<Span> {
        let found = self.masked.replaced_in(range).iter().filter(|r| r.what == What::Semicolon);
        found.map(|r| self.span(r.range.clone())).collect()
    }

    /// The type `T` of a macro whose body is `*(T*)(&(x))` or `reinterpret_cast<T*>(&(x))[0]`.
    pub fn reinterpreting_macro(&self, name: &str) -> Option<String> {
        let m = self.masked.macros.get(name).or_else(|| self.known.get(name)).filter(|m| !m.ambiguous)?;
        let [param] = m.params.as_deref()? else { return None };
        let body: String = m.body.replace("const ", "").chars().filter(|c| !c.is_whitespace()).collect();
        let inner = body.strip_prefix('(').and_then(|b| b.strip_suffix(')')).unwrap_or(&body);
        let at_most = |b: &str| {
            ["*reinterpret_cast<", "*(reinterpret_cast<", "*("]
                .iter()
                .find_map(|p| b.strip_prefix(p).map(str::to_owned))
        };
        let indexed =
            |b: &str| b.strip_suffix("[0]").and_then(|b| b.strip_prefix("reinterpret_cast<")).map(str::to_owned);
        let rest = [body.as_str(), inner].into_iter().find_map(|b| at_most(b).or_else(|| indexed(b)))?;
        let (ty, operand) = rest.split_once('*')?;
        let operand = operand.trim_start_matches(['>', ')', '(', '&']).trim_end_matches(')');
        let is_name = !ty.is_empty() && ty.chars().all(|c| c.is_alphanumeric() || c == '_' || c == ':');
        (is_name && operand == param && rest.contains('&')).then(|| ty.to_owned())
    }

    /// Whether the loop keyword at `at` stands in the place of a loop macro.
    pub fn is_loop_macro(&self, at: usize) -> bool {
        self.masked.replaced_in(at..at + 1).iter().any(|r| r.what == What::LoopMacro)
    }

    /// Whether `name` is a function-like macro, of this file or another.
    pub fn is_function_macro(&self, name: &str) -> bool {
        let of = |t: &MacroTable| t.get(name).is_some_and(|m| m.params.is_some());
        of(&self.masked.macros) || of(self.known)
    }
}
