//! Which form of a body is sent: as it is, or compressed (RFC 9110, sections 8.4 and 12.5.3).

use std::borrow::Cow;
use std::io::Write;
use std::sync::{Arc, OnceLock};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::response::Response;

/// A body's compressed form: made when the first client takes it, and kept by all that share it.
#[derive(Debug, Clone, Default)]
pub struct Compressed(Arc<OnceLock<Arc<[u8]>>>);

/// Smaller bodies gain nothing: with its head the answer fits into one packet anyhow.
const LEAST_BYTES: usize = 1024;
/// JSON shrinks to a sixth at the lowest level already; a higher one costs several times the time, for a tenth.
const LEVEL: u32 = 1;

impl Compressed {
    fn of(&self, body: &[u8]) -> Arc<[u8]> {
        Arc::clone(self.0.get_or_init(|| {
            let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 4), Compression::new(LEVEL));
            // Writing to a Vec doesn't fail.
            let _ = encoder.write_all(body);
            encoder.finish().unwrap_or_default().into()
        }))
    }
}

/// How an answer's body goes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    /// It has one form.
    Only,
    /// As it is; another client may get it compressed.
    Identity,
    /// Compressed.
    Gzip,
}

impl Encoding {
    /// The form for a client that takes gzip, or does not.
    pub(super) fn choose(response: &Response, takes_gzip: bool) -> Self {
        if response.file.is_some() {
            return if takes_gzip { Self::Gzip } else { Self::Identity };
        }
        let is_encoded = response.header("Content-Encoding").is_some();
        if is_encoded || !response.header("Content-Type").is_some_and(is_compressible) {
            Self::Only
        } else if takes_gzip && response.body.len() >= LEAST_BYTES {
            Self::Gzip
        } else {
            Self::Identity
        }
    }

    pub(super) fn body(self, response: &Response) -> Arc<[u8]> {
        match (self, &response.file) {
            (Self::Gzip, Some(file)) => file.compressed(),
            (Self::Only | Self::Identity, Some(file)) => file.as_it_is(),
            (Self::Gzip, None) => response.compressed.of(&response.body),
            (Self::Only | Self::Identity, None) => Arc::clone(&response.body),
        }
    }

    /// The value of a header as this form needs it: two forms are no longer equal byte by byte, which is what a
    /// strong tag says; a weak one still finds them the same in `If-None-Match`.
    pub(super) fn header<'a>(self, name: &str, value: &'a str) -> Cow<'a, str> {
        if self == Self::Gzip && name.eq_ignore_ascii_case("etag") && !value.starts_with("W/") {
            Cow::Owned(format!("W/{value}"))
        } else {
            Cow::Borrowed(value)
        }
    }
}

/// JSON, by its name, as lines or by its suffix, and CSV. Not HTML: a page may hold a token, whose length after
/// compression could be measured.
fn is_compressible(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    ["application/json", "application/x-ndjson", "text/csv"].contains(&kind.as_str())
        || kind.ends_with("+json")
}

/// Whether `Accept-Encoding` (all of its values) asks for gzip: it is acceptable, and the plain form is not
/// preferred.
pub(super) fn takes_gzip<'a>(values: impl Iterator<Item = &'a str>) -> bool {
    let (mut gzip, mut identity, mut others) = (None, None, None);
    for item in values.flat_map(|value| value.split(',')) {
        let (coding, weight) = item.split_once(';').unwrap_or((item, ""));
        let weight = weight_of(weight);
        match coding.trim() {
            name if name.eq_ignore_ascii_case("gzip") || name.eq_ignore_ascii_case("x-gzip") => {
                gzip = gzip.max(Some(weight));
            }
            name if name.eq_ignore_ascii_case("identity") => identity = Some(weight),
            "*" => others = Some(weight),
            _ => {}
        }
    }
    let gzip = gzip.or(others).unwrap_or(0);
    gzip > 0 && gzip >= identity.unwrap_or(0)
}

