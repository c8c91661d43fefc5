//! Log set-up: text for people (simplelog), one JSON object a line for machines.
//!
//! A log line never holds a key, a query or a result.

use std::io::Write;

use log::{LevelFilter, Log, Metadata, Record, SetLoggerError};
use parking_lot::Mutex;
use simplelog::{ConfigBuilder, WriteLogger};

use super::clock::{Clock, SystemClock, rfc3339_millis};

/// How a log line is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// `2026-01-01T00:00:00Z [INFO] …`
    #[default]
    Text,
    /// `{"time":…,"level":…,"target":…,"message":…}`
    Json,
}

/// Sends all log lines of `level` and above to standard error.
///
/// # Errors
/// When a logger is installed already.
pub fn init(level: LevelFilter, format: LogFormat) -> Result<(), SetLoggerError> {
    match format {
        LogFormat::Text => {
            let config = ConfigBuilder::new()
                .set_time_format_rfc3339()
                .set_thread_level(LevelFilter::Off)
                .set_target_level(LevelFilter::Error)
                .set_location_level(LevelFilter::Off)
                .add_filter_allow_str("sightline")
                .build();
            WriteLogger::init(level, config, std::io::stderr())
        }
        LogFormat::Json => {
            log::set_boxed_logger(Box::new(JsonLogger { level, out: Mutex::new(std::io::stderr()) }))?;
            log::set_max_level(level);
            Ok(())
        }
    }
}

struct JsonLogger<W: Write + Send> {
    level: LevelFilter,
    out: Mutex<W>,
}

impl<W: Write + Send> Log for JsonLogger<W> {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= self.level && metadata.target().starts_with("sightline")
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let mut line = serde_json::json!({
            "time": rfc3339_millis(SystemClock.now()),
            "level": record.level().as_str().to_ascii_lowercase(),
            "target": record.target(),
            "message": record.args().to_string(),
        })
        .to_string();
        line.push('\n');
        // A log that cannot be written must not take the service down.
        let _ = self.out.lock().write_all(line.as_bytes());
    }

    fn flush(&self) {
        let _ = self.out.lock().flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use log::Level;

    #[test]
    fn a_json_line_is_one_object_whatever_the_message_holds() {
        let logger = JsonLogger { level: LevelFilter::Info, out: Mutex::new(Vec::new()) };
        for (level, target) in
            [(Level::Info, "sightline::x"), (Level::Debug, "sightline"), (Level::Error, "ureq")]
        {
            logger
                .log(&Record::builder().level(level).target(target).args(format_args!("a \"b\"\nc")).build());
        }
        let written = String::from_utf8(logger.out.into_inner()).unwrap();
        assert_eq!(written.lines().count(), 1, "{written}");
        let line: serde_json::Value = serde_json::from_str(&written).unwrap();
        assert_eq!((line["level"].as_str(), line["message"].as_str()), (Some("info"), Some("a \"b\"\nc")));
    }
}
