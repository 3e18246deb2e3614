//! Runs the built program in a folder of its own, with an empty cache and no CUDA in sight.
#![allow(dead_code)]

use std::path::PathBuf;
use std::process::Command;

pub const TRANSPOSE: &str = "\
// A tile whose columns all lie in one bank.
__global__ void transpose(const float* in, float* out, int n) {
    __shared__ float tile[32][32];
    int x = blockIdx.x * 32 + threadIdx.x;
    int y = blockIdx.y * 32 + threadIdx.y;
    if (x < n && y < n) tile[threadIdx.y][threadIdx.x] = in[y * n + x];
    __syncthreads();
    int tx = blockIdx.y * 32 + threadIdx.x;
    int ty = blockIdx.x * 32 + threadIdx.y;
    if (tx < n && ty < n) out[ty * n + tx] = tile[threadIdx.x][threadIdx.y];
}

void run(const float* in, float* out, int n) {
    transpose<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(in, out, n);
}
";

/// Nothing in it for any skill.
pub const PLAIN: &str = "\
__global__ void plain(float* y) { y[blockIdx.x * blockDim.x + threadIdx.x] = 1.0f; }
";

/// No kernel that can be read: the braces do not match.
pub const BROKEN: &str = "__global__ void broken(float* y) { if (y) { y[0] = = 1.0f; \n";

pub struct Folder {
    folder: tempfile::TempDir,
}

#[derive(Debug)]
pub struct Run {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Folder {
    pub fn new(files: &[(&str, &str)]) -> Folder {
        let folder = Folder { folder: tempfile::tempdir().expect("a temporary folder") };
        for (name, text) in files {
            folder.put(name, text.as_bytes());
        }
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn put(&self, name: &str, bytes: &[u8]) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, bytes).expect("a file");
    }

    pub fn get(&self, name: &str) -> String {
        String::from_utf8(std::fs::read(self.path(name)).expect(name)).expect("UTF-8")
    }

    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.folder.path())
            .env_remove("CUDA_HOME")
            .env_remove("CUDA_PATH")
            .env_remove("KOPT_NVRTC")
            .env_remove("KOPT_MEMORY");
        command.env("XDG_DATA_HOME", self.path(".data")).env("KOPT_CACHE", self.path(".cache")).env("NO_COLOR", "1");
        command
    }

    /// Runs kopt with words that are separated by blanks.
    pub fn kopt(&self, arguments: &str) -> Run {
        self.kopt_with(&arguments.split_whitespace().collect::<Vec<_>>())
    }

    pub fn kopt_with(&self, arguments: &[&str]) -> Run {
        let output = self.command(env!("CARGO_BIN_EXE_kopt")).args(arguments).output().expect("kopt starts");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Run { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Runs kopt with the compiler that this machine has; `None` without one, which fails where one is required.
    pub fn kopt_compiling(&self, arguments: &str) -> Option<Run> {
        self.kopt_compiling_with(&arguments.split_whitespace().collect::<Vec<_>>())
    }

    /// The same with words as they are.
    pub fn kopt_compiling_with(&self, arguments: &[&str]) -> Option<Run> {
        let toolchain = kopt::compile::Toolchain::find();
        if toolchain.nvrtc.is_none() {
            assert!(std::env::var_os("KOPT_REQUIRE_TIER1").is_none(), "{}", toolchain.report());
            return None;
        }
        let mut command = self.command(env!("CARGO_BIN_EXE_kopt"));
        for name in ["KOPT_CACHE", "CUDA_HOME", "CUDA_PATH", "KOPT_NVRTC"] {
            match std::env::var_os(name) {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let output = command.args(arguments).output().expect("kopt starts");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Some(Run { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) })
    }

    pub fn git(&self, arguments: &str) {
        let mut command = self.command("git");
        command.args(["-c", "user.name=t", "-c", "user.email=t@t"]).args(arguments.split_whitespace());
        let output = command.output().expect("git starts");
        assert!(output.status.success(), "git {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

impl Run {
    #[track_caller]
    pub fn expect(&self, code: i32) -> &Run {
        assert_eq!(self.code, Some(code), "{}\n--- stderr\n{}", self.out, self.err);
        self
    }

    #[track_caller]
    pub fn says(&self, part: &str) -> &Run {
        assert!(
            self.out.contains(part) || self.err.contains(part),
            "`{part}` in\n{}\n--- stderr\n{}",
            self.out,
            self.err
        );
        self
    }

    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}\n{}\n{}", self.out, self.err))
    }
}
