//! DOING it: runs, their events, their threads.
//!
//! | file | holds |
//! |---|---|
//! | [`run`] | status, progress, coverage, results: what is known of one search |
//! | [`record`] | a run with all that is known of it, at one moment |
//! | [`journal`] | what this room asks of storage |
//! | [`news`] | what the processes on one database tell each other |
//! | [`entity`] | when two findings are the same entity, and what becomes of the second one |
//! | `findings` | what a run has found and the store does not have yet |
//! | [`event`] | what a stream carries: frames, serialized once, shared by all readers |
//! | [`ring`] | the last events of a run |
//! | [`live`] | a run in memory: its state, and readers that wait on it |
//! | [`follow`] | readers of a run, live or stored |
//! | [`stream`] | a run told to one reader, frame by frame |
//! | `holding` | the runs that this process holds in memory |
//! | `hearing` | what the news of other processes change here |
//! | [`courtesy`] | how often a host and a module may be asked |
//! | [`health`] | what real runs teach about each module |
//! | [`figures`] | what a process has done, counted |
//! | [`lanes`] | in which order a run asks its modules |
//! | [`browsing`] | checks in browsers: workers of their own, shared fairly |
//! | [`pool`] | the check workers that all runs share |
//! | [`workshop`] | what all drivers share |
//! | [`driver`] | the thread that takes one run from its start to its end |
//! | [`earlier`] | what came of a run before it was interrupted |
//! | `ending` | the end of a run, stored |
//! | `doubt` | orders whose commit's answer was lost |
//! | [`proof`] | a catalogue that proves itself: known names hit, made-up ones miss |
//! | [`retention`] | old runs are removed |
//! | [`suppression`] | identifiers that are never searched |
//! | [`scheduler`] | which runs are driven now, which wait |
//! | [`unrecorded`] | a journal that keeps nothing, for a search on a terminal |
//! | [`order`] | an order for a search, and what became of it |
//! | [`page`] | the list of runs, page by page |
//! | [`service`] | the use cases: start, read, wait, follow, delete |
//! | `upkeep` | leases, runs without a driver, memory, the shutdown |
//!
//! A driver is the only writer of its run: it numbers results, stores them, and only then publishes
//! them, so that an id once shown never changes. A result may be shown again, with more sources.

pub mod browsing;
pub mod courtesy;
mod doubt;
pub mod driver;
pub mod earlier;
mod ending;
pub mod entity;
pub mod event;
pub mod figures;
mod findings;
pub mod follow;
pub mod health;
mod hearing;
mod holding;
pub mod journal;
pub mod lanes;
pub mod live;
pub mod news;
pub mod order;
pub mod page;
pub mod pool;
pub mod proof;
pub mod record;
pub mod retention;
pub mod ring;
pub mod run;
pub mod scheduler;
pub mod service;
pub mod stream;
pub mod suppression;
pub mod unrecorded;
mod upkeep;
pub mod workshop;
