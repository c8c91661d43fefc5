//! The server's threads: accept loop, supervisor, worker pool, and the threads for slow work.

mod accept_loop;
mod dispatcher;
mod exchange;
pub(super) mod lifecycle;
mod limits;
pub(super) mod listener;
mod probe;
mod shared;
mod supervisor;
pub(super) mod thread_group;
mod wake_up;
mod worker_pool;
