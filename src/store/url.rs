//! Database addresses: parsing them, and printing them without their password.
//!
//! The driver of PostgreSQL knows `sslmode` up to `require`, and no `sslrootcert`: both are removed from the address
//! before the driver parses it.

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use percent_encoding::percent_decode_str;
use postgres::config::{Config, SslMode};

use super::limits::{POSTGRES_LIMITS, POSTGRES_SETTINGS};

const FORMS: &str = "expected sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/DATABASE";

/// The address of a database: `sqlite:PATH` or `postgres://…` (`postgresql://…`).
///
/// # SQLite
/// `PATH` is relative to the working directory or absolute; `sqlite:///absolute/path` is accepted, too. A missing
/// directory is created.
///
/// # PostgreSQL
/// The address has the form that `psql` takes, with several hosts, a socket directory as `%2Frun%2Fpostgresql` and
/// parameters after the `?`. `sslmode` has the same meaning as for `psql`:
///
/// | `sslmode` | encrypted | certificate |
/// |---|---|---|
/// | `disable` | no | |
/// | `prefer` (default) | if the server can | not checked |
/// | `require` | yes | not checked, unless `sslrootcert` is given: then as `verify-ca` |
/// | `verify-ca` | yes | signed by a known authority |
/// | `verify-full` | yes | and made out to this host |
///
/// Use `verify-full` over a network that is not your own: the weaker modes protect against eavesdropping, not against
/// impersonation. `sslrootcert` is a PEM file, or `system` (the default) for the machine's authorities.
///
/// Neither `Display` and `Debug` nor the errors show the password.
#[derive(Clone)]
pub enum DatabaseUrl {
    /// The file of an SQLite database.
    Sqlite(PathBuf),
    /// The address of a PostgreSQL database.
    Postgres(Box<PostgresTarget>),
}

impl DatabaseUrl {
    /// Returns the file of an SQLite database, or `None` for a PostgreSQL database.
    pub fn sqlite_file(&self) -> Option<&Path> {
        if let Self::Sqlite(path) = self { Some(path) } else { None }
    }
}

impl FromStr for DatabaseUrl {
    type Err = String;

    /// The error contains no part of the text, which may include a password.
    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = if text.contains('\0') {
            Err("it contains a NUL character".to_owned())
        } else if let Some(path) = text.strip_prefix("sqlite:") {
            sqlite_path(path).map(Self::Sqlite)
        } else if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            PostgresTarget::parse(text).map(|target| Self::Postgres(Box::new(target)))
        } else {
            Err(FORMS.to_owned())
        };
        parsed.map_err(|why| format!("invalid database address: {why}"))
    }
}

fn sqlite_path(path: &str) -> Result<PathBuf, String> {
    let path = path.strip_prefix("//").filter(|rest| rest.starts_with('/')).unwrap_or(path);
    let why = if path.starts_with("//") {
        "after \"sqlite://\" an absolute path must follow; use sqlite:PATH".to_owned()
    } else if path.is_empty() || path.ends_with('/') {
        format!("a file name is missing: {FORMS}")
    } else if path.starts_with(':') {
        "a database in memory is lost when the program ends; use sqlite:PATH".to_owned()
    } else if path.contains("://") {
        format!("a path must follow \"sqlite:\", not another address: {FORMS}")
    } else if path.contains('?') {
        "an SQLite address has no parameters: \"?\" is not allowed in its path".to_owned()
    } else {
        return Ok(PathBuf::from(path));
    };
    Err(why)
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Self::Postgres(target) => target.fmt(f),
        }
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseUrl({self})")
    }
}

/// The parameters that the driver takes.
const KNOWN: &str = "user, password, dbname, options, application_name, sslnegotiation, host, hostaddr, port, \
     connect_timeout, tcp_user_timeout, keepalives, keepalives_idle, keepalives_interval, keepalives_retries, \
     target_session_attrs, channel_binding, load_balance_hosts";

/// The extent to which the server's certificate is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verify {
    /// The certificate is not checked.
    Nothing,
    /// The certificate is signed by a known authority.
    Authority,
    /// The certificate is signed by a known authority and made out to this host.
    Full,
}

/// The address of a PostgreSQL database. Its `Display` form contains neither the password nor the parameters.
#[derive(Clone)]
pub struct PostgresTarget {
    pub(super) config: Config,
    pub(super) verify: Verify,
    /// A PEM file of authorities, or `None` for the machine's authorities.
    pub(super) roots: Option<PathBuf>,
    shown: String,
}