/// `q=0.5` as thousandths; 1 where there is none; 0 for anything else.
fn weight_of(parameter: &str) -> u16 {
    let parameter = parameter.trim();
    if parameter.is_empty() {
        return 1000;
    }
    let value = parameter.split_once('=').filter(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
    let Some((whole, part)) =
        value.map(|(_, value)| value.trim().split_once('.').unwrap_or((value.trim(), "")))
    else {
        return 0;
    };
    let is_sound = part.len() <= 3 && part.bytes().all(|byte| byte.is_ascii_digit());
    match (whole, format!("{part:0<3}").parse::<u16>()) {
        ("0", Ok(thousandths)) if is_sound => thousandths,
        ("1", Ok(0)) if is_sound => 1000,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn gzip_is_sent_to_who_asks_for_it() {
        for (values, takes) in [
            (&[][..], false),
            (&[""], false),
            (&["gzip"], true),
            (&["GZIP"], true),
            (&["x-gzip"], true),
            (&["gzip, deflate, br"], true),
            (&["deflate", "gzip"], true),
            (&["br, deflate"], false),
            (&["gzip;q=0"], false),
            (&["gzip; q=0.000"], false),
            (&["gzip;q=0.001"], true),
            (&["gzip ; q = 1.000"], true),
            (&["gzip;Q=0.5"], true),
            (&["*"], true),
            (&["*;q=0"], false),
            (&["gzip;q=0, *"], false),
            (&["*;q=0, gzip;q=0.2"], true),
            (&["identity"], false),
            (&["identity, gzip"], true),
            (&["identity;q=0.5, gzip;q=0.4"], false),
            (&["identity;q=0.5, gzip;q=0.5"], true),
            (&["gzip;q=2"], false),
            (&["gzip;q=1.1"], false),
            (&["gzip;q=-1"], false),
            (&["gzip;q=0.1234"], false),
            (&["gzip;q="], false),
            (&["gzip;level=9"], false),
            (&["gzipped"], false),
            (&[",,gzip,"], true),
        ] {
            assert_eq!(takes_gzip(values.iter().copied()), takes, "{values:?}");
        }
    }

    #[test]
    fn only_json_and_csv_of_some_size_have_two_forms() {
        let large = vec![b' '; LEAST_BYTES];
        let json = Response::new(200, "application/json", large.clone());
        assert_eq!(Encoding::choose(&json, true), Encoding::Gzip);
        assert_eq!(Encoding::choose(&json, false), Encoding::Identity);
        let problem = Response::new(400, "application/problem+json; charset=utf-8", large.clone());
        assert_eq!(Encoding::choose(&problem, true), Encoding::Gzip);
        let small = Response::new(200, "application/json", &large[1..]);
        assert_eq!(Encoding::choose(&small, true), Encoding::Identity, "a later one may be larger");
        for (kind, form) in [
            ("application/x-ndjson", Encoding::Gzip),
            ("text/csv; charset=utf-8", Encoding::Gzip),
            ("text/html; charset=utf-8", Encoding::Only),
            ("text/event-stream", Encoding::Only),
        ] {
            assert_eq!(Encoding::choose(&Response::new(200, kind, large.clone()), true), form, "{kind}");
        }
        assert_eq!(Encoding::choose(&json.with_header("Content-Encoding", "br"), true), Encoding::Only);
    }

    #[test]
    fn the_compressed_form_is_made_once_and_reads_back() {
        let body: Vec<u8> = (0..20_000u32).flat_map(|number| format!("{number},").into_bytes()).collect();
        let response = Response::new(200, "application/json", body.clone());
        let first = Encoding::Gzip.body(&response);
        let again = Encoding::Gzip.body(&response.clone());
        assert!(Arc::ptr_eq(&first, &again));
        assert!(first.len() < body.len() / 2);
        let mut read = Vec::new();
        GzDecoder::new(&*first).read_to_end(&mut read).unwrap();
        assert!(read == body);
        let other = Encoding::Gzip.body(&response.with_body(*b"x"));
        assert!(!Arc::ptr_eq(&first, &other), "another body, another form");
    }

    /// Answers to waits are compressed on the threads of streams.
    #[test]
    fn compressing_fits_on_a_small_stack() {
        let work = || {
            let response = Response::new(200, "application/json", vec![b'x'; 300_000]);
            Encoding::Gzip.body(&response).len()
        };
        let thread = std::thread::Builder::new().stack_size(96 * 1024).spawn(work).unwrap();
        assert!(thread.join().unwrap() > 0);
    }

    #[test]
    fn a_tag_is_weak_where_the_bytes_differ() {
        assert_eq!(Encoding::Gzip.header("ETag", "\"a\""), "W/\"a\"");
        assert_eq!(Encoding::Gzip.header("etag", "W/\"a\""), "W/\"a\"");
        assert_eq!(Encoding::Identity.header("ETag", "\"a\""), "\"a\"");
        assert_eq!(Encoding::Gzip.header("Location", "a"), "a");
    }
}
