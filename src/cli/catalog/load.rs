//! Loads the catalogue for a command.

use std::io::{self, Write};

use clap::Args;

use crate::base::text::plain;
use crate::cli::exit::Failure;
use crate::cli::unused::UnusedDatabase;
use crate::config::CatalogConfig;
use crate::modules::catalog::{Catalog, CatalogError};
use crate::modules::import::report::{ListReport, NoteKind};

/// The options that select the catalogue.
#[derive(Debug, Args)]
pub(crate) struct CatalogOptions {
    #[command(flatten)]
    pub(crate) catalog: CatalogConfig,
    #[command(flatten)]
    unused: UnusedDatabase,
}

/// Loads the catalogue. Writes the left-out entries of other tools' lists to standard error.
///
/// # Errors
/// Fails if the catalogue has mistakes. The message contains all of them.
pub(crate) fn load(config: &CatalogConfig) -> Result<Catalog, Failure> {
    config.check()?;
    let catalog = Catalog::load(!config.no_builtin, &config.files)
        .map_err(|error| Failure::Usage(format!("the catalogue has mistakes\n{}", faults(&error))))?;
    write_list_reports(catalog.lists(), &[NoteKind::LeftOut]);
    Ok(catalog)
}

/// Writes the notes of these kinds and a summary to standard error, for each list of another tool.
pub(super) fn write_list_reports(lists: &[ListReport], kinds: &[NoteKind]) {
    let mut err = io::stderr().lock();
    for list in lists {
        for line in kinds.iter().flat_map(|kind| list.lines(*kind)) {
            // A closed standard error does not change the catalogue.
            let _ = writeln!(err, "{line}");
        }
        let _ = writeln!(err, "{}", list.summary());
    }
}

/// Formats the mistakes, one on each line. Control characters are removed, since files may come from
/// anywhere.
pub(super) fn faults(error: &CatalogError) -> String {
    let text = error.to_string();
    text.lines().map(plain).collect::<Vec<_>>().join("\n")
}
