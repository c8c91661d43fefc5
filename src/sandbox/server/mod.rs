//! A small HTTP server with an accept thread, worker threads and a timer thread.
//!
//! A request is read at once, and its reaction may be delayed. A delayed connection is an entry of the schedule (a
//! socket and a due time), not a thread. A connection that is never answered is one entry as well, and is polled to
//! detect that the client has closed it. Thus 600 connections at once need no more than [`WORKERS`] small stacks.

use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use socket2::{Domain, SockRef, Socket, Type};

use super::wire::{self, Answer, Asked, Refusal};

/// The number of threads that read requests and write answers. They never wait for a delay.
const WORKERS: usize = 12;
const STACK_BYTES: usize = 512 * 1024;
/// The maximum number of connections that are open at once. Further ones are closed without an answer.
const MAX_CONNECTIONS: usize = 4096;
const BACKLOG: i32 = 1024;
/// The time after which the connection of a client without an answer is closed.
const SILENCE: Duration = Duration::from_secs(90);
/// The interval at which a silent connection is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// A source of reactions to requests. The simulated web implements it, and so does a small one in the tests of the
/// server.
pub(super) trait Host: Send + Sync + 'static {
    /// Returns the reaction to a request. Must not block.
    fn react(&self, asked: &Asked) -> Reaction;
}

/// The reaction to a request, with its delay.
#[derive(Debug)]
pub(super) struct Reaction {
    /// The delay, counted from the request's arrival.
    pub(super) after: Duration,
    /// The action that follows the delay.
    pub(super) action: Action,
}

/// The action with which the server reacts to a request.
#[derive(Debug)]
pub(super) enum Action {
    /// An answer to send.
    Answer(Answer),
    /// Resets the connection.
    Reset,
    /// No answer at all until the client gives up.
    Silence,
}

/// A running server. It stops when it is dropped.
pub(super) struct Server {
    addr: SocketAddr,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    listener: TcpListener,
    host: Arc<dyn Host>,
    schedule: Mutex<Schedule>,
    /// A condition that is signalled when `Schedule::now` gets a job.
    work: Condvar,
    /// A condition that is signalled when `Schedule::later` gets a new first entry.
    clock: Condvar,
}

#[derive(Default)]
struct Schedule {
    stopped: bool,
    /// The number of connections in the schedule or held by a worker.
    connections: usize,
    now: VecDeque<Job>,
    later: BinaryHeap<DueJob>,
    next_number: u64,
}

/// A job with its due time. The greatest one in the heap is due first.
struct DueJob {
    at: Instant,
    number: u64,
    job: Job,
}

struct Job {
    stream: TcpStream,
    task: Task,
}

enum Task {
    Read,
    Do { action: Action, head_only: bool },
    Look { until: Instant },
}

impl Server {
    /// Starts a server on a free loopback port.
    pub(super) fn start(host: Arc<dyn Host>) -> io::Result<Self> {
        let listener = listen()?;
        let addr = listener.local_addr()?;
        let (schedule, work, clock) = Default::default();
        let shared = Arc::new(Shared { listener, host, schedule, work, clock });
        let mut server = Self { addr, shared, threads: Vec::new() };
        server.spawn("sandbox-accept", Shared::accept_all)?;
        server.spawn("sandbox-clock", Shared::keep_time)?;
        for number in 0..WORKERS {
            server.spawn(&format!("sandbox-{number}"), Shared::work)?;
        }
        Ok(server)
    }

    pub(super) fn addr(&self) -> SocketAddr {
        self.addr
    }

