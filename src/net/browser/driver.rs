//! A chromedriver process on a free port. It is restarted when it has ended, and ended together with this process.

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
/// The time limit for a driver to print its port.
const START: Duration = Duration::from_secs(20);
/// The pause between two failing attempts.
const PAUSE: Duration = Duration::from_secs(2);

/// A script that runs the driver and its browsers in their own process group. Its standard input is a pipe from this
/// process, which is closed however this process ends. Then, or when the driver ends, the script ends the whole group
/// and removes its files.
const WATCHDOG_SCRIPT: &str = r#"
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

/// A chromedriver process. Dropping it ends the driver and all its browsers.
pub(super) struct Driver {
    own: Arc<OwnPorts>,
    state: Mutex<State>,
}

enum State {
    Running(Process),
    /// The driver does not run. Contains the time and the reason of the last failed start, if one failed.
    Down(Option<(Instant, String)>),
    Stopped,
}

struct Process {
    keeper: Child,
    client: Arc<Client>,
    folder: PathBuf,
}

impl Driver {
    /// Finds the program in the `PATH`. It is started when it is first needed.
    ///
    /// # Errors
    /// Returns an error if the program is not installed.
    pub(super) fn find(own: Arc<OwnPorts>) -> Result<Self, String> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        if !is_in(&path, PROGRAM) {
            return Err(format!("{PROGRAM} not found in the PATH (Debian: install chromium-driver)"));
        }
        Ok(Self { own, state: Mutex::new(State::Down(None)) })
    }

    /// Returns a client for the driver, which is started if it does not run.
    pub(super) fn client(&self) -> Result<Arc<Client>, String> {
        let mut state = self.state.lock();
        match &mut *state {
            State::Stopped => return Err("the driver was stopped".into()),
            State::Running(process) => {
                if matches!(process.keeper.try_wait(), Ok(None)) {
                    return Ok(Arc::clone(&process.client));
                }
                warn!("{PROGRAM} has ended; restarting it");
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
                let why = format!("cannot start {PROGRAM}: {error}");
                *state = State::Down(Some((Instant::now(), why.clone())));
                Err(why)
            }
        }
    }

    /// Ends the driver and all its browsers. The driver is not started again.
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
        // The script has removed the folder unless it was killed.
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
    // The driver takes a free port of IPv4, and ends if another program has the same port of IPv6.
    let mut last = io::Error::other("not attempted");
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
            Err(io::Error::other("it printed no port"))
        }
    }
}

fn spawn(folder: &Path, driver: &[&str]) -> io::Result<Child> {
    Command::new("sh")
        .args(["-c", WATCHDOG_SCRIPT, "sh"])
        .args(driver)
        .env("TMPDIR", folder)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
}

/// Creates a private folder for the browsers' profiles, which is removed with the driver.
fn own_folder() -> io::Result<PathBuf> {
    let name = format!("sightline-browser-{}", uuid::Uuid::new_v4().simple());
    let folder = std::env::temp_dir().join(name);
    DirBuilder::new().mode(0o700).create(&folder)?;
    Ok(folder)
}

/// Waits for the line with the port. Reads and drops the rest of the output, so that it does not fill the pipe.
fn port_of(output: ChildStdout) -> Option<u16> {
    let (tell, told) = mpsc::channel();
    let reading = move || {
        let mut lines = BufReader::new(output).lines();
        let port = lines.by_ref().map_while(Result::ok).find_map(|line| port_in(&line));
        // Sending fails if the port came too late.
        let _ = tell.send(port);
        lines.map_while(Result::ok).for_each(drop);
    };
    thread::Builder::new().name("chromedriver".into()).stack_size(128 * 1024).spawn(reading).ok()?;
    told.recv_timeout(START).ok().flatten()
}

/// Parses a line such as "ChromeDriver was started successfully on port 12345."
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

    /// A script that prints its process id and a child's, and ignores SIGTERM.
    const IGNORES_SIGTERM: &str = "trap '' TERM; sleep 600 & echo $$ $!; while :; do wait; done";

    #[test]
    fn a_driver_that_ignores_sigterm_is_killed_with_all_its_browsers() {
        let folder = own_folder().unwrap();
        let mut keeper = spawn(&folder, &["sh", "-c", IGNORES_SIGTERM]).unwrap();
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
