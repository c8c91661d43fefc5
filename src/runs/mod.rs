//! Runs: their lifecycle, events and driver threads.
//!
//! | file | holds |
//! |---|---|
//! | [`record`] | all of a run at one moment |
//! | [`event`] | the frames of a stream: serialized once, shared by all readers |
//! | [`live`] | runs in memory |
//! | `waiting` | waiting for the changes of a run |
//! | [`family`] | following leads: look-ups, and the runs that leads start |
//! | [`batches`] | many searches that are accepted together and started one after the other |
//! | [`follow`] | reading a run frame by frame, live or stored, and sending it to one reader |
//! | `registry` | the runs that this process holds in memory, and what readers of all runs wait for |
//! | [`scheduler`] | which check starts next: hosts, rates, turns, workers |
//! | [`shared_answers`] | the answers that searches for the same query share |
//! | [`health`] | the health of each module, measured by real runs |
//! | [`leads`] | what results point to, which could be searched next |
//! | [`diff`] | what changed between two runs of one query |
//! | [`graph`] | the entities of runs, and what joins them |
//! | [`people`] | the accounts of runs, grouped by who they probably belong to |
//! | [`pictures`] | profile pictures: decoding, hashes, thumbnails |
//! | `screenshots` | screenshots of profiles, as evidence |
//! | [`figures`] | the totals of this process |
//! | [`driver`] | the thread that takes a run from start to end |
//! | `ending` | storing the end of a run |
//! | [`proof`] | proofs of a catalogue: known names hit, made-up names miss |
//! | [`retention`] | removal of old runs |
//! | [`suppression`] | identifiers that are never searched |
//! | `dispatcher` | takes runs from the queue and gives each a driver; the periodic tasks, and the shutdown |
//! | `starter` | starts a search, or queues it; the modules that searches may ask, and those to ask again |
//! | `reader` | finds, lists and follows runs |
//! | [`service`] | these parts, put together; requests for searches |
//!
//! A driver is the only writer of its run: it numbers results and collects the reports of modules, saves them under the next
//! revision, and only then publishes them. So nothing that a reader has seen is lost, and an id never changes after it was
//! shown. A result may be shown again with more sources.

pub mod batches;
pub mod diff;
mod dispatcher;
pub mod driver;
mod ending;
pub mod event;
pub mod family;
pub mod figures;
pub mod follow;
pub mod graph;
pub mod health;
pub mod leads;
pub mod live;
pub mod people;
pub mod pictures;
pub mod proof;
mod reader;
pub mod record;
mod registry;
pub mod retention;
pub mod scheduler;
mod screenshots;
pub mod service;
pub mod shared_answers;
mod starter;
pub mod suppression;
mod waiting;
