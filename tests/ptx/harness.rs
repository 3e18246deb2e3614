//! Reads the header of a test kernel, lays out memory and arguments, runs it, and compares findings with the marks.
//!
//! ```text
//! // launch 2 128 0            grid, block (x or x,y), dynamic shared bytes
//! // buffer in f32 256 iota    iota | ones | zeros | mod7 | mod13 | spread | ints | none (undefined)
//! // int 100
//! // float 0.5
//! // steps 100000              instruction budget of a block
//! code;  //! Race              the finding that this line must give
//! ```

use kopt::ptx::{AllocationId, Arguments, Launch, Memory, Options, Outcome, Program};

pub struct Case {
    pub launch: Launch,
    buffers: Vec<(String, usize, String)>,
    arguments: Vec<Argument>,
    pub steps: Option<u64>,
    /// Kind and line of each mark.
    pub marks: Vec<(String, u32)>,
}

enum Argument {
    Buffer(usize),
    Int(i32),
    Float(f32),
}

/// Numbers from -10 to 10, none of them round, and each with another fraction.
fn spread(i: usize, count: usize) -> f32 {
    (20.0 * (i as f64 + 0.37) / count as f64 - 10.0) as f32
}

fn extents(text: &str) -> [u32; 3] {
    let mut extents = [1; 3];
    for (extent, word) in extents.iter_mut().zip(text.split(',')) {
        *extent = word.parse().expect("an extent");
    }
    extents
}

impl Case {
    pub fn read(text: &str) -> Case {
        let launch = Launch { grid: [1; 3], block: [32, 1, 1], dynamic_shared: 0, params: vec![] };
        let mut case = Case { launch, buffers: vec![], arguments: vec![], steps: None, marks: vec![] };
        for (n, line) in text.lines().enumerate() {
            if line.contains("//! ") && !line.trim_start().starts_with("//!") {
                let marks = line.split("//! ").skip(1);
                case.marks.extend(marks.map(|m| (m.trim().to_owned(), n as u32 + 1)));
                continue;
            }
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                ["//", "launch", grid, block, dynamic] => {
                    case.launch.grid = extents(grid);
                    case.launch.block = extents(block);
                    case.launch.dynamic_shared = dynamic.parse().expect("bytes");
                }
                ["//", "buffer", name, _, count, how] => {
                    case.arguments.push(Argument::Buffer(case.buffers.len()));
                    case.buffers.push((name.to_string(), count.parse().expect("a count"), how.to_string()));
                }
                ["//", "int", value] => case.arguments.push(Argument::Int(value.parse().expect("an int"))),
                ["//", "float", value] => case.arguments.push(Argument::Float(value.parse().expect("a float"))),
                ["//", "steps", count] => case.steps = Some(count.parse().expect("a count")),
                _ => {}
            }
        }
        case
    }

    /// Fresh memory and the launch for it. All elements have 4 bytes.
    pub fn prepare(&self, program: &Program) -> (Memory, Launch) {
        let mut memory = Memory::new();
        let mut addresses = vec![];
        for (n, (name, count, how)) in self.buffers.iter().enumerate() {
            let id = memory.allocate(name, 4 * *count as u64).unwrap();
            assert_eq!(id, AllocationId(n as u32));
            let float = |i: usize| if how == "ones" { 1.0f32 } else { i as f32 };
            let data: Vec<u8> = match how.as_str() {
                "none" => vec![],
                "zeros" => vec![0; 4 * count],
                "mod7" => (0..*count).flat_map(|i| ((i % 7) as f32).to_le_bytes()).collect(),
                "mod13" => (0..*count).flat_map(|i| ((i * 7 % 13) as f32).to_le_bytes()).collect(),
                "mod13+1" => (0..*count).flat_map(|i| (((i * 7 + 1) % 13) as f32).to_le_bytes()).collect(),
                "spread" => (0..*count).flat_map(|i| spread(i, *count).to_le_bytes()).collect(),
                "ints" => (0..*count as u32).flat_map(u32::to_le_bytes).collect(),
                _ => (0..*count).flat_map(|i| float(i).to_le_bytes()).collect(),
            };
            memory.write(id, 0, &data).unwrap();
            addresses.push(memory.address(id).unwrap());
        }
        let mut arguments = Arguments::new();
        for argument in self.arguments.iter().take(program.params.len()) {
            arguments = match argument {
                Argument::Buffer(n) => arguments.u64(addresses[*n]),
                Argument::Int(value) => arguments.i32(*value),
                Argument::Float(value) => arguments.f32(*value),
            };
        }
        let launch = Launch { params: arguments.bytes(), ..self.launch.clone() };
        (memory, launch)
    }

    /// The contents of a buffer.
    pub fn floats(&self, memory: &Memory, name: &str) -> Vec<f32> {
        let n = self.buffers.iter().position(|b| b.0 == name).expect("a buffer");
        let bytes = memory.read(AllocationId(n as u32), 0, 4 * self.buffers[n].1 as u64).unwrap();
        bytes.chunks_exact(4).map(|c| f32::from_le_bytes(c.try_into().unwrap())).collect()
    }

    pub fn run(&self, program: &Program, mut options: Options) -> (Memory, Outcome) {
        if let Some(steps) = self.steps {
            options.limits.block_steps = steps;
        }
        let (mut memory, launch) = self.prepare(program);
        let outcome = kopt::ptx::run(program, &launch, &mut memory, &options).unwrap_or_else(|e| panic!("{e}"));
        (memory, outcome)
    }
}

/// Kind and line of every finding, sorted.
pub fn found(program: &Program, outcome: &Outcome) -> Vec<(String, u32)> {
    let mut list: Vec<(String, u32)> =
        outcome.findings.iter().map(|f| (format!("{:?}", f.kind), program.lines[f.line.0 as usize].line)).collect();
    list.sort();
    list
}
