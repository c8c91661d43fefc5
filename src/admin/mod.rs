//! The admin listener: metrics, liveness and readiness for operators. It has its own threads and answers
//! while the public listener has none to spare. It needs no key, so it must be kept private.
//!
//! | file | holds |
//! |---|---|
//! | `handler` | the paths and their answers, readiness |
//! | `parts` | the sources of the metrics |
//! | `exposition` | Prometheus' text format |
//! | `metrics` | the pages of metrics |
//! | `traffic`, `work`, `storage` | families of the public listener, of searches, of the store |
//! | `process` | families of the process, from `/proc` |
//!
//! To add a metric: count it in the layer where it arises (`base::count`), and add a family to the file of
//! that layer here. A label never contains anything that a client chose: no query, no key, no id.

mod exposition;
mod handler;
mod metrics;
mod parts;
mod process;
mod storage;
mod traffic;
mod work;

pub use handler::{Admin, AdminHandler};
pub use parts::{Parts, TaskTimes};
