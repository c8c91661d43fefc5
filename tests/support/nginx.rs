//! Debian's nginx with `scripts/nginx.conf`, on a free port, as the user of the tests.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::awaited;
use super::folder::Folder;
use super::wire::Transport;

/// A running nginx. It is stopped when this is dropped.
pub(crate) struct Nginx {
    master: Child,
    pub(crate) address: SocketAddr,
    pub(crate) transport: Transport,
    _folder: Folder,
}

/// The upstreams and settings of an nginx.
pub(crate) struct NginxSetup {
    upstreams: Vec<SocketAddr>,
    has_tls: bool,
    changes: Vec<(&'static str, &'static str)>,
}

impl NginxSetup {
    /// In front of this server, without TLS.
    pub(crate) fn before(upstream: SocketAddr) -> Self {
        Self::before_all(&[upstream])
    }

    /// In front of several instances, as the template describes it.
    pub(crate) fn before_all(upstreams: &[SocketAddr]) -> Self {
        Self { upstreams: upstreams.to_vec(), has_tls: false, changes: Vec::new() }
    }

    pub(crate) fn with_tls(mut self) -> Self {
        self.has_tls = true;
        self
    }

    /// Replaces a value of the configuration, to avoid long waits.
    pub(crate) fn with(mut self, text: &'static str, instead: &'static str) -> Self {
        self.changes.push((text, instead));
        self
    }

    pub(crate) fn start(self) -> Nginx {
        for _ in 0..10 {
            let folder = Folder::new();
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let address = SocketAddr::from(([127, 0, 0, 1], port));
            self.write_configuration(&folder, address);
            if let Some(master) = run(&folder) {
                let transport = if self.has_tls {
                    Transport::tls_with(&folder.path("certificate.pem"))
                } else {
                    Transport::Plain
                };
                return Nginx { master, address, transport, _folder: folder };
            }
            // Another process may have taken the port.
        }
        panic!("nginx does not start");
    }

    fn write_configuration(&self, folder: &Folder, address: SocketAddr) {
        let (certificate, key) = (folder.path("certificate.pem"), folder.path("key.pem"));
        make_certificate(&certificate, &key);
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/nginx.conf");
        let mut text = std::fs::read_to_string(path).unwrap();
        for (text_before, instead) in &self.changes {
            assert!(text.contains(text_before), "{text_before:?} is not in the template");
            text = text.replace(text_before, instead);
        }
        const SERVER: &str = "server @SIGHTLINE@ max_fails=0;";
        assert!(text.contains(SERVER), "the template has a line for each instance");
        let servers: Vec<String> = self
            .upstreams
            .iter()
            .map(|upstream| SERVER.replace("@SIGHTLINE@", &upstream.to_string()))
            .collect();
        text = text.replace(SERVER, &servers.join("\n    "));
        let listen = format!("{address}{}", if self.has_tls { " ssl http2" } else { "" });
        for (name, value) in [
            ("@SIGHTLINE@", self.upstreams[0].to_string()),
            ("@LISTEN@", listen),
            ("@NAME@", "localhost".to_owned()),
            ("@CERTIFICATE@", certificate),
            ("@KEY@", key),
        ] {
            assert!(text.contains(&format!("#   {name} ")), "the template explains {name}");
            text = text.replace(name, value.as_str());
        }
        std::fs::write(folder.path("sightline.conf"), text).unwrap();
        std::fs::write(folder.path("nginx.conf"), surroundings(folder)).unwrap();
    }
}

/// Returns the parts of a system's own nginx.conf.
fn surroundings(folder: &Folder) -> String {
    let paths: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .iter()
        .map(|part| format!("{part}_temp_path {};\n", folder.path(part)))
        .collect();
    format!(
        "daemon off;\nworker_processes 1;\npid {};\nerror_log {} info;\nevents {{ worker_connections 1024; }}\n\
         http {{\naccess_log off;\n{paths}include {};\n}}\n",
        folder.path("pid"),
        folder.path("error.log"),
        folder.path("sightline.conf")
    )
}

/// Makes a self-signed certificate for `localhost`.
fn make_certificate(certificate: &str, key: &str) {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"])
        .args(["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout", key, "-out", certificate])
        .output()
        .expect("openssl is needed: run scripts/test");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

/// Returns `None` if it does not start.
fn run(folder: &Folder) -> Option<Child> {
    // Debian installs it in a folder outside of the default `PATH`.
    let path = format!("{}:/usr/sbin", std::env::var("PATH").unwrap_or_default());
    let program =
        path.split(':').map(|place| Path::new(place).join("nginx")).find(|program| program.exists());
    let mut master = Command::new(program.expect("nginx is needed: run scripts/test"))
        .args(["-p", &folder.path(""), "-e", &folder.path("error.log"), "-c", &folder.path("nginx.conf")])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let starts = awaited("nginx starts or ends", || {
        // The file is written once all addresses are open.
        if std::fs::read(folder.path("pid")).is_ok_and(|pid| !pid.is_empty()) {
            return Ok(true);
        }
        if master.try_wait().unwrap().is_none() {
            return Err("it did neither");
        }
        let log = std::fs::read_to_string(folder.path("error.log")).unwrap_or_default();
        assert!(log.contains("Address already in use"), "nginx ended: {log}");
        Ok(false)
    });
    starts.then_some(master)
}

impl Nginx {
    pub(crate) fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).unwrap()
    }
}

impl Drop for Nginx {
    /// Stops it by a signal, so that the master stops its worker.
    fn drop(&mut self) {
        let pid = self.master.id().to_string();
        let _ = Command::new("kill").args(["-TERM", &pid]).status();
        let _ = self.master.wait();
    }
}
