//! Loads the catalogue for a command.

use std::io::{self, Write};

use crate::base::text::plain;
use crate::cli::exit::Failure;
use crate::config::CatalogConfig;
use crate::modules::catalog::{Catalog, CatalogError};
use crate::modules::import::report::NoteKind;

/// Loads the catalogue. Writes the left-out entries of other tools' lists to standard error.
///
/// # Errors
/// Fails if the catalogue has mistakes. The message contains all of them.
pub(crate) fn load(config: &CatalogConfig) -> Result<Catalog, Failure> {
    config.check()?;
    let catalog = Catalog::load(!config.no_builtin, &config.files)
        .map_err(|error| Failure::Usage(format!("the catalogue has mistakes\n{}", faults(&error))))?;
    let mut err = io::stderr().lock();
    for list in catalog.lists() {
        for line in list.lines(NoteKind::LeftOut).chain([list.summary()]) {
            // A closed standard error does not change the catalogue.
            let _ = writeln!(err, "{line}");
        }
    }
    Ok(catalog)
}

/// Formats the mistakes, one on each line. Control characters are removed, since files may come from
/// anywhere.
pub(super) fn faults(error: &CatalogError) -> String {
    let text = error.to_string();
    text.lines().map(plain).collect::<Vec<_>>().join("\n")
}
