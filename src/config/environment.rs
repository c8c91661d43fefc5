//! The environment variables of options, and misspelt ones.

use std::ffi::OsStr;

use clap::Command;

use super::keys::VARIABLE_PREFIX;

/// Lets every option of `command` and its subcommands treat an empty variable as not set, and keeps the
/// values of variables out of help texts.
pub fn with_environment(command: Command) -> Command {
    command
        .mut_args(|arg| {
            let variable = arg.get_env().map(OsStr::to_owned);
            let is_empty = variable.and_then(std::env::var_os).is_some_and(|value| value.is_empty());
            let arg = arg.hide_env_values(true);
            if is_empty { arg.env(None::<&str>) } else { arg }
        })
        .mut_subcommands(with_environment)
}

/// Returns the names of set variables that start with `SIGHTLINE_` and belong to no option of `command`. They
/// are most likely misspelt.
pub fn unknown_variables(command: &Command) -> Vec<String> {
    let mut known = Vec::new();
    collect_variables(command, &mut known);
    let mut unknown: Vec<String> = std::env::vars_os()
        .filter_map(|(name, _)| name.into_string().ok())
        .filter(|name| name.starts_with("SIGHTLINE_") && !name.starts_with(VARIABLE_PREFIX))
        // Tests set these for the servers that they start.
        .filter(|name| !name.starts_with("SIGHTLINE_TEST_"))
        // The clients in scripts/examples read these, and may run in the same shell.
        .filter(|name| !["SIGHTLINE_URL", "SIGHTLINE_API_KEY"].contains(&name.as_str()))
        .filter(|name| !known.contains(name))
        .collect();
    unknown.sort();
    unknown
}

fn collect_variables(command: &Command, known: &mut Vec<String>) {
    let variables = command.get_arguments().filter_map(|arg| arg.get_env()?.to_str().map(str::to_owned));
    known.extend(variables);
    command.get_subcommands().for_each(|command| collect_variables(command, known));
}
