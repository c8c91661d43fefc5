//! Parsers for kinds of values. Their errors say what was expected.

use std::fmt::Display;
use std::io::{Read as _, read_to_string};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::ValueEnum;
use ureq::http::HeaderValue;
use url::{Host, Url};

use crate::base::secret::Secret;
use crate::model::quota::Policy;
use crate::net::browser::{BrowserSource, EgressProxyAddress};
use crate::store::DatabaseUrl;

type Parsed<T, E = &'static str> = Result<T, E>;

/// Units of a duration in milliseconds, largest first.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

/// Whether and how the web is simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SandboxMode {
    /// Search the real web.
    #[value(aliases = ["false", "0", "no"])]
    Off,
    /// Simulate the delays and faults of the real web.
    #[value(aliases = ["true", "1", "yes", "on"])]
    Realistic,
    /// Every site answers at once as its module expects.
    Perfect,
}

/// Where the catalogue feed comes from.
#[derive(Debug, Clone)]
pub enum FeedSource {
    /// An address of the web.
    Address(Url),
    /// A file.
    File(PathBuf),
}

/// Returns a parser for a whole number from `least` to `most`.
pub(crate) fn number<N>(least: N, most: N) -> impl Fn(&str) -> Parsed<N, String> + Clone
where
    N: FromStr + PartialOrd + Display + Copy,
{
    move |text| {
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let number: Option<N> = if digits { text.parse().ok() } else { None };
        number
            .filter(|number| (least..=most).contains(number))
            .ok_or_else(|| format!("expected a whole number from {least} to {most}"))
    }
}

/// Parses the limit of one kind of request: `NAME=N` a minute.
pub(crate) fn rate_limit(text: &str) -> Parsed<(Policy, u32), String> {
    let (name, count) = text.split_once('=').unwrap_or_default();
    let policy =
        Policy::from_name(name).ok_or("expected search=N, stream=N and read=N, separated by commas")?;
    Ok((policy, number(1, 1_000_000)(count)?))
}

/// Returns a parser for a duration from `least` to `most`: digits and a unit.
pub(crate) fn duration(
    least: &'static str,
    most: &'static str,
) -> impl Fn(&str) -> Parsed<Duration, String> + Clone {
    move |text| {
        let (given, allowed) = (read_duration(text), read_duration(least)..=read_duration(most));
        given.filter(|_| allowed.contains(&given)).ok_or_else(|| {
            format!("expected a number with its unit (ms, s, m, h or d), from {least} to {most}")
        })
    }
}

fn read_duration(text: &str) -> Option<Duration> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let (_, millis) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
    number.parse::<u64>().ok()?.checked_mul(millis).map(Duration::from_millis)
}

/// Parses an address to listen on.
pub(crate) fn listen(text: &str) -> Parsed<SocketAddr> {
    if text.starts_with("unix:") || text.starts_with('/') {
        // See `crate::http` for the reason.
        return Err("a unix socket is not supported, since the HTTP library does not tell its connections \
                    apart; use an IP address and a port: listen on loopback, such as 127.0.0.1:8080, and \
                    let the reverse proxy connect there");
    }
    text.parse().map_err(
        |_| "expected an IP address and a port, such as 127.0.0.1:8080 or [::1]:8080 (port 0: any free one)",
    )
}

/// Parses the address that clients use, and removes a slash at its end.
pub(crate) fn base_url(text: &str) -> Parsed<String> {
    let url = web_address(text).map(|url| url.as_str().trim_end_matches('/').to_owned());
    url.ok_or(
        "expected an http:// or https:// address without user, query and fragment, such as \
         https://search.example.org",
    )
}

/// Parses the origin of a web page for CORS, or `*`.
pub(crate) fn cors_origin(text: &str) -> Parsed<String> {
    if text == "*" {
        return Ok(text.to_owned());
    }
    let url = web_address(text).filter(|url| url.path() == "/");
    url.map(|url| url.origin().ascii_serialization())
        .ok_or("expected a scheme, host and port without a path, such as https://app.example.org, or *")
}

/// Parses an address of the web without user, query and fragment.
fn web_address(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    // Nothing else is in it.
    (url.as_str() == format!("{}{}", url.origin().ascii_serialization(), url.path())).then_some(url)
}

/// The longest file from which an address is read.
const ADDRESS_FILE_BYTES: u64 = 4096;

/// Parses the address of the database, or `@FILE` for a file that contains it. Systems that pass secrets as
/// files need no secret in the environment then. The errors never repeat the text.
pub(crate) fn database(text: &str) -> Parsed<DatabaseUrl, String> {
    let parse = |text: &str| {
        text.parse::<DatabaseUrl>()
            .map_err(|error| format!("{error}; or @FILE for a file that contains the address"))
    };
    let Some(file) = text.strip_prefix('@') else { return parse(text) };
    let read = std::fs::File::open(file).and_then(|file| read_to_string(file.take(ADDRESS_FILE_BYTES)));
    let address = read.map_err(|error| {
        format!("cannot read the file after the @ ({error}); it must contain the address")
    })?;
    parse(address.trim()).map_err(|error| format!("in the file: {error}"))
}

/// Parses a `User-Agent` header.
pub(crate) fn user_agent(text: &str) -> Parsed<HeaderValue> {
    let fits = (1..=256).contains(&text.len()) && text.trim() == text && !text.contains('\t');
    let value = HeaderValue::from_str(text).ok().filter(|value| fits && value.to_str().is_ok());
    value.ok_or("expected 1 to 256 visible ASCII characters")
}

