//! `catalog update` and `catalog rollback`: the signed bundle that servers use.

use std::io::Write;

use clap::{Args, Command};
use jiff::Timestamp;

use super::load::faults;
use crate::app::read_bundle;
use crate::base::address::without_credentials;
use crate::base::text::plain;
use crate::cli::database::open_store;
use crate::cli::exit::{Exit, Failure};
use crate::cli::serve::start_log;
use crate::config::{BundleConfig, EngineConfig, LogConfig, StorageConfig};
use crate::model::audit::Origin;
use crate::model::bundle::{AddedBundle, StoredBundle};
use crate::modules::catalog::{Bundle, Catalog};

/// Check a signed bundle of catalogue entries, and let servers use it
///
/// The bundle is stored in the database. Running servers on it use the modules for new searches within seconds.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sightline catalog update my-sites.bundle.json
  sightline catalog update https://example.org/sightline/my-sites.bundle.json")]
pub(super) struct UpdateArgs {
    /// File that `catalog bundle` wrote, or its https:// address
    #[arg(value_name = "FILE|URL")]
    source: String,
    #[command(flatten)]
    bundles: BundleConfig,
    #[command(flatten)]
    storage: StorageConfig,
    #[command(flatten)]
    engine: EngineConfig,
    #[command(flatten)]
    log: LogConfig,
}

/// Go back to the bundle before the one in use, or to the catalogue without a bundle
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  sightline catalog rollback")]
pub(super) struct RollbackArgs {
    #[command(flatten)]
    storage: StorageConfig,
}

/// Sets the defaults of the options that an update shares with a search.
pub(crate) fn update_command(command: Command) -> Command {
    command.mut_arg("log_level", |level| level.default_value("warn"))
}

pub(super) fn update(mut args: UpdateArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    args.engine.check(std::env::vars_os())?;
    if args.bundles.keys.is_empty() {
        return Err(Failure::Usage(
            "no key is trusted: --catalog-key KEY (SIGHTLINE_CATALOG_KEY) with the public key of the bundle is needed"
                .to_owned(),
        ));
    }
    start_log(&args.log)?;
    let shown = plain(&without_credentials(&args.source)).into_owned();
    let text = read_bundle(&args.source, &args.engine).map_err(|error| {
        let message = format!("{shown}: {}", plain(&error.to_string()));
        if error.is_config() { Failure::Usage(message) } else { Failure::Failed(message) }
    })?;
    let refused = |error| Failure::Failed(format!("the bundle is not used\n{}", faults(&error)));
    let bundle = Bundle::open(&shown, text, &args.bundles.keys).map_err(refused)?;
    let catalog = Catalog::of_bundle(&bundle).map_err(refused)?;
    let store = open_store(&args.storage)?;
    let (serial, created_at) = (bundle.serial, bundle.created_at);
    let text = bundle.text().to_owned();
    let stored = StoredBundle { serial, created_at, stored_at: Timestamp::now(), text };
    let what = format!("catalogue bundle {serial} of {created_at}");
    match store.add_bundle(&stored, &Origin::CLI)? {
        AddedBundle::Added => {
            let count = catalog.modules().len();
            writeln!(out, "{what} with {count} modules: servers use it within seconds")?;
        }
        AddedBundle::InUse => writeln!(out, "{what} is in use already")?,
        AddedBundle::SameSerial => {
            return Err(Failure::Failed(format!(
                "{what} is not used: another bundle with this serial is in use; a greater serial is allowed"
            )));
        }
        AddedBundle::Older(in_use) => {
            return Err(Failure::Failed(format!(
                "{what} is not used: it is older than bundle {in_use}, which is in use; a greater serial is allowed, \
                 and `sightline catalog rollback` goes back"
            )));
        }
    }
    Ok(Exit::Done)
}

pub(super) fn roll_back(args: &RollbackArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    let store = open_store(&args.storage)?;
    let Some(removed) = store.remove_bundle(Timestamp::now(), &Origin::CLI)? else {
        return Err(Failure::Failed(
            "no catalogue bundle is in use: there is nothing to go back from".to_owned(),
        ));
    };
    let now = match store.bundle()? {
        Some(bundle) => format!("catalogue bundle {} of {}", bundle.serial, bundle.created_at),
        None => "the catalogue without a bundle".to_owned(),
    };
    writeln!(out, "catalogue bundle {removed} is removed: servers use {now} within seconds")?;
    Ok(Exit::Done)
}
