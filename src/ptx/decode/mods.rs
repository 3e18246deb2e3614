//! Modifiers of an opcode. Each must be taken by the decoder; what is left over makes the instruction unsupported.

use crate::ptx::ast::Type;
use crate::ptx::scalar::Rounding;

pub(crate) struct Mods<'a> {
    pub whole: &'a str,
    pub base: &'a str,
    parts: [&'a str; 16],
    count: usize,
    taken: u32,
}

impl<'a> Mods<'a> {
    /// None if there are more modifiers than any instruction has.
    pub fn split(whole: &'a str) -> Option<Self> {
        let mut words = whole.split('.');
        let base = words.next().unwrap_or("");
        let mut parts = [""; 16];
        let mut count = 0;
        for word in words {
            *parts.get_mut(count)? = word;
            count += 1;
        }
        Some(Mods { whole, base, parts, count, taken: 0 })
    }

    /// Takes the first free modifier that `pick` accepts.
    pub fn take_map<T>(&mut self, mut pick: impl FnMut(&'a str) -> Option<T>) -> Option<T> {
        for i in 0..self.count {
            if self.taken >> i & 1 == 0
                && let Some(value) = pick(self.parts[i])
            {
                self.taken |= 1 << i;
                return Some(value);
            }
        }
        None
    }

    pub fn flag(&mut self, name: &str) -> bool {
        self.take_map(|part| (part == name).then_some(())).is_some()
    }

    pub fn one_of(&mut self, names: &[&'static str]) -> Option<&'static str> {
        self.take_map(|part| names.iter().copied().find(|n| *n == part))
    }

    pub fn ty(&mut self) -> Option<Type> {
        self.take_map(Type::named)
    }

    /// `.rn .rz .rm .rp .rna`
    pub fn rounding(&mut self) -> Option<Rounding> {
        self.take_map(|part| {
            Some(match part {
                "rn" => Rounding::NearestEven,
                "rna" => Rounding::NearestAway,
                "rz" => Rounding::Zero,
                "rm" => Rounding::Down,
                "rp" => Rounding::Up,
                _ => return None,
            })
        })
    }

    /// `.rni .rzi .rmi .rpi`
    pub fn integer_rounding(&mut self) -> Option<Rounding> {
        self.take_map(|part| {
            Some(match part {
                "rni" => Rounding::NearestEven,
                "rzi" => Rounding::Zero,
                "rmi" => Rounding::Down,
                "rpi" => Rounding::Up,
                _ => return None,
            })
        })
    }

    /// Takes every free modifier that `accept` names: hints without effect on results.
    pub fn skip(&mut self, accept: impl Fn(&str) -> bool) {
        while self.take_map(|part| accept(part).then_some(())).is_some() {}
    }

    /// The first modifier that nobody took.
    pub fn left(&self) -> Option<&'a str> {
        (0..self.count).find(|i| self.taken >> i & 1 == 0).map(|i| self.parts[i])
    }
}
