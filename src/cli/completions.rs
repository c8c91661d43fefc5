//! `completions`.

use std::io::Write;

use clap::{Args, Command};
use clap_complete::Shell;

use super::exit::{Exit, Failure};

/// Print a script that lets a shell complete commands, options and their values
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sightline completions bash > ~/.local/share/bash-completion/completions/sightline
  sightline completions zsh > ~/.zfunc/_sightline
  sightline completions fish > ~/.config/fish/completions/sightline.fish
  sightline completions powershell >> $PROFILE")]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(
    args: &CompletionsArgs,
    mut command: Command,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    // Writing to memory does not fail, and a closed output is an error of `write_all`.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "sightline", &mut script);
    out.write_all(&script)?;
    Ok(Exit::Done)
}
