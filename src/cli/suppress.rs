//! `suppress hash`, `key`: make lists of identifiers that are never searched.

use std::io::{self, BufRead, Write};

use clap::Subcommand;

use super::exit::{Exit, Failure};
use crate::base::encoding::hex;
use crate::base::secret::{Secret, random};
use crate::config::{secret, suppress_key};
use crate::modules::query::{Query, SearchType};
use crate::runs::suppression::SuppressKey;

/// Make lists of identifiers that are never searched (see `serve --suppress`)
#[derive(Debug, Subcommand)]
#[command(arg_required_else_help = true)]
pub(crate) enum SuppressAction {
    /// Hash identifiers from standard input, one on each line, into lines for a list
    ///
    /// Each identifier is normalized as in a search, and case is ignored, so that other spellings also match.
    /// Blank lines and lines that start with # are skipped. Nothing is written unless every line is a valid
    /// identifier of the type.
    #[command(after_help = "\
Examples:
  export SIGHTLINE_SUPPRESS_KEY=$(sightline suppress key)     keep it: a list is of use with its key alone
  echo jane@example.org | sightline suppress hash email >> suppressed.txt
  sightline serve --suppress suppressed.txt")]
    Hash {
        /// Kind of identifiers
        #[arg(value_name = "TYPE")]
        search_type: SearchType,
        /// Key of the list
        #[arg(long, value_name = "KEY", value_parser = secret(suppress_key))]
        suppress_key: Secret<String>,
    },
    /// Make a new key from the system's random numbers
    #[command(after_help = "\
Example:
  sightline suppress key > suppress.key")]
    Key,
}

pub(crate) fn run(action: SuppressAction, out: &mut dyn Write) -> Result<Exit, Failure> {
    match action {
        SuppressAction::Hash { search_type, suppress_key } => {
            let lines = hash(search_type, &SuppressKey::new(suppress_key), io::stdin().lock())?;
            lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
        }
        SuppressAction::Key => writeln!(out, "{}", hex(&random::<32>()))?,
    }
    Ok(Exit::Done)
}

fn hash(kind: SearchType, key: &SuppressKey, input: impl BufRead) -> Result<Vec<String>, Failure> {
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(input.lines()) {
        let line = line.map_err(|error| {
            Failure::Failed(format!("cannot read standard input, line {number}: {error}"))
        })?;
        let text = line.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        // The error does not repeat the text.
        let query = Query::parse(kind, text)
            .map_err(|error| Failure::Usage(format!("standard input, line {number}: {error}")))?;
        lines.push(key.line(&query));
    }
    Ok(lines)
}
