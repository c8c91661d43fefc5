//! The catalogue feed: fetched at the start and daily, and kept in the database.

use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use log::{error, info, log, warn};
use url::Url;

use super::engine::{load_catalog, net_config};
use super::error::Failure;
use crate::base::address::without_credentials;
use crate::config::{ServeConfig, Time};
use crate::modules::catalog::{Catalog, Feed, FeedVersion, MAX_FILE_BYTES, decode, read_file};
use crate::modules::definition::{Method, Via};
use crate::modules::probe::{CookieJar, Prober as _, Request, Trace};
use crate::net::HttpProber;
use crate::store::Store;

/// The longest time for a download.
const DOWNLOAD_TIME: Duration = Duration::from_secs(120);

/// A catalogue with a new feed, or `None` if the feed in use is still the newest.
type Fetched = Result<Option<Arc<Catalog>>, String>;

/// Keeps the catalogue of a server as new as its feed.
pub(super) struct FeedKeeper {
    source: Arc<Source>,
    next_fetch: Instant,
    fetch: Option<JoinHandle<Fetched>>,
}

struct Source {
    config: ServeConfig,
    store: Arc<Store>,
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
        store: &Arc<Store>,
        plain: Arc<Catalog>,
    ) -> Result<(Option<Self>, Arc<Catalog>), Failure> {
        if config.catalog_feed.is_none() {
            return Ok((None, plain));
        }
        let mut source = Source { config: config.clone(), store: Arc::clone(store), kept: None };
        let mut catalog = plain;
        if let Some(text) = store.catalog_feed()? {
            let feed = Feed::open(&text, &config.catalog_keys);
            source.kept = feed.as_ref().ok().map(|feed| feed.version);
            match feed.and_then(|feed| load(config, &feed)) {
                Ok(with_feed) => catalog = with_feed,
                Err(why) => warn!("the catalogue feed that was kept is not used: {why}"),
            }
        }
        Ok((Some(Self { source: Arc::new(source), next_fetch: Instant::now(), fetch: None }), catalog))
    }

    /// Starts a fetch on its own thread when it is time. Returns the new catalogue when a fetch has changed something.
    /// `current` is the catalogue in use.
    pub(super) fn renewed_catalog(&mut self, current: &Catalog) -> Option<Arc<Catalog>> {
        let interval = self.source.config.engine.time(Time::CATALOG_FEED);
        if self.fetch.is_none() && self.next_fetch <= Instant::now() {
            let (source, in_use) = (Arc::clone(&self.source), current.feed().in_use);
            self.next_fetch = Instant::now() + interval;
            self.fetch = Some(thread::spawn(move || source.fetch(in_use)));
        }
        let fetched = self.fetch.take_if(|fetch| fetch.is_finished())?.join();
        let failed = match fetched.unwrap_or_else(|_| Err("the fetch panicked".to_owned())) {
            Ok(Some(catalog)) => return Some(catalog),
            Ok(None) => None,
            Err(why) => {
                error!("the catalogue feed is not renewed, and the catalogue stays as it is: {why}");
                self.next_fetch = Instant::now() + interval / 24;
                Some(why)
            }
        };
        (failed != current.feed().failed).then(|| Arc::new(current.with_feed_failure(failed)))
    }
}

impl Source {
    /// Reads the feed. Loads the catalogue with it and keeps it, if it may replace the one in use.
    fn fetch(&self, in_use: Option<FeedVersion>) -> Fetched {
        let source = self.config.catalog_feed.as_deref().unwrap_or_default();
        let text = match Url::parse(source).ok().filter(Url::has_host) {
            Some(url) => download(&self.config, url),
            None => read_file(Path::new(source)),
        };
        let text = text.map_err(|why| format!("{}: {why}", without_credentials(source)))?;
        let feed = Feed::open(&text, &self.config.catalog_keys)?;
        let created_at = feed.version.created_at;
        if in_use.is_some_and(|in_use| in_use.created_at == created_at) {
            return Ok(None);
        }
        feed.version.check(in_use.or(self.kept).as_ref(), Timestamp::now())?;
        let catalog = load(&self.config, &feed)?;
        info!("the catalogue feed of {created_at} is in use");
        if let Err(error) = self.store.keep_catalog_feed(created_at, &text) {
            log!(error.log_level(), "cannot keep the catalogue feed: {error}");
        }
        Ok(Some(catalog))
    }
}

fn load(config: &ServeConfig, feed: &Feed) -> Result<Arc<Catalog>, String> {
    load_catalog(&config.engine, Some(feed)).map_err(|error| error.to_string())
}

/// Returns the text of a feed at an address. An address is asked as sites are. The signature makes up for a missing TLS.
fn download(config: &ServeConfig, url: Url) -> Result<String, String> {
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
    let prober = HttpProber::new(net_config(&config.engine));
    let answer = prober.send(&request, &mut CookieJar::default(), Instant::now() + DOWNLOAD_TIME);
    answer.map_err(|error| error.to_string()).and_then(|answer| match answer.status {
        200 if !answer.truncated => decode(answer.body),
        status => Err(format!("expected status 200 and at most {MAX_FILE_BYTES} bytes, got status {status}")),
    })
}
