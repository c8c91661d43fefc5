//! Log set-up: one line of text (simplelog) or one JSON object for each message.
//!
//! A log line never holds a key, a query or a result. A message about a request carries the id of the request as a
//! separate value: `warn!(request_id = id.as_str(); "…")`.

use std::io::{self, Stderr};

use log::kv::{Key, VisitSource};
use log::{Level, LevelFilter, Log, Metadata, Record, SetLoggerError, kv};
use serde_json::{Map, Value};
use simplelog::{ConfigBuilder, WriteLogger};

use super::clock::{Clock, SystemClock, rfc3339_millis};

/// The form of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum LogFormat {
    /// `2026-01-01T00:00:00.000Z [INFO] sightline::…: …`. The id of a request is before the message, other values
    /// stand behind it as `name=value`.
    #[default]
    Text,
    /// `{"time":…,"level":…,"target":…,"message":…}`, with `request_id` and other values where there are any.
    Json,
}

/// Formats an error that ends the program like a log line. It has no level, since it is written whatever the log level
/// is.
pub fn fatal_line(format: LogFormat, message: &str) -> String {
    let message = format_args!("{message}");
    match format {
        LogFormat::Text => format!("error: {message}\n"),
        LogFormat::Json => {
            json_line(&Record::builder().level(Level::Error).target("sightline").args(message).build()) + "\n"
        }
    }
}

/// Sends all log lines of `level` and above to standard error.
///
/// # Errors
/// When a logger is installed already.
pub fn init(level: LevelFilter, format: LogFormat) -> Result<(), SetLoggerError> {
    // simplelog leaves the values of a message out, so it gets whole lines.
    let config = ConfigBuilder::new()
        .set_max_level(LevelFilter::Off)
        .set_time_level(LevelFilter::Off)
        .set_thread_level(LevelFilter::Off)
        .set_target_level(LevelFilter::Off)
        .set_location_level(LevelFilter::Off)
        .build();
    log::set_boxed_logger(Box::new(Logger { format, lines: WriteLogger::new(level, config, io::stderr()) }))?;
    log::set_max_level(level);
    Ok(())
}

/// The logger. The level was compared before it is called.
struct Logger {
    format: LogFormat,
    lines: Box<WriteLogger<Stderr>>,
}

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("sightline")
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let line = if self.format == LogFormat::Json { json_line(record) } else { text_line(record) };
            let metadata = record.metadata().clone();
            self.lines.log(&Record::builder().metadata(metadata).args(format_args!("{line}")).build());
        }
    }

    fn flush(&self) {
        self.lines.flush();
    }
}

fn text_line(record: &Record<'_>) -> String {
    let (mut before, mut behind) = (String::new(), String::new());
    for (name, value) in fields(record) {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        if name == "request_id" {
            before = value + " ";
        } else {
            behind += &format!(" {name}={value}");
        }
    }
    let (time, level) = (rfc3339_millis(SystemClock.now()), record.level());
    format!("{time} [{level}] {}: {before}{}{behind}", record.target(), record.args())
}

fn json_line(record: &Record<'_>) -> String {
    let mut line = Map::new();
    line.insert("time".to_owned(), rfc3339_millis(SystemClock.now()).into());
    line.insert("level".to_owned(), record.level().as_str().to_ascii_lowercase().into());
    line.insert("target".to_owned(), record.target().into());
    line.extend(fields(record));
    line.insert("message".to_owned(), record.args().to_string().into());
    Value::Object(line).to_string()
}

/// Returns the keys and values of a line in the order in which they were given, without empty ones.
fn fields(record: &Record<'_>) -> Vec<(String, Value)> {
    let mut fields = Fields::default();
    // The visitor cannot fail.
    let _ = record.key_values().visit(&mut fields);
    fields.0
}

#[derive(Default)]
struct Fields(Vec<(String, Value)>);

impl<'a> VisitSource<'a> for Fields {
    fn visit_pair(&mut self, key: Key<'a>, value: kv::Value<'a>) -> Result<(), kv::Error> {
        let text = value.to_string();
        if !text.is_empty() {
            self.0.push((key.to_string(), value.to_u64().map_or(text.into(), Value::from)));
        }
        Ok(())
    }
}
