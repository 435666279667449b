//! A small HTTP server that can be told to fail, and that keeps a ledger of
//! every request it has read.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::plan::{self, Fault};

pub(crate) struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    /// The thread that owns the listener; `None` while connections are refused.
    door: Option<JoinHandle<()>>,
}

pub(crate) struct Ledger {
    /// Requests read, counted before anything else is done with them.
    pub(crate) read: usize,
    /// The same requests, written down when they were done with.
    pub(crate) seen: Vec<Seen>,
}

/// One line of the ledger.
#[derive(Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) id: usize,
    pub(crate) reply: Reply,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reply {
    Status200,
    Status500,
    /// The connection was gone before there was an answer.
    Nothing,
}

impl Server {
    pub(crate) fn start(seed: u64) -> io::Result<Self> {
        let listener = bind_somewhere()?;
        let mut server = Self {
            address: listener.local_addr()?,
            shared: Arc::new(Shared {
                seed,
                fault: Mutex::new(None),
                closing: AtomicBool::new(false),
                connections: Mutex::default(),
                read: AtomicUsize::new(0),
                seen: Mutex::default(),
            }),
            door: None,
        };
        server.open(listener)?;
        Ok(server)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Starts to fail as told, or with `None` to work again.
    pub(crate) fn turn(&mut self, fault: Option<Fault>) -> io::Result<()> {
        *lock(&self.shared.fault) = fault;
        if fault == Some(Fault::Refuse) {
            self.close();
        } else if self.door.is_none() {
            self.open(bind_again(self.address)?)?;
        }
        // A failing server loses its connections, and callers that keep idle
        // ones in a pool must not be spared the fault.
        if fault.is_some() {
            self.shared.cut_connections();
        }
        Ok(())
    }

    /// Ends all threads, then hands out the ledger.
    pub(crate) fn stop(mut self) -> Ledger {
        self.close();
        self.shared.cut_connections();
        let connections = std::mem::take(&mut *lock(&self.shared.connections));
        for connection in connections {
            join(connection.handler);
        }
        Ledger {
            read: self.shared.read.load(Ordering::Relaxed),
            seen: std::mem::take(&mut *lock(&self.shared.seen)),
        }
    }

    fn open(&mut self, listener: TcpListener) -> io::Result<()> {
        self.shared.closing.store(false, Ordering::Release);
        let shared = Arc::clone(&self.shared);
        let door = thread::Builder::new().spawn(move || shared.accept(&listener))?;
        self.door = Some(door);
        Ok(())
    }

    fn close(&mut self) {
        if let Some(door) = self.door.take() {
            self.shared.closing.store(true, Ordering::Release);
            // `accept` cannot be interrupted portably; a visitor wakes it.
            let visit = TcpStream::connect_timeout(&self.address, Duration::from_secs(2));
            join(door);
            drop(visit);
        }
    }
}

struct Shared {
    seed: u64,
    fault: Mutex<Option<Fault>>,
    closing: AtomicBool,
    connections: Mutex<Vec<Connection>>,
    read: AtomicUsize,
    seen: Mutex<Vec<Seen>>,
}

struct Connection {
    link: Arc<Link>,
    handler: JoinHandle<()>,
}

struct Link {
    stream: TcpStream,
    cut: AtomicBool,
}

impl Shared {
    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        loop {
            let accepted = listener.accept();
            if self.closing.load(Ordering::Acquire) {
                return;
            }
            match accepted {
                Ok((stream, _)) => self.welcome(stream),
                // Out of descriptors, most likely: the callers hold as many,
                // and will give some back.
                Err(_) => thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    fn welcome(self: &Arc<Self>, stream: TcpStream) {
        // The lock is held until the connection is on the list: one that is
        // served but not listed would survive `cut_connections`.
        let mut connections = lock(&self.connections);
        for over in connections.extract_if(.., |connection| connection.handler.is_finished()) {
            join(over.handler);
        }
        let link = Arc::new(Link { stream, cut: AtomicBool::new(false) });
        let (shared, served) = (Arc::clone(self), Arc::clone(&link));
        let handler = thread::Builder::new().spawn(move || shared.serve(&served));
        if let Ok(handler) = handler {
            connections.push(Connection { link, handler });
        }
    }

    fn cut_connections(&self) {
        for connection in lock(&self.connections).iter() {
            connection.link.cut.store(true, Ordering::Release);
            // Fails only if the peer was faster.
            let _ = connection.link.stream.shutdown(Shutdown::Both);
        }
    }

    fn serve(&self, link: &Link) {
        let _ = link.stream.set_nodelay(true);
        let mut unread = Vec::new();
        while let Some(id) = read_request(&link.stream, &mut unread) {
            self.read.fetch_add(1, Ordering::Relaxed);
            let reply = self.answer(id, link);
            lock(&self.seen).push(Seen { id, reply });
            if reply == Reply::Nothing {
                break;
            }
        }
        // The list keeps the socket alive, so dropping it here closes nothing.
        let _ = link.stream.shutdown(Shutdown::Both);
    }

    fn answer(&self, id: usize, link: &Link) -> Reply {
        let fault = *lock(&self.fault);
        match fault {
            None => thread::sleep(self.service_time(id)),
            Some(Fault::Hang) => {
                if !self.hang(link) {
                    return Reply::Nothing;
                }
            }
            Some(Fault::Error500) => {
                thread::sleep(Duration::from_millis(1));
                return link.send(Reply::Status500, "500 Internal Server Error", "broken\n");
            }
            Some(Fault::Refuse) => return Reply::Nothing,
        }
        link.send(Reply::Status200, "200 OK", "shipped\n")
    }

    /// Keeps the caller waiting until the fault is over, and tells whether
    /// there is an answer then: a caller that gave up gets none, nor does one
    /// whose server went from bad to worse.
    fn hang(&self, link: &Link) -> bool {
        const GLANCE: Duration = Duration::from_millis(20);
        if link.stream.set_read_timeout(Some(GLANCE)).is_err() {
            return false;
        }
        while *lock(&self.fault) == Some(Fault::Hang) {
            match link.stream.peek(&mut [0]) {
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                    ) => {}
                Ok(0) | Err(_) => return false,
                Ok(_) => thread::sleep(GLANCE),
            }
        }
        lock(&self.fault).is_none() && link.stream.set_read_timeout(None).is_ok()
    }

    /// 4 to 12 ms, and 20 ms more for one call in 40.
    fn service_time(&self, id: usize) -> Duration {
        let draw = plan::random(!self.seed, id);
        let tail = if draw < 1.0 / 40.0 { 0.020 } else { 0.0 };
        Duration::from_secs_f64(0.004 + 0.008 * draw + tail)
    }
}

impl Link {
    fn send(&self, reply: Reply, status: &str, body: &str) -> Reply {
        if self.cut.load(Ordering::Acquire) {
            return Reply::Nothing;
        }
        let message = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        match (&self.stream).write_all(message.as_bytes()) {
            Ok(()) => reply,
            Err(_) => Reply::Nothing,
        }
    }
}

/// The id in the next request's path, or `None` once the connection is of no
/// more use.
fn read_request(mut stream: &TcpStream, unread: &mut Vec<u8>) -> Option<usize> {
    loop {
        let mut headers = [httparse::EMPTY_HEADER; 32];
        let mut request = httparse::Request::new(&mut headers);
        if let httparse::Status::Complete(length) = request.parse(unread).ok()? {
            let id = request.path?.strip_prefix("/orders/")?.parse().ok()?;
            unread.drain(..length);
            return Some(id);
        }
        let mut chunk = [0; 1024];
        match stream.read(&mut chunk) {
            Ok(0) => return None,
            Ok(length) => unread.extend_from_slice(&chunk[..length]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

/// Prefers a port below the ephemeral range: while the door is closed, the
/// system could otherwise lend the number to an outgoing connection.
fn bind_somewhere() -> io::Result<TcpListener> {
    let offset = u16::try_from(std::process::id() % 10_000).unwrap_or(0);
    (0..20)
        .map(|step| 17_000 + offset + step)
        .chain([0])
        .map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)))
        .find(Result::is_ok)
        .unwrap_or_else(|| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
}

fn bind_again(address: SocketAddr) -> io::Result<TcpListener> {
    // Some systems keep a port back for a moment after its listener is gone.
    let mut patience = 200;
    loop {
        match TcpListener::bind(address) {
            Err(error) if error.kind() == ErrorKind::AddrInUse && patience > 0 => {
                patience -= 1;
                thread::sleep(Duration::from_millis(10));
            }
            result => return result,
        }
    }
}

/// Nothing here is left half-changed by a panic.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn join(thread: JoinHandle<()>) {
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}
