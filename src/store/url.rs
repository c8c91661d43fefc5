//! Database addresses: parsing them, and printing them without their password.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::error::UrlError;
use super::postgres::PostgresTarget;

const FORMS: &str = "allowed: sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/DATABASE";

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
pub struct DatabaseUrl(Target);

#[derive(Clone)]
pub(super) enum Target {
    Sqlite(PathBuf),
    Postgres(Box<PostgresTarget>),
}

impl DatabaseUrl {
    /// Returns the address of an SQLite database in that file.
    pub fn sqlite(path: impl AsRef<Path>) -> Self {
        Self(Target::Sqlite(path.as_ref().to_owned()))
    }

    /// Returns the file of an SQLite database, or `None` for a PostgreSQL database.
    pub fn sqlite_file(&self) -> Option<&Path> {
        match &self.0 {
            Target::Sqlite(path) => Some(path),
            Target::Postgres(_) => None,
        }
    }

    pub(super) fn target(&self) -> &Target {
        &self.0
    }
}

impl FromStr for DatabaseUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        if text.contains('\0') {
            return Err(UrlError::new("it contains a NUL character"));
        }
        if let Some(path) = text.strip_prefix("sqlite:") {
            return sqlite_path(path).map(|path| Self(Target::Sqlite(path)));
        }
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return PostgresTarget::parse(text).map(|target| Self(Target::Postgres(Box::new(target))));
        }
        Err(UrlError::new(FORMS))
    }
}

fn sqlite_path(path: &str) -> Result<PathBuf, UrlError> {
    let path = match path.strip_prefix("//") {
        Some(rest) if rest.starts_with('/') => rest,
        Some(_) => {
            return Err(UrlError::new("after \"sqlite://\" an absolute path must follow; use sqlite:PATH"));
        }
        None => path,
    };
    if path.is_empty() || path.ends_with('/') {
        return Err(UrlError::new(format!("a file name is missing; {FORMS}")));
    }
    if path.starts_with(':') {
        return Err(UrlError::new("a database in memory is lost when the program ends; use sqlite:PATH"));
    }
    if path.contains("://") {
        return Err(UrlError::new(format!("a path must follow \"sqlite:\", not another address; {FORMS}")));
    }
    if path.contains('?') {
        return Err(UrlError::new("an SQLite address has no parameters: \"?\" is not allowed in its path"));
    }
    Ok(PathBuf::from(path))
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Target::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Target::Postgres(target) => target.fmt(f),
        }
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseUrl({self})")
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
            ("postgresql://u@[::1]/s?sslmode=verify-full", "postgres://u@[::1]:5432/s"),
            ("postgres://u:hunter2@a,b:1/s", "postgres://u@a:5432,b:1/s"),
            ("postgres://u:p%40ss@%2Frun%2Fpg/s", "postgres://u@/run/pg:5432/s"),
            ("postgres://db/s?user=u&password=hunter2", "postgres://u@db:5432/s"),
        ] {
            assert_eq!(shown(text), want, "{text}");
            let url: DatabaseUrl = text.parse().unwrap();
            assert_eq!(format!("{url:?}"), format!("DatabaseUrl({want})"));
        }
    }

    #[test]
    fn each_mistake_is_reported_without_the_password() {
        for (text, want) in [
            ("", "allowed: sqlite:PATH or postgres://"),
            ("mysql://u:hunter2@h/d", "allowed: sqlite:PATH or postgres://"),
            ("host=h password=hunter2", "allowed: sqlite:PATH or postgres://"),
            ("sqlite:", "a file name is missing"),
            ("sqlite:data/", "a file name is missing"),
            ("sqlite://data/x.db", "an absolute path must follow"),
            ("sqlite::memory:", "lost when the program ends"),
            ("sqlite:x.db?mode=ro", "no parameters"),
            ("sqlite:a\0b", "NUL"),
            ("postgres://u:hunter2", "`port`"),
            (
                "postgres://u:hunter2@h/d?sslmode=hunter2",
                "invalid `sslmode`; allowed: disable, prefer, require, verify-ca",
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
}
