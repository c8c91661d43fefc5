//! A chromedriver of our own: started on a free port, started anew when it has died, ended with us.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use log::{info, warn};
use parking_lot::Mutex;
use url::Url;

use super::client::Client;
use super::egress::OwnPorts;

const PROGRAM: &str = "chromedriver";
/// For a driver to name its port.
const START: Duration = Duration::from_secs(20);
/// Between two attempts that fail.
const PAUSE: Duration = Duration::from_secs(2);

/// Runs the driver as a process group of its own, with its browsers. However we end, our end of standard
/// input closes with us; then, or when the driver ends, all of the group is ended and what it wrote removed, at
/// last, when nobody is left who could write more.
const KEEPER: &str = r#"
exec 3<&0
"$@" 3<&- </dev/null &
driver=$!
exec >/dev/null
trap '' TERM
{ read -r _ <&3; kill -TERM "$driver"; sleep 2; kill -KILL "$driver"; } &
wait "$driver"
kill -TERM 0
sleep 0.3
for stat in /proc/[0-9]*/stat; do
    read -r line <"$stat" || continue
    id=${line%% *}
    set -- ${line##*) }
    [ "$3" = $$ ] && [ "$id" != $$ ] && kill -KILL "$id"
done 2>/dev/null
sleep 0.1
rm -rf -- "$TMPDIR"
kill -KILL 0
"#;

/// See the file's head.
pub(super) struct Driver {
    own: Arc<OwnPorts>,
    state: Mutex<State>,
}

enum State {
    Running(Process),
    /// Since when, and why.
    Down(Option<(Instant, String)>),
    Stopped,
}

struct Process {
    keeper: Child,
    client: Arc<Client>,
    folder: PathBuf,
}

impl Driver {
    /// One that is started when it is needed.
    ///
    /// # Errors
    /// There is no such program.
    pub(super) fn find(own: Arc<OwnPorts>) -> Result<Self, String> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        if !is_in(&path, PROGRAM) {
            return Err(format!("there is no {PROGRAM} in the PATH (Debian: install chromium-driver)"));
        }
        Ok(Self { own, state: Mutex::new(State::Down(None)) })
    }

    /// The way to it; starts it where it does not run.
    pub(super) fn client(&self) -> Result<Arc<Client>, String> {
        let mut state = self.state.lock();
        match &mut *state {
            State::Stopped => return Err("it was stopped".into()),
            State::Running(process) => {
                if matches!(process.keeper.try_wait(), Ok(None)) {
                    return Ok(Arc::clone(&process.client));
                }
                warn!("{PROGRAM} has died; it is started anew");
                self.clean_up(process);
            }
            State::Down(Some((since, why))) if since.elapsed() < PAUSE => return Err(why.clone()),
            State::Down(_) => {}
        }
        match start() {
            Ok(process) => {
                info!("{PROGRAM} listens on port {}", process.client.port());
                self.own.add(process.client.port());
                let client = Arc::clone(&process.client);
                *state = State::Running(process);
                Ok(client)
            }
            Err(error) => {
                let why = format!("{PROGRAM} cannot be started: {error}");
                *state = State::Down(Some((Instant::now(), why.clone())));
                Err(why)
            }
        }
    }

    /// Ends it with all its browsers, for good.
    pub(super) fn stop(&self) {
        let mut state = self.state.lock();
        if let State::Running(process) = &mut *state {
            drop(process.keeper.stdin.take());
            let _ = process.keeper.wait();
            self.clean_up(process);
        }
        *state = State::Stopped;
    }

    fn clean_up(&self, process: &Process) {
        self.own.remove(process.client.port());
        // The keeper did it; this is for one that was killed.
        let _ = fs::remove_dir_all(&process.folder);
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.stop();
    }
}

fn is_in(path: &OsStr, program: &str) -> bool {
    std::env::split_paths(path).any(|folder| folder.join(program).is_file())
}