impl PostgresTarget {
    /// Parses an address that starts with `postgres://` or `postgresql://`. Refuses one in which a part of the password could
    /// be read as the user, the host or the database, which are shown.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
        // The driver ends user and password at the first @, wherever it is.
        let (login, place) = rest.split_at(rest.find('@').map_or(0, |at| at + 1));
        let user = login.split([':', '@']).next().unwrap_or_default();
        let is_parameter = login.split_once('?').is_some_and(|(_, query)| query.contains("password="));
        if place.contains('@') || user.contains(['/', '?', '#']) || is_parameter {
            let how = "write %40 for each \"@\" of the user, the password and the parameters";
            return Err(format!("an \"@\" is not escaped: {how}"));
        }
        let (place, query) = place.split_once('?').unwrap_or((place, ""));
        // Of several parameters with one name, the last one applies.
        let mut address = format!("postgres://{login}{place}?{POSTGRES_LIMITS}");
        let (mut mode, mut roots) = ("prefer".to_owned(), None);
        for (index, parameter) in query.split('&').enumerate().filter(|(_, parameter)| !parameter.is_empty())
        {
            // Only known names are shown: anything else may be a part of a password.
            let refused = |why: &str| format!("parameter {} after the \"?\" {why}", index + 1);
            let (name, value) = parameter.split_once('=').ok_or_else(|| refused("has no value"))?;
            let value = percent_decode_str(value).decode_utf8_lossy();
            match name {
                "sslmode" => mode = value.into_owned(),
                "sslrootcert" => roots = (value != "system").then(|| PathBuf::from(&*value)),
                _ if KNOWN.split(", ").any(|known| known == name) => address.extend(["&", parameter]),
                _ => {
                    let allowed = format!("is not supported: expected sslmode, sslrootcert, {KNOWN}");
                    return Err(refused(&allowed));
                }
            }
        }
        let mut config: Config = address.parse().map_err(|error: postgres::Error| {
            // The driver's message names the parameter, never its value.
            error.source().map_or_else(|| error.to_string(), ToString::to_string)
        })?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err("a host is missing: postgres://USER:PASSWORD@HOST:PORT/DATABASE".to_owned());
        }
        let (ssl, verify) = match mode.as_str() {
            "disable" => (SslMode::Disable, Verify::Nothing),
            "prefer" => (SslMode::Prefer, Verify::Nothing),
            "require" if roots.is_none() => (SslMode::Require, Verify::Nothing),
            "require" | "verify-ca" => (SslMode::Require, Verify::Authority),
            "verify-full" => (SslMode::Require, Verify::Full),
            _ => {
                let allowed = "disable, prefer, require, verify-ca, verify-full";
                return Err(format!("invalid `sslmode`: expected {allowed}"));
            }
        };
        config.ssl_mode(ssl);
        // The last of several settings with one name applies, which is that of the address.
        let own = config.get_options().unwrap_or_default();
        config.options(format!("{POSTGRES_SETTINGS} {own}").trim_end());
        let at = if login.is_empty() { "" } else { "@" };
        Ok(Self { config, verify, roots, shown: format!("postgres://{user}{at}{place}") })
    }
}

impl fmt::Display for PostgresTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match text.parse::<DatabaseUrl>() {
            Ok(url) => url.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn addresses_print_without_their_password() {
        for (text, want) in [
            ("sqlite:data/x.db", "sqlite:data/x.db"),
            ("sqlite:/var/x.db", "sqlite:/var/x.db"),
            ("sqlite:///var/x.db", "sqlite:/var/x.db"),
            ("postgres://u:hunter2@db.example:6432/s", "postgres://u@db.example:6432/s"),
            ("postgresql://u@[::1]/s?sslmode=verify-full", "postgres://u@[::1]/s"),
            ("postgres://u:hunter2@a,b:1/s", "postgres://u@a,b:1/s"),
            ("postgres://u:p%40ss@%2Frun%2Fpg/s", "postgres://u@%2Frun%2Fpg/s"),
            ("postgres://db/s?user=u&password=hunter2", "postgres://db/s"),
        ] {
            assert_eq!(shown(text), want, "{text}");
            let url: DatabaseUrl = text.parse().unwrap();
            assert_eq!(format!("{url:?}"), format!("DatabaseUrl({want})"));
        }
    }

