//! The thread that closes connections and enforces read deadlines.
//!
//! Fault of tiny_http: dropping its request or its writer does not close the connection, and a read has no deadline.
//! Workaround: this thread closes a connection in steps. It sends the last answer, if there is one; half-closes;
//! reads and drops what still comes until the peer closes, too, or its time is over; shuts both directions down; and
//! waits until the socket is closed and every request that was read from it has been taken. Closing at once would
//! reset the connection and could destroy the answer on its way. Forgetting the peer at once would let a late request
//! of the old connection pass for the first request of a new one. Nothing in here waits for a client. Tests:
//! `connection_close_is_honoured`, `a_new_connection_from_the_port_of_a_closed_one_is_served`,
//! `a_body_that_dribbles_is_cut_off_by_its_deadline`,
//! `a_refused_body_that_never_ends_does_not_delay_other_connections`.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::closer::{CloseRequest, Command};
use super::closing::ClosingConnection;
use super::discard::discard;
use super::request_queue::RequestQueues;
use super::shared::Connections;
use crate::http::config::{CLOSING_TICK, MAX_SCAN_PAUSE};

/// The state of the closing thread.
pub(crate) struct ClosingThread {
    connections: Arc<Connections>,
    queues: Arc<RequestQueues>,
    /// A function that serves a request which belongs to a new connection.
    serve: Box<dyn Fn(tiny_http::Request) + Send>,
    closing: HashMap<SocketAddr, ClosingConnection>,
    /// The requests from the addresses of closing connections. Each is from the closing connection or from a new one.
    late: Vec<(SocketAddr, tiny_http::Request)>,
    deadlines: HashMap<u64, (SocketAddr, Instant)>,
    next_scan: Instant,
}

/// The inverse of the maximum share of time for scans. A scan of very many sockets takes milliseconds.
const SCAN_SHARE: u32 = 10;
/// The maximum number of commands that are taken in a row. A flood of them must not prevent the thread from closing
/// the connections that cause it.
const COMMANDS_IN_A_ROW: usize = 256;

impl ClosingThread {
    pub(crate) fn new(
        connections: Arc<Connections>,
        queues: Arc<RequestQueues>,
        serve: Box<dyn Fn(tiny_http::Request) + Send>,
    ) -> Self {
        Self {
            connections,
            queues,
            serve,
            closing: HashMap::new(),
            late: Vec::new(),
            deadlines: HashMap::new(),
            next_scan: Instant::now(),
        }
    }

    /// Works until it is told to stop.
    pub(crate) fn run(mut self, commands: &Receiver<Command>) {
        let mut is_running = true;
        while is_running {
            is_running = match commands.recv_timeout(self.pause()) {
                Ok(command) => {
                    let mut more = commands.try_iter().take(COMMANDS_IN_A_ROW);
                    self.execute(command) && more.all(|command| self.execute(command))
                }
                Err(RecvTimeoutError::Timeout) => true,
                Err(RecvTimeoutError::Disconnected) => false,
            };
            self.advance(Instant::now());
        }
        self.closing.values_mut().for_each(ClosingConnection::shut_down);
        // The process ends soon. Dropping the requests could wait for clients.
        std::mem::forget(std::mem::take(&mut self.late));
    }

    fn pause(&self) -> Duration {
        let is_idle = self.closing.is_empty() && self.deadlines.is_empty() && self.late.is_empty();
        if is_idle { Duration::from_secs(3600) } else { CLOSING_TICK }
    }

    /// Executes a command. Returns whether the thread continues.
    fn execute(&mut self, command: Command) -> bool {
        match command {
            Command::Close(request) => self.close(request),
            Command::Late(peer, request) => self.late.push((peer, request)),
            Command::SetDeadline(number, peer, until) => {
                self.deadlines.insert(number, (peer, until));
            }
            Command::LiftDeadline(number) => {
                self.deadlines.remove(&number);
            }
            Command::Stop => return false,
        }
        true
    }

    fn close(&mut self, request: CloseRequest) {
        match self.closing.get_mut(&request.peer) {
            Some(connection) => connection.merge(request),
            None => {
                self.closing.insert(request.peer, ClosingConnection::new(request));
            }
        }
    }

    fn advance(&mut self, now: Instant) {
        if now >= self.next_scan {
            let scanned = self.find_sockets(now).and_then(|()| self.check_closed(now));
            if let Err(error) = scanned.and_then(|()| self.sort_late_requests()) {
                log::error!("cannot scan the sockets to close: {error}");
            }
            self.next_scan = now + (now.elapsed() * SCAN_SHARE).min(MAX_SCAN_PAUSE);
        }
        let (connections, queues) = (&self.connections, &self.queues);
        self.closing.retain(|peer, connection| {
            connection.advance(now, queues);
            if connection.is_done() {
                connections.table.remove(*peer);
            }
            !connection.is_done()
        });
    }

    /// Finds the sockets of new connections and of exceeded deadlines in one scan.
    fn find_sockets(&mut self, now: Instant) -> io::Result<()> {
        let late: Vec<(u64, SocketAddr)> = self
            .deadlines
            .iter()
            .filter(|(_, (_, until))| *until <= now)
            .map(|(number, (peer, _))| (*number, *peer))
            .collect();
        let new: Vec<SocketAddr> = self
            .closing
            .iter()
            .filter(|(_, connection)| connection.is_new())
            .map(|(peer, _)| *peer)
            .collect();
        if new.is_empty() && late.is_empty() {
            return Ok(());
        }
        let wanted = new.iter().copied().chain(late.iter().map(|(_, peer)| *peer)).collect();
        let mut found = self.connections.sockets.pin(&wanted)?;
        for (number, peer) in late {
            self.deadlines.remove(&number);
            if let Some(socket) = found.get(&peer) {
                socket.shut_down_receiving();
            }
        }
        for peer in new {
            if let Some(connection) = self.closing.get_mut(&peer) {
                connection.set_socket(found.remove(&peer), now);
            }
        }
        Ok(())
    }

    /// Checks which of the sockets that were shut down are closed.
    fn check_closed(&mut self, now: Instant) -> io::Result<()> {
        let checked: HashSet<u64> =
            self.closing.values().filter_map(|connection| connection.socket_to_check(now)).collect();
        if checked.is_empty() {
            return Ok(());
        }
        let open = self.connections.sockets.still_open(&checked)?;
        for connection in self.closing.values_mut() {
            if let Some(inode) = connection.socket_to_check(now) {
                connection.set_checked(open.contains(&inode), now, &self.queues);
            }
        }
        Ok(())
    }

    /// Serves a late request if its socket is newer than the closing one, and discards any other.
    fn sort_late_requests(&mut self) -> io::Result<()> {
        if self.late.is_empty() {
            return Ok(());
        }
        let found = self.connections.sockets.pin(&self.late.iter().map(|(peer, _)| *peer).collect())?;
        for (peer, request) in std::mem::take(&mut self.late) {
            match (self.closing.get_mut(&peer), found.get(&peer)) {
                (Some(connection), Some(socket)) if connection.is_followed_by(socket) => {
                    connection.shut_down();
                    self.closing.remove(&peer);
                    self.connections.table.remove(peer);
                    (self.serve)(request);
                }
                (Some(connection), _) => connection.merge(CloseRequest::abort(peer, vec![request])),
                (None, Some(_)) => (self.serve)(request),
                (None, None) => discard(request),
            }
        }
        Ok(())
    }
}
