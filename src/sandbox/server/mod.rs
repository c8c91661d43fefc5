//! The little server: an accept thread, a small crew of workers, and a timekeeper.
//!
//! A request is read at once, what comes of it happens later: delays wait in the timetable as a socket
//! and a due time, not as a thread. A client that is left without an answer costs one entry there, looked
//! at now and then to see whether the client gave up. 600 connections at once so need no more than
//! [`WORKERS`] small stacks.

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

/// Threads that read requests, make answers and write them; none of them ever waits for a delay.
const WORKERS: usize = 12;
const STACK_BYTES: usize = 512 * 1024;
/// Connections at once; more are closed unanswered.
const MAX_CONNECTIONS: usize = 4096;
const BACKLOG: i32 = 1024;
/// How long a client is left without an answer before the connection is closed.
const SILENCE: Duration = Duration::from_secs(90);
/// How often a silent connection is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Decides what comes of a request.
pub(super) trait Host: Send + Sync + 'static {
    /// Must not block.
    fn react(&self, asked: &Asked) -> Reaction;
}

/// What comes of a request, and when.
#[derive(Debug)]
pub(super) struct Reaction {
    /// Counted from the request's arrival.
    pub(super) after: Duration,
    /// What then happens.
    pub(super) act: Act,
}

/// What a client meets.
#[derive(Debug)]
pub(super) enum Act {
    /// An answer.
    Answer(Answer),
    /// The connection is reset.
    Reset,
    /// Nothing, until it gives up.
    Silence,
}

/// The running server; stops when dropped.
pub(super) struct Server {
    addr: SocketAddr,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    listener: TcpListener,
    host: Arc<dyn Host>,
    timetable: Mutex<Timetable>,
    /// Signalled when `Timetable::now` got a job.
    work: Condvar,
    /// Signalled when `Timetable::later` got a new first entry.
    clock: Condvar,
}

#[derive(Default)]
struct Timetable {
    stopped: bool,
    /// Connections in here or in a worker's hands.
    connections: usize,
    now: VecDeque<Job>,
    later: BinaryHeap<Due>,
    next_number: u64,
}

/// A job of the future; the heap's greatest is the one due first.
struct Due {
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
    Do { act: Act, head_only: bool },
    Look { until: Instant },
}

impl Server {
    /// Listens on a free loopback port.
    pub(super) fn start(host: Arc<dyn Host>) -> io::Result<Self> {
        let listener = listen()?;
        let addr = listener.local_addr()?;
        let (timetable, work, clock) = Default::default();
        let shared = Arc::new(Shared { listener, host, timetable, work, clock });
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
            let mut timetable = self.shared.timetable.lock();
            timetable.stopped = true;
            timetable.now.clear();
            timetable.later.clear();
        }
        self.shared.work.notify_all();
        self.shared.clock.notify_all();
        // Both wake the accept thread; which of the two does depends on the system.
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
            if self.timetable.lock().stopped {
                return;
            }
            match accepted {
                Ok((stream, _)) => self.admit(stream),
                // Out of descriptors, most likely: asking again at once would only burn the processor.
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    fn admit(&self, stream: TcpStream) {
        let _ = stream.set_nodelay(true);
        let mut timetable = self.timetable.lock();
        if timetable.connections < MAX_CONNECTIONS {
            timetable.connections += 1;
            timetable.now.push_back(Job { stream, task: Task::Read });
            drop(timetable);
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
                None => self.timetable.lock().connections -= 1,
            }
        }
    }

    /// Hands what is due to the workers.
    fn keep_time(&self) {
        let mut timetable = self.timetable.lock();
        while !timetable.stopped {
            let moved = timetable.move_due(Instant::now());
            for _ in 0..moved {
                self.work.notify_one();
            }
            match timetable.later.peek().map(|due| due.at) {
                Some(at) => drop(self.clock.wait_until(&mut timetable, at)),
                None => self.clock.wait(&mut timetable),
            }
        }
    }

    /// Waits for something to do. `None`: the server stops.
    fn next_job(&self) -> Option<Job> {
        let mut timetable = self.timetable.lock();
        while !timetable.stopped {
            match timetable.now.pop_front() {
                Some(job) => return Some(job),
                None => self.work.wait(&mut timetable),
            }
        }
        None
    }

    fn put_off(&self, at: Instant, job: Job) {
        let mut timetable = self.timetable.lock();
        if timetable.stopped {
            return;
        }
        let number = timetable.next_number;
        timetable.next_number += 1;
        timetable.later.push(Due { at, number, job });
        if timetable.later.peek().is_some_and(|first| first.number == number) {
            self.clock.notify_one();
        }
    }

    /// Does one step for a connection; gives its next one, if there is any.
    fn carry_out(&self, job: Job) -> Option<(Instant, Job)> {
        let Job { mut stream, task } = job;
        match task {
            Task::Read => {
                let (after, task) = self.read(&mut stream)?;
                let at = Instant::now() + after;
                if after.is_zero() {
                    self.carry_out(Job { stream, task })
                } else {
                    Some((at, Job { stream, task }))
                }
            }
            Task::Do { act: Act::Answer(answer), head_only } => {
                let _ = wire::write(&mut stream, &answer, head_only);
                None
            }
            Task::Do { act: Act::Reset, .. } => {
                let _ = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
                None
            }
            Task::Do { act: Act::Silence, .. } => {
                stream.set_nonblocking(true).ok()?;
                look(stream, Instant::now() + SILENCE)
            }
            Task::Look { until } => look(stream, until),
        }
    }

    fn read(&self, stream: &mut TcpStream) -> Option<(Duration, Task)> {
        let (reaction, head_only) = match wire::read(stream) {
            Ok(asked) => (self.host.react(&asked), asked.method == "HEAD"),
            Err(Refusal::Gone) => return None,
            Err(Refusal::Malformed(what)) => {
                let answer = Answer::new(400, "text/plain", what);
                (Reaction { after: Duration::ZERO, act: Act::Answer(answer) }, false)
            }
        };
        Some((reaction.after, Task::Do { act: reaction.act, head_only }))
    }
}

/// Keeps a silent connection as long as its client does, at most `until`.
fn look(stream: TcpStream, until: Instant) -> Option<(Instant, Job)> {
    let waiting = match stream.peek(&mut [0]) {
        Ok(count) => count > 0,
        Err(error) => error.kind() == io::ErrorKind::WouldBlock,
    };
    let now = Instant::now();
    (waiting && now < until).then(|| (now + LOOK_EVERY, Job { stream, task: Task::Look { until } }))
}

impl Timetable {
    /// Gives how many jobs became due.
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

impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Due {}

#[cfg(test)]
mod tests;