/// Parses the path of a file, which must exist.
pub(crate) fn readable_file(text: &str) -> Parsed<PathBuf, String> {
    let path = PathBuf::from(text);
    match std::fs::metadata(&path) {
        Ok(meta) if meta.is_file() => Ok(path),
        Ok(_) => Err("not a file; expected the path of a file".to_owned()),
        Err(error) => Err(format!("cannot read the file ({error}); expected the path of a file")),
    }
}

/// Parses the source of the catalogue feed. A file may be missing for a time, as an address may not answer: a server then
/// starts with the feed that it has kept.
pub(crate) fn feed_source(text: &str) -> Parsed<FeedSource> {
    if !text.is_empty() && !text.contains("://") {
        return Ok(FeedSource::File(text.into()));
    }
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    url.map(FeedSource::Address).ok_or("expected an http:// or https:// address, or the path of a file")
}

/// Parses the key of a suppression file. The errors never repeat the text.
pub(crate) fn suppress_key(text: &str) -> Parsed<Secret<String>> {
    let fits = (16..=256).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
    fits.then(|| Secret::new(text.to_owned()))
        .ok_or("expected 16 to 256 visible ASCII characters (`sightline suppress key` makes one)")
}

/// Parses a value of `--browser`.
pub(crate) fn browser(text: &str) -> Parsed<BrowserSource, String> {
    if text == "auto" {
        return BrowserSource::auto();
    }
    if text.contains('/') && !text.contains("://") {
        return readable_file(text).map(BrowserSource::Program);
    }
    let is_of_chromium = |url: &Url| url.scheme() == "http" && url.path() == "/";
    let url = web_address(text).filter(is_of_chromium);
    url.map(BrowserSource::At)
        .ok_or_else(|| "expected auto, the path of a Chromium or http://HOST:PORT".to_owned())
}

/// Parses the address of the egress proxy.
pub(crate) fn egress_proxy(text: &str) -> Parsed<EgressProxyAddress, String> {
    const ALLOWED: &str = "expected IP:PORT or IP:PORT=HOST, such as 10.0.0.5:3130 or 0.0.0.0:3130=sightline";
    let own_host = || Some((text, text.rsplit_once(':')?.0));
    let (listen, host) = text.split_once('=').or_else(own_host).unwrap_or_default();
    let Some(listen) = listen.parse::<SocketAddr>().ok().filter(|_| Host::parse(host).is_ok()) else {
        return Err(ALLOWED.to_owned());
    };
    if !text.contains('=') && listen.ip().is_unspecified() {
        return Err(format!("browsers cannot connect to {}; {ALLOWED}", listen.ip()));
    }
    if listen.port() == 0 && !listen.ip().to_canonical().is_loopback() {
        return Err(format!("browsers on other machines need a fixed port; {ALLOWED}"));
    }
    Ok(EgressProxyAddress { listen, host: host.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_need_a_unit_and_stay_in_their_range() {
        let parse = duration("500ms", "2h");
        for (text, millis) in
            [("500ms", 500), ("10s", 10_000), ("2m", 120_000), ("1h", 3_600_000), ("2h", 7_200_000)]
        {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        let bad = "|10|s|10 s|+1s|-1s|1.5s|499ms|121m|1S|1w|99999999999999999999s|999999999999999999d|١s";
        for bad in bad.split('|') {
            assert_eq!(
                parse(bad).unwrap_err(),
                "expected a number with its unit (ms, s, m, h or d), from 500ms to 2h",
                "{bad}"
            );
        }
    }

    #[test]
    fn addresses_come_out_in_one_form() {
        assert_eq!(base_url("HTTPS://Search.Example.org/").unwrap(), "https://search.example.org");
        assert_eq!(base_url("http://h:81/api/").unwrap(), "http://h:81/api");
        assert_eq!(cors_origin("https://App.example.org:443/").unwrap(), "https://app.example.org");
        assert_eq!(cors_origin("*").unwrap(), "*");
    }

    #[test]
    fn browsers_and_proxy_addresses_are_parsed() {
        assert!(matches!(browser("/bin/sh"), Ok(BrowserSource::Program(_))));
        assert!(matches!(browser("http://127.0.0.1:9222"), Ok(BrowserSource::At(_))));
        for bad in
            ["", "Auto", "chromium", "ws://h:1", "https://h:1", "http://u:p@h", "http://h/x", "http://"]
        {
            assert!(browser(bad).unwrap_err().starts_with("expected auto, the path"), "{bad}");
        }
        let read = egress_proxy("0.0.0.0:3130=sightline").unwrap();
        assert_eq!((read.listen.port(), read.host.as_str()), (3130, "sightline"));
        assert!(egress_proxy("10.0.0.5:3130").is_ok() && egress_proxy("127.0.0.1:0").is_ok());
        for bad in ["", "3130", "sightline:3130", "0.0.0.0:3130", "10.0.0.5:0", "10.0.0.5:1=a b", "[::]:1="] {
            assert!(egress_proxy(bad).unwrap_err().contains("expected "), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics_a_parser(text in "\\PC*|[0-9a-z:/@.#?]{0,40}") {
            let _ = (listen(&text), base_url(&text), cors_origin(&text), database(&text));
            let _ = (user_agent(&text), read_duration(&text), rate_limit(&text));
        }
    }
}
