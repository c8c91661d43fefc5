//! Log set-up: one line for people (simplelog), or one JSON object a line for machines.
//!
//! A log line never holds a key, a query or a result. What belongs to a request carries its id as a key of its own:
//! `warn!(request_id = id.as_str(); "…")`.

use std::io::Write;

use log::kv::{Key, VisitSource, VisitValue};
use log::{LevelFilter, Log, Metadata, Record, SetLoggerError, kv};
use parking_lot::Mutex;
use serde_json::{Map, Value};
use simplelog::{ConfigBuilder, WriteLogger, format_description};

use super::clock::{Clock, SystemClock, rfc3339_millis};

/// How a log line is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// `2026-01-01T00:00:00.000Z [INFO] sightline::…: …`; what the line belongs to stands before the message.
    #[default]
    Text,
    /// `{"time":…,"level":…,"target":…,"message":…}`, and `request_id` where there is one.
    Json,
}

/// Sends all log lines of `level` and above to standard error.
///
/// # Errors
/// When a logger is installed already.
pub fn init(level: LevelFilter, format: LogFormat) -> Result<(), SetLoggerError> {
    log::set_boxed_logger(logger(level, format, std::io::stderr()))?;
    log::set_max_level(level);
    Ok(())
}

fn logger(level: LevelFilter, format: LogFormat, out: impl Write + Send + 'static) -> Box<dyn Log> {
    match format {
        LogFormat::Text => Box::new(TextLogger::new(level, out)),
        LogFormat::Json => Box::new(JsonLogger { level, out: Mutex::new(out) }),
    }
}

/// simplelog, and before the message what the line belongs to, which simplelog leaves out.
struct TextLogger<W: Write + Send + 'static>(Box<WriteLogger<W>>);

impl<W: Write + Send + 'static> TextLogger<W> {
    fn new(level: LevelFilter, out: W) -> Self {
        let moment =
            format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");
        let config = ConfigBuilder::new()
            .set_time_format_custom(moment)
            .set_thread_level(LevelFilter::Off)
            .set_target_level(LevelFilter::Error)
            .set_location_level(LevelFilter::Off)
            .add_filter_allow_str("sightline")
            .build();
        Self(WriteLogger::new(level, config, out))
    }
}

impl<W: Write + Send + 'static> Log for TextLogger<W> {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.0.enabled(metadata)
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let belongs_to: String = fields(record).into_iter().map(|(_, value)| value + " ").collect();
        let mut line = Record::builder();
        line.metadata(record.metadata().clone());
        self.0.log(&line.args(format_args!("{belongs_to}{}", record.args())).build());
    }

    fn flush(&self) {
        self.0.flush();
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
        if self.enabled(record.metadata()) {
            // A log that cannot be written must not take the service down.
            let _ = self.out.lock().write_all(json_line(record).as_bytes());
        }
    }

    fn flush(&self) {
        let _ = self.out.lock().flush();
    }
}

fn json_line(record: &Record<'_>) -> String {
    let mut line = Map::new();
    line.insert("time".to_owned(), rfc3339_millis(SystemClock.now()).into());
    line.insert("level".to_owned(), record.level().as_str().to_ascii_lowercase().into());
    line.insert("target".to_owned(), record.target().into());
    for (name, value) in fields(record) {
        line.insert(name, value.into());
    }
    line.insert("message".to_owned(), record.args().to_string().into());
    let mut line = Value::Object(line).to_string();
    line.push('\n');
    line
}

/// What the line belongs to, in the order in which it was given.
fn fields(record: &Record<'_>) -> Vec<(String, String)> {
    struct Fields(Vec<(String, String)>);
    impl<'a> VisitSource<'a> for Fields {
        fn visit_pair(&mut self, key: Key<'a>, value: kv::Value<'a>) -> Result<(), kv::Error> {
            let mut text = Text(String::new());
            value.visit(&mut text)?;
            self.0.push((key.as_str().to_owned(), text.0));
            Ok(())
        }
    }
    let mut fields = Fields(Vec::new());
    // Nothing in here fails.
    let _ = record.key_values().visit(&mut fields);
    fields.0
}

struct Text(String);

impl VisitValue<'_> for Text {
    fn visit_any(&mut self, value: kv::Value<'_>) -> Result<(), kv::Error> {
        self.0 = value.to_string();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use log::Level;

    use super::*;

    #[derive(Clone, Default)]
    struct Out(Arc<Mutex<Vec<u8>>>);

    impl Write for Out {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn written(format: LogFormat) -> String {
        let out = Out::default();
        let logger = logger(LevelFilter::Info, format, out.clone());
        for (level, target) in
            [(Level::Info, "sightline::x"), (Level::Debug, "sightline"), (Level::Error, "ureq")]
        {
            logger.log(
                &Record::builder()
                    .level(level)
                    .target(target)
                    .key_values(&[("request_id", "r-1")])
                    .args(format_args!("a \"b\"\nc"))
                    .build(),
            );
        }
        String::from_utf8(out.0.lock().clone()).unwrap()
    }

    #[test]
    fn a_json_line_is_one_object_whatever_the_message_holds() {
        let written = written(LogFormat::Json);
        assert_eq!(written.lines().count(), 1, "{written}");
        let line: Value = serde_json::from_str(&written).unwrap();
        assert_eq!((line["level"].as_str(), line["message"].as_str()), (Some("info"), Some("a \"b\"\nc")));
        assert_eq!(
            (line["target"].as_str(), line["request_id"].as_str()),
            (Some("sightline::x"), Some("r-1"))
        );
    }

    #[test]
    fn a_text_line_has_a_moment_of_fixed_length_and_says_what_it_belongs_to() {
        let written = written(LogFormat::Text);
        let (time, rest) = written.split_once(' ').unwrap();
        assert_eq!((time.len(), time.ends_with('Z')), ("2026-01-01T00:00:00.000Z".len(), true), "{time}");
        assert_eq!(rest, "[INFO] sightline::x: r-1 a \"b\"\nc\n");
    }
}
