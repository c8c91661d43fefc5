//! `man`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_mangen::Man;

use super::exit::{Exit, Failure};
use super::replace::cannot_write;
use super::unused::UnusedDatabase;

/// Print the manual page of the program for `man`, or write one for each command
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sightline man | man -l -
  sightline man --output ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Write the page of every command into this folder, such as `sightline-search.1`
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    #[command(flatten)]
    unused: UnusedDatabase,
}

pub(crate) fn run(args: &ManArgs, mut command: Command, out: &mut dyn Write) -> Result<Exit, Failure> {
    command.build();
    match &args.output {
        Some(folder) => {
            fs::create_dir_all(folder).map_err(|error| cannot_write(folder, &error))?;
            write_pages(&command, folder)?;
        }
        None => Man::new(command).render(out)?,
    }
    Ok(Exit::Done)
}

/// Writes the page of a command and of all commands below it. After `Command::build`, each command has a display name,
/// such as `sightline-account-create`.
fn write_pages(command: &Command, folder: &Path) -> Result<(), Failure> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let path = folder.join(format!("{name}.1"));
    let mut page = Vec::new();
    Man::new(command.clone()).title(name.as_str()).render(&mut page)?;
    fs::write(&path, page).map_err(|error| cannot_write(&path, &error))?;
    command
        .get_subcommands()
        .filter(|below| !below.is_hide_set())
        .try_for_each(|below| write_pages(below, folder))
}
