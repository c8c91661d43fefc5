//! The stored catalogue bundle: the catalogue that is loaded with it, at the start and when it changes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use log::{error, info, log};

use super::engine::check_modules;
use crate::base::signature::PublicKey;
use crate::base::storage::StorageError;
use crate::model::bundle::{BundleVersion, StoredBundle};
use crate::modules::catalog::{Bundle, BundleReport, Catalog, Sources};
use crate::store::Store;

/// The interval at which the store is asked whether another bundle is in use.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// The stored bundle, watched for changes.
pub(super) struct BundleWatch {
    store: Arc<Store>,
    sources: Sources,
    /// The catalogue without a bundle.
    plain: Arc<Catalog>,
    trusted: Vec<PublicKey>,
    seen: Option<BundleVersion>,
    next_look: Instant,
}

impl BundleWatch {
    /// Watches the bundles of `store`. `plain` is the catalogue of `sources`, and `trusted` are the keys of which one must
    /// have signed a bundle.
    pub(super) fn new(
        store: Arc<Store>,
        sources: Sources,
        plain: Arc<Catalog>,
        trusted: Vec<PublicKey>,
    ) -> Self {
        Self { store, sources, plain, trusted, seen: None, next_look: Instant::now() }
    }

    /// Returns the catalogue with the stored bundle. A bundle that cannot be used is logged and left out.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub(super) fn load(&mut self) -> Result<Arc<Catalog>, StorageError> {
        let stored = self.store.bundle()?;
        self.seen = stored.as_ref().map(|bundle| (bundle.serial, bundle.stored_at));
        let Some(bundle) = stored else { return Ok(Arc::clone(&self.plain)) };
        let (serial, created_at) = (bundle.serial, bundle.created_at);
        let (catalog, refused) = match self.catalog_with(bundle) {
            Ok(catalog) => {
                info!(
                    "catalogue bundle {serial} of {created_at} is in use: {} modules",
                    catalog.modules().len()
                );
                (catalog, None)
            }
            Err(why) => {
                error!(
                    "catalogue bundle {serial} is not used, and the catalogue is that without a bundle: {why}"
                );
                (Catalog::clone(&self.plain), Some(why))
            }
        };
        Ok(Arc::new(catalog.with_bundle(BundleReport { serial, created_at, refused })))
    }

    /// Returns the catalogue if another bundle is in use than before, or none. Asks the store every few seconds.
    pub(super) fn changed_catalog(&mut self) -> Option<Arc<Catalog>> {
        let now = Instant::now();
        if now < self.next_look {
            return None;
        }
        self.next_look = now + LOOK_EVERY;
        let changed = match self.store.bundle_version() {
            Ok(version) if version == self.seen => return None,
            Ok(version) => {
                if version.is_none() {
                    info!("no catalogue bundle is in use now");
                }
                self.load()
            }
            Err(error) => Err(error),
        };
        changed.map_err(|error| log!(error.log_level(), "cannot read the catalogue bundle: {error}")).ok()
    }

    fn catalog_with(&self, stored: StoredBundle) -> Result<Catalog, String> {
        let name = format!("catalogue bundle {}", stored.serial);
        let bundle = Bundle::open(&name, stored.text, &self.trusted).map_err(|error| error.to_string())?;
        let catalog = Catalog::of(&self.sources, Some(&bundle)).map_err(|error| error.to_string())?;
        check_modules(&catalog).map_err(|error| error.to_string())?;
        Ok(catalog)
    }
}