    #[test]
    fn each_mistake_is_reported_without_the_password() {
        for (text, want) in [
            ("", "expected sqlite:PATH or postgres://"),
            ("mysql://u:hunter2@h/d", "expected sqlite:PATH or postgres://"),
            ("host=h password=hunter2", "expected sqlite:PATH or postgres://"),
            ("sqlite:", "a file name is missing"),
            ("sqlite:data/", "a file name is missing"),
            ("sqlite://data/x.db", "an absolute path must follow"),
            ("sqlite::memory:", "lost when the program ends"),
            ("sqlite:x.db?mode=ro", "no parameters"),
            ("sqlite:a\0b", "NUL"),
            ("postgres://u:hunter2", "`port`"),
            (
                "postgres://u:hunter2@h/d?sslmode=hunter2",
                "invalid `sslmode`: expected disable, prefer, require, verify-ca",
            ),
            ("postgres://u@h/d?sslcert=hunter2", "parameter 1 after the \"?\" is not supported"),
            ("postgres://u@h/d?password=x&hunter2=1", "parameter 2 after the \"?\" is not supported"),
            ("postgres://u@h/d?hunter2", "parameter 1 after the \"?\" has no value"),
            ("postgres://u@h/d?connect_timeout=hunter2", "`connect_timeout`"),
            ("postgres://u:hunter2@/d", "a host is missing"),
            ("postgres://u:x@hunter2@h/d", "write %40"),
            ("postgres://u:x@hunter2:y/z@h/d", "write %40"),
            ("postgres://u:x@hunter2?password=y@h/d", "write %40"),
            ("postgres://u:x@h/hunter2@d", "write %40"),
            ("postgres://h/d?user=u&password=x@hunter2", "write %40"),
            ("postgres://h:5432/d?user=u&password=x@hunter2", "write %40"),
            ("postgres://h?password=hunter2@x", "write %40"),
        ] {
            let error = text.parse::<DatabaseUrl>().map(|url| url.to_string()).unwrap_err();
            assert!(error.to_string().contains(want), "{text}: {error}");
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{text}: {error}");
        }
    }

    #[test]
    fn sslmode_has_the_same_meaning_as_in_psql() {
        for (parameters, mode, verify) in [
            ("", SslMode::Prefer, Verify::Nothing),
            ("?sslmode=disable", SslMode::Disable, Verify::Nothing),
            ("?sslmode=require", SslMode::Require, Verify::Nothing),
            ("?sslmode=require&sslrootcert=%2Fca.pem", SslMode::Require, Verify::Authority),
            ("?sslrootcert=system&sslmode=verify-ca", SslMode::Require, Verify::Authority),
            ("?application_name=a&sslmode=verify-full&connect_timeout=3", SslMode::Require, Verify::Full),
        ] {
            let target = PostgresTarget::parse(&format!("postgres://u:p@h/d{parameters}")).unwrap();
            assert_eq!((target.config.get_ssl_mode(), target.verify), (mode, verify), "{parameters}");
        }
        let target = PostgresTarget::parse("postgres://u:a?b&c=d/e@h/d?sslrootcert=%2Fa+b%20c.pem").unwrap();
        assert_eq!(target.roots, Some(PathBuf::from("/a+b c.pem")));
        let of_login = (target.config.get_password(), target.config.get_dbname());
        assert_eq!(of_login, (Some(b"a?b&c=d/e".as_slice()), Some("d")));
    }

    #[test]
    fn parameters_of_the_address_override_the_limits() {
        let target = PostgresTarget::parse("postgres://h/d").unwrap();
        assert_eq!(target.config.get_connect_timeout().unwrap().as_secs(), 5);
        assert_eq!(target.config.get_keepalives_idle().as_secs(), 15);
        assert_eq!(target.config.get_application_name(), Some("sightline"));
        assert_eq!(target.config.get_options(), Some(POSTGRES_SETTINGS));
        let target = PostgresTarget::parse(
            "postgres://h/d?connect_timeout=9&keepalives_idle=60&options=-c%20statement_timeout%3D1min&application_name=x",
        )
        .unwrap();
        assert_eq!(target.config.get_connect_timeout().unwrap().as_secs(), 9);
        assert_eq!(target.config.get_keepalives_idle().as_secs(), 60);
        assert!(target.config.get_options().unwrap().ends_with(" -c statement_timeout=1min"));
        assert_eq!(target.config.get_application_name(), Some("x"));
    }
}
