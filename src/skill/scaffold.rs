//! Texts for `kopt new` and `kopt skills new`: a skill file that reads and checks clean, to be filled in.

use super::ast::BodyKind;
use super::lower::is_skill_name;

/// What to write for a new skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scaffold {
    /// Text of `skills/<direction>/<name>.skill`.
    pub skill: String,
    /// Text of `passes/<name>.rs`, for a native body.
    pub pass: Option<String>,
}

/// Why a name or a direction cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScaffoldError {
    #[error("`{0}` is no name for a skill: use lower-case words joined by `_`, a verb first, like `vectorize_access`")]
    Name(String),
}

/// The files of a new skill. Whether the direction exists is for the caller to check, who knows the library.
///
/// # Errors
/// [`ScaffoldError::Name`] if the name is not of the form verb_object.
pub fn scaffold(name: &str, direction: &str, kind: BodyKind) -> Result<Scaffold, ScaffoldError> {
    if !is_skill_name(name) {
        return Err(ScaffoldError::Name(name.to_owned()));
    }
    let spoken = name.replace('_', " ");
    let body = match kind {
        BodyKind::Native => "body cuda native".to_owned(),
        BodyKind::Model => "body cuda model".to_owned(),
        BodyKind::Template => "# The left side is looked for at the first anchor; $x stands for any expression.\n  \
             body cuda template {\n    \"\"\"sqrtf($x)\"\"\" => \"\"\"__fsqrt_rn($x)\"\"\"\n  }"
            .to_owned(),
    };
    let skill = SKILL
        .replace("@NAME@", name)
        .replace("@SPOKEN@", &spoken)
        .replace("@DIRECTION@", direction)
        .replace("@BODY@", &body);
    let pass = (kind == BodyKind::Native)
        .then(|| PASS.replace("@NAME@", name).replace("@SPOKEN@", &spoken).replace("@STRUCT@", &camel_case(name)));
    Ok(Scaffold { skill, pass })
}

/// `VectorizeAccess` of `vectorize_access`: the name of the struct in its pass file.
pub fn camel_case(name: &str) -> String {
    let capital = |word: &str| {
        let mut chars = word.chars();
        chars.next().map(|c| c.to_ascii_uppercase().to_string() + chars.as_str()).unwrap_or_default()
    };
    name.split('_').map(capital).collect()
}

const SKILL: &str = r#"# One intent. Replace what is written here; `kopt test @NAME@` runs its cases.
skill @NAME@ "@SPOKEN@" {
  direction @DIRECTION@
  intent    "say in one sentence what the rewrite does for the kernel"
  class     preserving because "say why all values stay the same"
  touches   body
  scope     { case any  language cuda  platform sm_70.. }

  match     c: call(sqrtf)

  # Say for every group what must hold and what goes wrong otherwise, or `none`.
  require {
    datatypes none
    layout    none
    storage   none
    pipeline  none
    hardware  none
  }

  effect    instructions falls
  risk      "say what may get worse"

  @BODY@

  example "the common case" {
    before """
      __global__ void k(float* x, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) x[i] = sqrtf(x[i]);
      }
    """
  }

  refuse "nothing to act on" {
    before """
      __global__ void k(float* x) { x[threadIdx.x] = 1.0f; }
    """
    because match
  }
}
"#;

const PASS: &str = r#"//! Carry out @SPOKEN@.
//!
//! ## Before and after
//!
//! ```cuda
//! // before
//! // after
//! ```
//!
//! ## How
//!
//! ## Limits

use crate::edit::Editor;
use crate::pass::{Broken, Pass};
use crate::skill::engine::{Proof, Site};

pub struct @STRUCT@;

impl Pass for @STRUCT@ {
    fn rewrite(&self, site: &Site, _proof: &Proof, _edit: &mut Editor) -> Result<(), Broken> {
        let _ = site;
        Err(Broken("@NAME@ has no rewrite yet".to_owned()))
    }
}
"#;
