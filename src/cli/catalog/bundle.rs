//! `catalog bundle`: makes a signed bundle of entries, and the key that signs bundles.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use clap::Args;
use jiff::Timestamp;

use super::choice::{self, Choice};
use super::load::load;
use crate::base::signature::SigningKey;
use crate::base::text::plain;
use crate::cli::exit::{Exit, Failure};
use crate::cli::replace;
use crate::config::CatalogConfig;
use crate::config::{checked, number, readable_file};
use crate::modules::catalog::{Bundle, Catalog, MAX_SERIAL};
use crate::modules::definition::Entry;

/// Make a signed bundle of catalogue entries, with which `catalog update` updates running servers
///
/// Contains the built-in modules and those of --catalog, or a selection of them. --new-key makes the key.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sightline catalog bundle --new-key catalog-key.pem
  sightline catalog bundle --no-builtin --catalog my-sites.json --key catalog-key.pem --output my-sites.bundle.json")]
pub(super) struct BundleArgs {
    #[command(flatten)]
    choice: Choice,
    /// Only the module with this id (repeatable)
    #[arg(long = "module", value_name = "ID", conflicts_with_all = ["search_type", "categories", "tags"])]
    modules: Vec<String>,
    /// File with the private key, in PEM
    #[arg(long, value_name = "FILE", value_parser = checked(readable_file))]
    #[arg(required_unless_present = "new_key", requires = "output")]
    key: Option<PathBuf>,
    /// File to write; an existing file is replaced
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Number of the bundle, which must be greater than that of the bundle in use; by default the time in UTC, such
    /// as 20260506070809
    #[arg(long, value_name = "N", value_parser = checked(number(1, MAX_SERIAL as usize)))]
    serial: Option<usize>,
    /// Only make a new private key: write it to this file, which must not exist, and print the public key
    #[arg(long, value_name = "FILE", conflicts_with_all = ["key", "output", "serial", "modules"])]
    new_key: Option<PathBuf>,
    #[command(flatten)]
    catalog: CatalogConfig,
}

pub(super) fn run(args: &BundleArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    match (&args.new_key, &args.key, &args.output) {
        (Some(file), ..) => make_key(file, out)?,
        (None, Some(key), Some(output)) => make_bundle(args, key, output, out)?,
        _ => return Err(Failure::Usage("--key and --output, or --new-key, are needed".to_owned())),
    }
    Ok(Exit::Done)
}

fn make_key(file: &Path, out: &mut dyn Write) -> Result<(), Failure> {
    let pem = SigningKey::generate();
    let key = SigningKey::from_pem(pem.expose()).map_err(Failure::Failed)?;
    File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)
        .and_then(|mut file| file.write_all(pem.expose().as_bytes()).and_then(|()| file.sync_all()))
        .map_err(|error| replace::cannot_write(file, &error))?;
    Ok(writeln!(out, "{}", key.public_key())?)
}

fn make_bundle(args: &BundleArgs, key: &Path, output: &Path, out: &mut dyn Write) -> Result<(), Failure> {
    let shown = plain(&key.display().to_string()).into_owned();
    let pem = std::fs::read_to_string(key)
        .map_err(|error| Failure::Failed(format!("cannot read {shown}: {error}")))?;
    let key =
        SigningKey::from_pem(&pem).map_err(|error| Failure::Usage(format!("--key {shown}: {error}")))?;
    let catalog = load(&args.catalog)?;
    let entries = entries(args, &catalog)?;
    let (count, now) = (entries.len(), Timestamp::now());
    let serial = args.serial.map_or_else(|| serial_of(now), |serial| Ok(serial as u64))?;
    let text = Bundle::write(entries, serial, now, &key)?;
    let name = output.display().to_string();
    Bundle::open(&name, text.clone(), &[key.public_key()])
        .map_err(|error| Failure::Failed(plain(&error.to_string()).into_owned()))?;
    replace::write(output, &text)?;
    Ok(writeln!(out, "{}: catalogue bundle {serial} with {count} modules", plain(&name))?)
}

fn entries(args: &BundleArgs, catalog: &Catalog) -> Result<Vec<Entry>, Failure> {
    let chosen = match args.modules.is_empty() {
        true => args.choice.modules(catalog)?,
        false => args.modules.iter().map(|id| choice::by_id(catalog, id)).collect::<Result<_, _>>()?,
    };
    let mut entries: Vec<Entry> = chosen.iter().map(|module| module.entry().clone()).collect();
    entries.sort_by(|one, other| one.id.cmp(&other.id));
    entries.dedup_by(|one, other| one.id == other.id);
    if entries.is_empty() {
        return Err(Failure::Usage("no module is chosen: a bundle needs at least one".to_owned()));
    }
    Ok(entries)
}

/// Returns the serial of a bundle that is made now: the digits of the time.
fn serial_of(now: Timestamp) -> Result<u64, Failure> {
    let digits = now.strftime("%Y%m%d%H%M%S").to_string();
    digits.parse().map_err(|_| Failure::Failed(format!("the clock says {now}: give a --serial")))
}
