//! [`CheckPool`]: the check workers that all runs share. This is the only file that uses the `threadpool` crate.

use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use std::time::{Duration, Instant};

use log::{error, warn};
use parking_lot::RwLock;
use threadpool::ThreadPool;

use crate::base::threads::{self, Reserve};

/// The stack size of a check worker. Rules are not recursive, and TLS needs some tens of KiB. Untouched pages use
/// only address space.
const WORKER_STACK_BYTES: usize = 512 * 1024;
/// The number of threads that are reserved for request workers, connections, drivers and the database.
const RESERVE: usize = 128;
/// The stack size of a reserved thread, which is that of most threads. The C library would keep many freed stacks of the
/// workers' size.
const RESERVE_STACK_BYTES: usize = 2 * 1024 * 1024;
/// The number of workers that are started one by one, as jobs need them. The next job starts all others at once.
const FIRST_WORKERS: usize = 32;

/// The time after which the pool tries again to start threads when one could not be started.
const RETRY: Duration = Duration::from_secs(10);

/// A bounded number of threads that run checks.
pub struct CheckPool {
    name: String,
    wanted: usize,
    threads: RwLock<Threads>,
}

struct Threads {
    pool: ThreadPool,
    wanted: usize,
    /// The moment until which no thread is started, since one could not be.
    limited_until: Option<Instant>,
}

impl CheckPool {
    /// Creates a pool of up to `workers` threads, at least one. The first one is started.
    pub fn new(workers: usize) -> Self {
        Self::of("check", workers)
    }

    /// Creates a pool like [`CheckPool::new`], with another name for its threads.
    pub fn of(name: &str, workers: usize) -> Self {
        let wanted = workers.max(1);
        Self { name: name.to_owned(), wanted, threads: RwLock::new(Threads::first(name, wanted)) }
    }

    /// Starts threads for the jobs that wait, or all that are missing if there are many already.
    fn grow(&self) {
        // Dropped after the lock, since its threads take some time to end.
        let reserve;
        let mut threads = self.threads.write();
        if !threads.needs_more() {
            return;
        }
        let is_complete = if threads.pool.max_count() < FIRST_WORKERS {
            let needed = threads.taken().min(FIRST_WORKERS);
            threads.grow_to(needed)
        } else {
            reserve = Reserve::start(RESERVE, RESERVE_STACK_BYTES);
            reserve.count() == RESERVE && threads.grow_to(self.wanted)
        };
        if !is_complete {
            threads.limited_until = Some(Instant::now() + RETRY);
            let (workers, Self { name, wanted, .. }) = (threads.pool.max_count(), self);
            warn!("only {workers} of {wanted} {name} workers can be started: {}", threads::LIMITS);
        }
    }

    /// Ends all threads but one if there are many and no job runs or waits. The stacks and caches of hundreds of threads
    /// take tens of megabytes.
    pub fn shrink(&self) {
        let mut threads = self.threads.write();
        if threads.taken() == 0 && threads.pool.max_count() > FIRST_WORKERS {
            let Self { name, wanted, .. } = self;
            // The threads of a pool end when it is dropped. If no other thread can be started, they stay.
            if let Ok(first) = catch_unwind(|| Threads::first(name, *wanted)) {
                *threads = first;
            }
        }
    }

    /// Returns the number of threads that the pool has when all are needed.
    pub fn workers(&self) -> usize {
        self.threads.read().most()
    }

    /// Returns the number of busy threads.
    pub fn busy(&self) -> usize {
        self.threads.read().pool.active_count()
    }

    /// Returns the number of jobs that wait for a thread.
    pub fn waiting(&self) -> usize {
        self.threads.read().pool.queued_count()
    }

    /// Returns the number of jobs that would start at once.
    pub fn free(&self) -> usize {
        let threads = self.threads.read();
        threads.most().saturating_sub(threads.taken())
    }

    /// Submits a job. It starts when a thread is free. The pool is first in, first out.
    pub fn execute(&self, job: impl FnOnce() + Send + 'static) {
        let needs_more = {
            let threads = self.threads.read();
            threads.pool.execute(move || {
                // After a panic the crate would start another thread, and would abort the process if it cannot.
                if catch_unwind(AssertUnwindSafe(job)).is_err() {
                    error!("a check panicked");
                }
            });
            threads.needs_more()
        };
        if needs_more {
            self.grow();
        }
    }
}