fn start() -> io::Result<Process> {
    // It takes a free port of IPv4, and ends where another program has the same one of IPv6.
    let mut last = io::Error::other("no attempt");
    for _ in 0..5 {
        match start_once() {
            Ok(process) => return Ok(process),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn start_once() -> io::Result<Process> {
    let folder = own_folder()?;
    let mut keeper = match spawn(&folder, &[PROGRAM, "--port=0", "--log-level=WARNING"]) {
        Ok(keeper) => keeper,
        Err(error) => {
            let _ = fs::remove_dir_all(&folder);
            return Err(error);
        }
    };
    let port = keeper.stdout.take().and_then(port_of);
    let url = port.and_then(|port| Url::parse(&format!("http://127.0.0.1:{port}")).ok());
    match url {
        Some(url) => Ok(Process { keeper, client: Arc::new(Client::new(&url)), folder }),
        None => {
            drop(keeper.stdin.take());
            let _ = keeper.wait();
            let _ = fs::remove_dir_all(&folder);
            Err(io::Error::other("it names no port"))
        }
    }
}

fn spawn(folder: &Path, driver: &[&str]) -> io::Result<Child> {
    Command::new("sh")
        .args(["-c", KEEPER, "sh"])
        .args(driver)
        .env("TMPDIR", folder)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
}

/// Where browsers keep their profiles: nobody else's to read, gone with the driver.
fn own_folder() -> io::Result<PathBuf> {
    let name = format!("sightline-browser-{}", uuid::Uuid::new_v4().simple());
    let folder = std::env::temp_dir().join(name);
    DirBuilder::new().mode(0o700).create(&folder)?;
    Ok(folder)
}

/// Waits for the line that names the port; the rest is read away, so that it does not fill the pipe.
fn port_of(output: ChildStdout) -> Option<u16> {
    let (tell, told) = mpsc::channel();
    let reading = move || {
        let mut lines = BufReader::new(output).lines();
        let port = lines.by_ref().map_while(Result::ok).find_map(|line| port_in(&line));
        // Nobody waits any more: too late.
        let _ = tell.send(port);
        lines.map_while(Result::ok).for_each(drop);
    };
    thread::Builder::new().name("chromedriver".into()).stack_size(128 * 1024).spawn(reading).ok()?;
    told.recv_timeout(START).ok().flatten()
}

/// "ChromeDriver was started successfully on port 12345."
fn port_in(line: &str) -> Option<u16> {
    line.split_once("successfully on port ")?.1.trim_end_matches('.').parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_read_from_the_drivers_line() {
        assert_eq!(port_in("ChromeDriver was started successfully on port 12345."), Some(12345));
        assert_eq!(port_in("Starting ChromeDriver 156 on port 0"), None);
    }

    fn awaited(what: &str, mut is_so: impl FnMut() -> bool) {
        let began = Instant::now();
        while !is_so() {
            assert!(began.elapsed() < Duration::from_secs(60), "never: {what}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Says its id and a child's, and takes no hint.
    const STUBBORN: &str = "trap '' TERM; sleep 600 & echo $$ $!; while :; do wait; done";

    #[test]
    fn a_driver_that_does_not_end_is_killed_with_all_its_browsers() {
        let folder = own_folder().unwrap();
        let mut keeper = spawn(&folder, &["sh", "-c", STUBBORN]).unwrap();
        let mut line = String::new();
        BufReader::new(keeper.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let processes: Vec<PathBuf> =
            line.split_whitespace().map(|id| Path::new("/proc").join(id).join("cmdline")).collect();
        let lives = |process: &PathBuf| fs::read(process).is_ok_and(|command| !command.is_empty());
        awaited("both of them run", || processes.len() == 2 && processes.iter().all(lives));
        drop(keeper.stdin.take());
        awaited("the keeper ends", || keeper.try_wait().unwrap().is_some());
        assert!(!folder.exists());
        awaited("both of them have ended", || !processes.iter().any(lives));
    }
}