    fn spawn(&mut self, name: &str, body: fn(&Shared)) -> io::Result<()> {
        let shared = Arc::clone(&self.shared);
        let thread = Builder::new().name(name.to_owned()).stack_size(STACK_BYTES);
        self.threads.push(thread.spawn(move || body(&shared))?);
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        {
            let mut schedule = self.shared.schedule.lock();
            schedule.stopped = true;
            schedule.now.clear();
            schedule.later.clear();
        }
        self.shared.work.notify_all();
        self.shared.clock.notify_all();
        // Either of these calls wakes the accept thread, depending on the system.
        let _ = SockRef::from(&self.shared.listener).shutdown(std::net::Shutdown::Both);
        let _ = TcpStream::connect_timeout(&self.addr, Duration::from_secs(1));
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn listen() -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

impl Shared {
    fn accept_all(&self) {
        loop {
            let accepted = self.listener.accept();
            if self.schedule.lock().stopped {
                return;
            }
            match accepted {
                Ok((stream, _)) => self.admit(stream),
                // Most likely no file descriptor is left. An immediate retry would only use processor time.
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    fn admit(&self, stream: TcpStream) {
        let _ = stream.set_nodelay(true);
        let mut schedule = self.schedule.lock();
        if schedule.connections < MAX_CONNECTIONS {
            schedule.connections += 1;
            schedule.now.push_back(Job { stream, task: Task::Read });
            drop(schedule);
            self.work.notify_one();
        }
    }

    fn work(&self) {
        while let Some(job) = self.next_job() {
            let next = catch_unwind(AssertUnwindSafe(|| self.carry_out(job))).unwrap_or_else(|_| {
                log::error!("the sandbox could not answer a request");
                None
            });
            match next {
                Some((at, job)) => self.put_off(at, job),
                None => self.schedule.lock().connections -= 1,
            }
        }
    }

    /// Moves due jobs to the queue of the workers until the server stops.
    fn keep_time(&self) {
        let mut schedule = self.schedule.lock();
        while !schedule.stopped {
            let moved = schedule.move_due(Instant::now());
            for _ in 0..moved {
                self.work.notify_one();
            }
            match schedule.later.peek().map(|due| due.at) {
                Some(at) => drop(self.clock.wait_until(&mut schedule, at)),
                None => self.clock.wait(&mut schedule),
            }
        }
    }

    /// Waits for a job. Returns `None` when the server stops.
    fn next_job(&self) -> Option<Job> {
        let mut schedule = self.schedule.lock();
        while !schedule.stopped {
            match schedule.now.pop_front() {
                Some(job) => return Some(job),
                None => self.work.wait(&mut schedule),
            }
        }
        None
    }

    fn put_off(&self, at: Instant, job: Job) {
        let mut schedule = self.schedule.lock();
        if schedule.stopped {
            return;
        }
        let number = schedule.next_number;
        schedule.next_number += 1;
        schedule.later.push(DueJob { at, number, job });
        if schedule.later.peek().is_some_and(|first| first.number == number) {
            self.clock.notify_one();
        }
    }

    /// Executes one step for a connection. Returns its next job with the due time, if there is one.
    fn carry_out(&self, job: Job) -> Option<(Instant, Job)> {
        let Job { mut stream, task } = job;
        match task {
            Task::Read => {
                let (after, task) = self.read(&stream)?;
                let at = Instant::now() + after;
                if after.is_zero() {
                    self.carry_out(Job { stream, task })
                } else {
                    Some((at, Job { stream, task }))
                }
            }
            Task::Do { action: Action::Answer(answer), head_only } => {
                let _ = wire::write(&mut stream, &answer, head_only);
                None
            }
            Task::Do { action: Action::Reset, .. } => {
                let _ = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
                None
            }
            Task::Do { action: Action::Silence, .. } => {
                stream.set_nonblocking(true).ok()?;
                look(stream, Instant::now() + SILENCE)
            }
            Task::Look { until } => look(stream, until),
        }
    }

    fn read(&self, stream: &TcpStream) -> Option<(Duration, Task)> {
        let (reaction, head_only) = match wire::read(stream) {
            Ok(asked) => (self.host.react(&asked), asked.method == "HEAD"),
            Err(Refusal::Gone) => return None,
            Err(Refusal::Malformed(what)) => {
                let answer = Answer::new(400, "text/plain", what);
                (Reaction { after: Duration::ZERO, action: Action::Answer(answer) }, false)
            }
        };
        Some((reaction.after, Task::Do { action: reaction.action, head_only }))
    }
}

/// Returns the next poll of a silent connection, or `None` if its client has closed it or `until` has passed.
fn look(stream: TcpStream, until: Instant) -> Option<(Instant, Job)> {
    let waiting = match stream.peek(&mut [0]) {
        Ok(count) => count > 0,
        Err(error) => error.kind() == io::ErrorKind::WouldBlock,
    };
    let now = Instant::now();
    (waiting && now < until).then(|| (now + POLL_INTERVAL, Job { stream, task: Task::Look { until } }))
}

impl Schedule {
    /// Moves due jobs to the queue of the workers, and returns their number.
    fn move_due(&mut self, now: Instant) -> usize {
        let before = self.now.len();
        while self.later.peek().is_some_and(|due| due.at <= now) {
            if let Some(due) = self.later.pop() {
                self.now.push_back(due.job);
            }
        }
        self.now.len() - before
    }
}

impl Ord for DueJob {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl PartialOrd for DueJob {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for DueJob {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for DueJob {}

#[cfg(test)]
mod tests;