impl Threads {
    fn first(name: &str, wanted: usize) -> Self {
        install_panic_hook();
        let pool = threadpool::Builder::new()
            .num_threads(1)
            .thread_name(name.to_owned())
            .thread_stack_size(WORKER_STACK_BYTES)
            .build();
        Self { pool, wanted, limited_until: None }
    }

    /// Returns the number of jobs that run or wait. A job that begins meanwhile may be counted twice.
    fn taken(&self) -> usize {
        // A worker counts a job as running before it stops to count it as waiting.
        let waiting = self.pool.queued_count();
        waiting + self.pool.active_count()
    }

    /// Returns the number of threads that the pool can have now.
    fn most(&self) -> usize {
        match self.limited_until {
            Some(until) if Instant::now() < until => self.pool.max_count(),
            _ => self.wanted,
        }
    }

    /// Returns whether a job waits for a thread that could be started.
    fn needs_more(&self) -> bool {
        let workers = self.pool.max_count();
        workers < self.taken() && workers < self.most()
    }

    /// Starts threads until there are `wanted`. Returns `false` if one cannot be started.
    fn grow_to(&mut self, wanted: usize) -> bool {
        (self.pool.max_count()..wanted).all(|workers| {
            // The crate panics if a thread cannot be started, and counts it all the same.
            let start = AssertUnwindSafe(|| self.pool.set_num_threads(workers + 1));
            let is_started = catch_unwind(start).is_ok();
            if !is_started {
                self.pool.set_num_threads(workers);
            }
            is_started
        })
    }
}

/// Makes the panics of the crate warnings. They mean that a thread cannot be started, which the pool expects.
fn install_panic_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| match info.location() {
            Some(place) if place.file().contains("threadpool-") => warn!("a worker cannot be started"),
            _ => previous(info),
        }));
    });
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};

    use parking_lot::Mutex;

    use super::*;

    #[test]
    fn workers_are_started_when_the_first_ones_are_busy_and_ended_when_none_is() {
        let pool = CheckPool::new(FIRST_WORKERS + 8);
        let threads = || pool.threads.read().pool.max_count();
        assert_eq!((threads(), pool.workers()), (1, FIRST_WORKERS + 8));
        let (arrive, arrived) = mpsc::channel();
        let ends: Vec<mpsc::Sender<()>> = (0..FIRST_WORKERS + 8)
            .map(|_| {
                let (end, ended) = mpsc::channel();
                let arrive = arrive.clone();
                pool.execute(move || {
                    arrive.send(()).unwrap();
                    let _ = ended.recv();
                });
                end
            })
            .collect();
        // Each job holds its thread, so that all of them run at once.
        ends.iter().for_each(|_| arrived.recv().unwrap());
        assert_eq!(threads(), FIRST_WORKERS + 8);
        pool.shrink();
        assert_eq!(threads(), FIRST_WORKERS + 8, "jobs are running");
        drop(ends);
        while pool.busy() > 0 {
            std::thread::yield_now();
        }
        pool.shrink();
        assert_eq!((threads(), pool.workers()), (1, FIRST_WORKERS + 8));
    }

    #[test]
    fn a_pool_that_could_not_start_a_thread_tries_again_later() {
        let pool = CheckPool::new(8);
        let threads = || pool.threads.read().pool.max_count();
        let (arrive, arrived) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let ended = Arc::new(Mutex::new(ended));
        let submit = || {
            let (arrive, ended) = (arrive.clone(), Arc::clone(&ended));
            pool.execute(move || {
                arrive.send(()).unwrap();
                let _ = ended.lock().recv();
            });
        };
        pool.threads.write().limited_until = Some(Instant::now() + Duration::from_secs(600));
        submit();
        submit();
        arrived.recv().unwrap();
        assert_eq!((threads(), pool.workers(), pool.free(), pool.waiting()), (1, 1, 0, 1));
        pool.threads.write().limited_until = Some(Instant::now());
        submit();
        // The job that was passed over gets a thread, too.
        arrived.recv().unwrap();
        arrived.recv().unwrap();
        assert_eq!((threads(), pool.workers(), pool.free()), (3, 8, 5));
        drop(end);
    }
}
