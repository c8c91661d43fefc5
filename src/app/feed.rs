//! The catalogue feed: fetched at the start and daily, and kept in the database.

use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use log::{error, info, log, warn};
use url::Url;

use super::engine::load_catalog;
use super::error::Failure;
use super::services::Services;
use crate::base::address::without_credentials;
use crate::base::threads;
use crate::config::{FeedSource, ServeConfig, Time};
use crate::modules::catalog::{Catalog, Feed, FeedVersion, MAX_FILE_BYTES, decode, read_file};
use crate::modules::definition::{Method, Via};
use crate::modules::probe::{CookieJar, Prober, Request, Trace};
use crate::store::Store;

/// The longest time for a download.
const DOWNLOAD_TIME: Duration = Duration::from_secs(120);

/// Keeps the catalogue of a server as new as its feed.
pub(super) struct FeedKeeper {
    config: ServeConfig,
    source: FeedSource,
    /// The feed that was kept. No older one is accepted, even if its entries cannot be loaded.
    kept: Option<FeedVersion>,
}

impl FeedKeeper {
    /// Returns the catalogue with the feed that was kept last, or `plain` if there is none that can be used. Returns no keeper
    /// if no feed is configured.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub(super) fn open(
        config: &ServeConfig,
        store: &Store,
        plain: Arc<Catalog>,
    ) -> Result<(Option<Self>, Arc<Catalog>), Failure> {
        let Some(source) = config.catalog_feed.clone() else { return Ok((None, plain)) };
        let (mut keeper, mut catalog) = (Self { config: config.clone(), source, kept: None }, plain);
        if let Some(text) = store.catalog_feed()? {
            let feed = Feed::open(&text, &config.catalog_keys);
            keeper.kept = feed.as_ref().ok().map(|feed| feed.version);
            match feed.and_then(|feed| load(config, &feed)) {
                Ok(with_feed) => catalog = with_feed,
                Err(why) => warn!("the catalogue feed that was kept is not used: {why}"),
            }
        }
        Ok((Some(keeper), catalog))
    }

    /// Renews the catalogue of `services` on a separate thread, now and at each interval.
    ///
    /// # Errors
    /// Returns an error if the thread cannot be started.
    pub(super) fn start(self, services: &Arc<Services>) -> Result<(), Failure> {
        let (services, http) = (Arc::downgrade(services), Arc::clone(&services.http));
        let interval = self.config.engine.time(Time::CATALOG_FEED);
        let work = move || loop {
            let mut is_renewed = false;
            threads::guard("a fetch of the catalogue feed", || is_renewed = self.renew(&services, &*http));
            thread::sleep(if is_renewed { interval } else { interval / 24 });
        };
        let thread = thread::Builder::new().name("catalog-feed".to_owned()).spawn(work);
        thread.map(drop).map_err(|error| Failure::failed(error).at("cannot start the thread of the feed"))
    }

    /// Fetches the feed, and uses the catalogue with it. Returns whether that has succeeded.
    fn renew(&self, services: &Weak<Services>, http: &dyn Prober) -> bool {
        let text = self.text(http);
        let Some(services) = services.upgrade() else { return true };
        let current = services.runs().catalog();
        let renewed = text.and_then(|text| self.take_up(&text, &current, &services.shared.store));
        let failed = renewed.as_ref().err().cloned();
        if let Some(why) = &failed {
            error!("the catalogue feed is not renewed, and the catalogue stays as it is: {why}");
        }
        let (is_renewed, is_news) = (failed.is_none(), failed != current.feed().failed);
        let with_news = || is_news.then(|| Arc::new(current.with_feed_failure(failed)));
        if let Some(catalog) = renewed.unwrap_or_default().or_else(with_news) {
            if let Some(sandbox) = &services.sandbox {
                sandbox.replace(catalog.modules().iter().cloned());
            }
            services.runs().use_catalog(catalog);
        }
        is_renewed
    }

    /// Returns the catalogue with a feed that was fetched, and keeps the feed. Returns `None` if it is the one in use.
    fn take_up(&self, text: &str, current: &Catalog, store: &Store) -> Result<Option<Arc<Catalog>>, String> {
        let feed = Feed::open(text, &self.config.catalog_keys)?;
        let (created_at, in_use) = (feed.version.created_at, current.feed().in_use);
        if in_use.is_some_and(|in_use| in_use.created_at == created_at) {
            return Ok(None);
        }
        feed.version.check(in_use.or(self.kept).as_ref(), Timestamp::now())?;
        let catalog = load(&self.config, &feed)?;
        info!("the catalogue feed of {created_at} is in use");
        if let Err(error) = store.keep_catalog_feed(created_at, text) {
            log!(error.log_level(), "cannot keep the catalogue feed: {error}");
        }
        Ok(Some(catalog))
    }

    /// Returns the text of the feed, from its address or its file.
    fn text(&self, http: &dyn Prober) -> Result<String, String> {
        match &self.source {
            FeedSource::Address(url) => download(http, url.clone())
                .map_err(|why| format!("{}: {why}", without_credentials(url.as_str()))),
            FeedSource::File(path) => read_file(path).map_err(|why| format!("{}: {why}", path.display())),
        }
    }
}

fn load(config: &ServeConfig, feed: &Feed) -> Result<Arc<Catalog>, String> {
    load_catalog(&config.engine, Some(feed)).map_err(|error| error.to_string())
}

/// Returns the text of a feed at an address. An address is asked as sites are. The signature makes up for a missing TLS.
fn download(http: &dyn Prober, url: Url) -> Result<String, String> {
    let request = Request {
        method: Method::Get,
        via: Via::Http,
        url,
        headers: Vec::new(),
        body: None,
        max_redirects: 5,
        body_limit: usize::try_from(MAX_FILE_BYTES).unwrap_or(usize::MAX),
        marks: Vec::new(),
        trace: Trace { module: "catalog-feed".into(), probe: 0, query: "".into(), control: false },
    };
    let answer = http.send(&request, &mut CookieJar::default(), Instant::now() + DOWNLOAD_TIME);
    answer.map_err(|error| error.to_string()).and_then(|answer| match answer.status {
        200 if !answer.truncated => decode(answer.body),
        status => Err(format!("expected status 200 and at most {MAX_FILE_BYTES} bytes, got status {status}")),
    })
}
