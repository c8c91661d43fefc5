//! The binary from outside: what it refuses, what it prints, how it exits.

mod completions;
mod help;
mod interrupts;
mod real_web;
mod search;
mod serve;
mod transcripts;

use std::ffi::OsStr;
use std::process::{Command, Output, Stdio};

pub(crate) use crate::support::folder::Folder;

/// Returns a command of the binary with only these `SIGHTLINE_` variables, in the temporary folder.
pub(crate) fn sightline<A: AsRef<OsStr>>(args: &[A], variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sightline"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("SIGHTLINE_") {
            command.env_remove(name);
        }
    }
    command.args(args).envs(variables.iter().copied()).stdin(Stdio::null()).current_dir(std::env::temp_dir());
    command
}

/// The output of a finished command.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
    shown: String,
}

impl Ran {
    /// Fails unless the exit code is this one. Shows the whole output.
    #[track_caller]
    pub(crate) fn code_is(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{}", self.shown);
        self
    }

    /// Fails unless standard error contains `text`.
    #[track_caller]
    pub(crate) fn err_has(self, text: &str) -> Self {
        assert!(self.err.contains(text), "standard error lacks {text:?}\n{}", self.shown);
        self
    }

    /// Fails if any output contains `text`.
    #[track_caller]
    pub(crate) fn never_prints(self, text: &str) -> Self {
        assert!(!self.out.contains(text) && !self.err.contains(text), "{text:?} is in {}", self.shown);
        self
    }
}

/// Runs the binary to its end.
pub(crate) fn ran<A: AsRef<OsStr>>(args: &[A], variables: &[(&str, &str)]) -> Ran {
    let mut command = sightline(args, variables);
    let Output { status, stdout, stderr } = command.output().unwrap();
    let (out, err) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
    let code = status.code().unwrap_or(-1);
    let shown = format!("{command:?}\nexit code {code}\n--- out\n{out}\n--- err\n{err}");
    Ran { code, out, err, shown }
}
