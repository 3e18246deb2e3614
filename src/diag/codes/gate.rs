//! K065x-K069x: verification.

use super::{Code, Entry};

pub const ENTRIES: &[Entry] = &[
    Entry {
        code: Code(650),
        title: "the candidate's output differs",
        explain: "Original and candidate ran on equal inputs, and an element of an output differs by more than its bound: bit for \
bit for integers and where the contract says `exact`, else a bound from the type, the magnitude of the output, the length of \
the reduction and the sensitivity of the result. The first element outside is shown with both values. A bound of your own \
stands in `[tolerance.OUTPUT]` of the contract.",
    },
    Entry {
        code: Code(651),
        title: "the candidate does something undefined",
        explain: "The interpreter saw an access out of bounds, a data race, a read of memory that nothing wrote, a barrier that not \
all threads reach, or the like, in the candidate and not in the original. What a device would do is not defined, even where \
the outputs agreed this time.",
    },
    Entry {
        code: Code(652),
        title: "the interpreter does not model this",
        explain: "The compiled kernel has an instruction or a feature that the interpreter does not carry out. It refuses rather \
than guess, so nothing is known of the kernel.",
    },
    Entry {
        code: Code(653),
        title: "the contract has open questions",
        explain: "Without sizes, roles and launches nothing can be run. What the files show is inferred; the rest is asked. \
`kopt contract infer --write FILE` writes the proposal beside the file; correct it, remove the marks, and run again. \
`--accept-proposed` takes guesses for your word; what is missing stays missing.",
    },
    Entry {
        code: Code(654),
        title: "it is not clear which kernel is meant",
        explain: "A file or contract has several kernels, or none of the name. `--kernel` names the original's, \
`--candidate-kernel` the candidate's.",
    },
    Entry {
        code: Code(655),
        title: "the original is not defined here",
        explain: "The original itself does something undefined in a cell, writes what the contract calls an input, or cannot be \
launched. Nothing can be asked of a candidate there: the cell is inconclusive. Often the contract admits a size that the \
original was not written for: restrict the dim with `min` or `divisible_by`.",
    },
    Entry {
        code: Code(656),
        title: "the candidate writes other elements than the original",
        explain: "Outputs begin as a pattern that no result should hold. Elements that the original writes must be written by the \
candidate, too, and those that it leaves alone must stay.",
    },
    Entry {
        code: Code(657),
        title: "the candidate writes where it must not",
        explain: "It changed an input, bytes beside a buffer, or a `__device__` variable that keeps its value for the next launch. \
A variable that may keep state is named in `[permissions] mutable_globals`.",
    },
    Entry {
        code: Code(658),
        title: "the candidate does not run to its end",
        explain: "Its launch fails (too much shared memory, too many threads or registers), it ends in a trap or a deadlock, it \
prints without end, or it takes many times the instructions of the original and is taken for an endless loop.",
    },
    Entry {
        code: Code(659),
        title: "the comparison could not have told a wrong answer",
        explain: "Answers that are wrong for certain are compared as the candidate's are: zeros, the output for another input, what \
stood in the buffer before, the next lower precision. Each must be refused in at least one cell. Where one never is, \
agreement says nothing: choose other sizes or distributions, or a tighter tolerance.",
    },
    Entry {
        code: Code(660),
        title: "this input cannot be verified",
        explain: "`kopt verify` takes two CUDA files, or two PTX files with a contract. CUBIN files are machine code, which the \
interpreter does not read.",
    },
    Entry {
        code: Code(661),
        title: "the candidate's result depends on what stood in its outputs",
        explain: "Two runs that differ only in the pattern in outputs and temporaries before the launch gave different results: the \
candidate reads what it should only write.",
    },
    Entry {
        code: Code(662),
        title: "the gate's self-test failed",
        explain: "A kernel that is wrong on purpose passed, or one that is right was refused. Do not trust this build of kopt.",
    },
    Entry {
        code: Code(663),
        title: "the candidate's launches do not fit the contract",
        explain: "The candidate has launches of its own, and they name buffers or sizes that the contract does not have. Give its \
plan with `--candidate-contract`: the same args and dims, other steps and temporaries.",
    },
    Entry {
        code: Code(664),
        title: "the contract does not say what a device variable holds",
        explain: "A kernel reads a `__constant__` variable without an initialiser, or a `__device__` variable that host code sets or \
that nothing on the device writes. With zeros in it both sides would agree on nothing. Say what it holds: an argument with \
`symbol = \"NAME\"` is filled on both sides as buffers are, and given to no launch. `kopt contract infer` proposes it where host \
code copies to it.",
    },
    Entry {
        code: Code(665),
        title: "the kernel is another program for another compiler",
        explain: "The text of the kernel asks which compiler reads it (`__CUDACC_RTC__`, `__NVCC__`, `__GNUC__`, `__has_include`), and \
what NVRTC makes of it is not what nvcc makes of it. The interpreter ran, or would run, a program that the user's build does \
not have, so that nothing is said.",
    },
    Entry {
        code: Code(666),
        title: "the contract's reference cannot be run",
        explain: "`reference` names a kernel or a host function of the file, or a command. A host function is cut out with what it \
needs, compiled by the system's C++ compiler and run in a child process with limits; it needs the C++ standard library alone, \
and its parameters have the names of the kernel's, or of args and dims. A command runs only where `--trust` says so: it is \
given a folder with `cell.json` and `NAME.bin` for every buffer, and writes the outputs over theirs.",
    },
    Entry {
        code: Code(669),
        title: "random programs failed",
        explain: "`kopt gate fuzz` rewrites random kernels wherever the engine takes it for sound, runs original and result in the \
interpreter, and compares. A difference is a fault of kopt, not of your code. Each is printed with its seed, made as small \
as it still fails: `kopt gate fuzz --seeds N..M` with that seed shows it again. Report it.",
    },
    Entry {
        code: Code(670),
        title: "a fact that is called proved does not hold",
        explain: "`kopt gate honesty` runs a kernel in the interpreter and compares what the analysis says of it with what it does: \
values, addresses, strides, alignment, uniformity, barriers, aliasing. One that is called proved and does not hold is a defect \
of kopt: do not rely on rewrites of such kernels, and report it.",
    },
    Entry {
        code: Code(680),
        title: "nothing was run on a GPU",
        explain: "There is no driver, no device of that number, or the process that owns the device could not do its work for a \
reason that says nothing about the kernel: out of memory, a device that is busy. `kopt doctor` names the GPUs that the driver \
lists. Without one, the interpreter (tier 1) still runs.",
    },
    Entry {
        code: Code(690),
        title: "compute-sanitizer finds an error",
        explain: "A tool of the CUDA toolkit (memcheck, racecheck, initcheck or synccheck) watched the kernel on the GPU and reports \
an access out of bounds, a race in shared memory, a read of global memory that nothing wrote, or a barrier that not all threads \
reach. Of a candidate it is one of a kind that the original does not have.",
    },
    Entry {
        code: Code(691),
        title: "compute-sanitizer finds something in the original, or is not sure",
        explain: "The same tools report something that rejects nothing: it is the original's, the original has one of its kind, too, or \
the tool itself calls it a warning.",
    },
    Entry {
        code: Code(692),
        title: "a bundle cannot be used",
        explain: "A bundle of `kopt gate bundle` carries compiled candidates, their contracts and texts. Every part is named by its \
hash and every case by a build id that stands for all of it. One that was cut off, changed, made by a version of kopt with another \
layout, or that has nothing for the architecture of the GPU is refused as a whole, and nothing of it is run.",
    },
    Entry {
        code: Code(693),
        title: "a result does not belong to these files",
        explain: "`kopt gate ingest` takes a verdict only where the original, the candidate, their headers and the contract are, byte for \
byte, what was judged: the result carries the build id and the hashes of all of them. After a change make the bundle again.",
    },
    Entry {
        code: Code(696),
        title: "a TileLang program was not lowered",
        explain: "`kopt lower` asks the TileLang that Python finds to lower a program to CUDA, compiles that with nvcc, and writes the \
launches down as a contract. It runs the Python file, and so asks for `--trust`. Programs that need descriptors of the tensor memory \
accelerator cannot be launched by a contract: lower for an older architecture, or turn them off with `--config`.",
    },
];
