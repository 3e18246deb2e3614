//! nvcc options for NVRTC: taken over, or named as not honoured.

/// Options for the run-time compiler, and what could not be taken over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    pub options: Vec<String>,
    /// Options of the user that have no counterpart: to be shown, since the result may differ from the build.
    pub not_honoured: Vec<String>,
}

/// What each nvcc option becomes.
enum Become {
    /// The same option under this name, its value joined by `=`.
    Named(&'static str),
    /// A switch.
    Switch(&'static str),
    /// Without meaning for device code: dropped.
    Nothing,
}

const WITH_VALUE: &[(&str, Become)] = &[
    ("-std", Become::Named("--std")),
    ("--std", Become::Named("--std")),
    ("-maxrregcount", Become::Named("--maxrregcount")),
    ("--maxrregcount", Become::Named("--maxrregcount")),
    ("-ftz", Become::Named("--ftz")),
    ("--ftz", Become::Named("--ftz")),
    ("-prec-div", Become::Named("--prec-div")),
    ("--prec-div", Become::Named("--prec-div")),
    ("-prec-sqrt", Become::Named("--prec-sqrt")),
    ("--prec-sqrt", Become::Named("--prec-sqrt")),
    ("-fmad", Become::Named("--fmad")),
    ("--fmad", Become::Named("--fmad")),
    ("-diag-suppress", Become::Named("--diag-suppress")),
    ("--diag-suppress", Become::Named("--diag-suppress")),
    ("-D", Become::Named("-D")),
    ("--define-macro", Become::Named("-D")),
    ("-U", Become::Named("-U")),
    ("-gencode", Become::Nothing),
    ("--generate-code", Become::Nothing),
    ("-arch", Become::Nothing),
    ("--gpu-architecture", Become::Nothing),
    ("-code", Become::Nothing),
    ("--gpu-code", Become::Nothing),
    ("-o", Become::Nothing),
    ("--output-file", Become::Nothing),
    ("-I", Become::Nothing),
    ("--include-path", Become::Nothing),
    ("-isystem", Become::Nothing),
    ("-L", Become::Nothing),
    ("-l", Become::Nothing),
    ("-Xcompiler", Become::Nothing),
    ("--compiler-options", Become::Nothing),
    ("-ccbin", Become::Nothing),
    ("--compiler-bindir", Become::Nothing),
    ("-Xlinker", Become::Nothing),
    ("-MF", Become::Nothing),
    ("-MT", Become::Nothing),
    ("-t", Become::Nothing),
    ("--threads", Become::Nothing),
    ("-x", Become::Nothing),
];

const ALONE: &[(&str, Become)] = &[
    ("-use_fast_math", Become::Switch("--use_fast_math")),
    ("--use_fast_math", Become::Switch("--use_fast_math")),
    ("-extra-device-vectorization", Become::Switch("--extra-device-vectorization")),
    ("--extra-device-vectorization", Become::Switch("--extra-device-vectorization")),
    ("--expt-extended-lambda", Become::Nothing),
    ("-extended-lambda", Become::Nothing),
    ("--extended-lambda", Become::Nothing),
    ("-expt-extended-lambda", Become::Nothing),
    // Functions without annotation that the slice keeps are constexpr, and are compiled for the device.
    ("--expt-relaxed-constexpr", Become::Nothing),
    ("-expt-relaxed-constexpr", Become::Nothing),
    ("-lineinfo", Become::Nothing),
    ("--generate-line-info", Become::Nothing),
    ("-c", Become::Nothing),
    ("-dc", Become::Nothing),
    ("-MD", Become::Nothing),
    ("-MMD", Become::Nothing),
    ("-g", Become::Nothing),
    ("-w", Become::Nothing),
    ("-shared", Become::Nothing),
    ("-O0", Become::Nothing),
    ("-O1", Become::Nothing),
    ("-O2", Become::Nothing),
    ("-O3", Become::Nothing),
    ("-DNDEBUG", Become::Switch("-DNDEBUG")),
    ("-m64", Become::Nothing),
];

/// Reads the options of an nvcc command line, without the program and the input files.
pub fn from_nvcc(arguments: &[String]) -> Flags {
    let mut out = Flags::default();
    let mut list = arguments.iter().peekable();
    while let Some(argument) = list.next() {
        if !argument.starts_with('-') {
            continue;
        }
        if let Some((_, become_)) = ALONE.iter().find(|(name, _)| name == argument) {
            if let Become::Switch(option) = become_ {
                out.options.push((*option).to_owned());
            }
            continue;
        }
        let joined = WITH_VALUE.iter().filter_map(|(name, b)| argument.strip_prefix(name).map(|rest| (*name, rest, b)));
        // The longest name wins: `-std` before `-s`.
        let Some((name, rest, become_)) = joined.max_by_key(|(name, _, _)| name.len()) else {
            out.not_honoured.push(argument.clone());
            continue;
        };
        let short = matches!(name, "-D" | "-U" | "-I" | "-L" | "-l" | "-t" | "-x" | "-o");
        let value = match rest.strip_prefix('=') {
            Some(value) => value.to_owned(),
            None if rest.is_empty() => list.next().cloned().unwrap_or_default(),
            None if short => rest.to_owned(),
            None => {
                out.not_honoured.push(argument.clone());
                continue;
            }
        };
        match become_ {
            Become::Named("-D") => out.options.push(format!("-D{value}")),
            Become::Named("-U") => out.options.push(format!("-U{value}")),
            Become::Named(option) => out.options.push(format!("{option}={value}")),
            Become::Switch(_) | Become::Nothing => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_taken_over_or_named() {
        let given = "-O3 -std=c++20 --use_fast_math -DN=4 -D M=5 -gencode arch=compute_80,code=sm_80 -Xcompiler -fPIC \
            -maxrregcount 64 --fmad=false -I inc -Iinc2 --forced-x -rdc=true kernel.cu -o a.o -lineinfo";
        let flags = from_nvcc(&given.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(
            flags.options,
            ["--std=c++20", "--use_fast_math", "-DN=4", "-DM=5", "--maxrregcount=64", "--fmad=false"]
        );
        assert_eq!(flags.not_honoured, ["--forced-x", "-rdc=true"]);
    }

    #[test]
    fn an_option_without_its_value_ends_quietly() {
        assert_eq!(from_nvcc(&["-D".to_owned()]).options, ["-D"]);
        assert_eq!(from_nvcc(&[]), Flags::default());
    }
}
