//! `catalog sign`: writes the signed catalogue that servers fetch.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use jiff::Timestamp;

use super::choice::{load, read};
use crate::base::signature::SigningKey;
use crate::cli::exit::{Exit, Failure};
use crate::cli::files;
use crate::config::{CatalogConfig, checked, readable_file};
use crate::modules::catalog::Feed;

/// Sign the modules as a catalogue that servers fetch by --catalog-feed, and print the public key
///
/// Contains the built-in modules and those of --catalog.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  openssl genpkey -algorithm ed25519 -out catalog-key.pem
  sightline catalog sign --no-builtin --catalog my-sites.json --key catalog-key.pem --output feed.json")]
pub(crate) struct SignArgs {
    /// File with the private key, in PEM
    #[arg(long, value_name = "FILE", value_parser = checked(readable_file))]
    key: PathBuf,
    /// File to write; an existing file is replaced
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    catalog: CatalogConfig,
}

pub(super) fn run(args: &SignArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    let key =
        SigningKey::from_pem(&read(&args.key)?).map_err(|error| Failure::Usage(format!("--key: {error}")))?;
    let catalog = load(&args.catalog)?;
    let entries = catalog.modules().iter().map(|module| module.entry().clone()).collect();
    files::write(&args.output, &Feed::write(entries, Timestamp::now(), &key))?;
    writeln!(out, "{}", key.public_key())?;
    Ok(Exit::Done)
}
