//! A site over TLS with an account for each kind of picture.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use image::codecs::gif::GifEncoder;
use image::{DynamicImage, Frame, ImageFormat, Rgb, RgbImage};
use parking_lot::{Condvar, Mutex};
use serde_json::{Value, json};

use crate::net::site::{Received, Site, read_request, with_headers};
use crate::net::tls::{TlsStream, fixture, tls_talking};
use crate::support::folder::Folder;

/// Kinds of pictures that are shown.
pub(super) const GOOD: &[&str] = &["png", "jpeg", "gif", "webp", "wrong-type", "moved"];
/// Kinds of pictures that are not.
pub(super) const HOSTILE: &[&str] = &[
    "svg",
    "html",
    "animated",
    "bomb",
    "large",
    "truncated",
    "missing",
    "loop",
    "gone",
    "slow",
    "data",
    "local-file",
];

/// A site whose pictures the test knows.
pub(super) struct PictureSite {
    site: Site,
    state: Arc<State>,
    folder: Folder,
}

#[derive(Default)]
struct State {
    pictures: AtomicUsize,
    held: AtomicUsize,
    is_released: Mutex<bool>,
    released: Condvar,
}

impl PictureSite {
    pub(super) fn start() -> Self {
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        let site = tls_talking("address.pem", move |tls| {
            if let Some(request) = read_request(tls) {
                answer(tls, &request, &shared);
            }
        });
        Self { site, state, folder: Folder::new() }
    }

    /// Returns the flags for a server that asks this site for an account with each of these kinds.
    pub(super) fn flags(&self, kinds: &[&str]) -> Vec<String> {
        let root = format!("https://127.0.0.1:{}", self.site.addr.port());
        let modules: Vec<Value> =
            kinds.iter().map(|kind| module(kind, &format!("{root}/account/{kind}/{{query}}"))).collect();
        let catalog = self.folder.path("catalog.json");
        std::fs::write(&catalog, Value::Array(modules).to_string()).unwrap();
        let certificates = format!("--ca-file={}", fixture("ca.pem").display());
        let flags = ["--no-builtin", "--allow-private-targets", &certificates].map(str::to_owned);
        flags.into_iter().chain([format!("--catalog={catalog}")]).collect()
    }

    /// Returns the number of requests for pictures.
    pub(super) fn asked_pictures(&self) -> usize {
        self.state.pictures.load(Ordering::SeqCst)
    }

    /// Returns the number of requests for the picture that is held back.
    pub(super) fn held(&self) -> usize {
        self.state.held.load(Ordering::SeqCst)
    }

    /// Answers the requests that are held back, and later ones at once.
    pub(super) fn release(&self) {
        *self.state.is_released.lock() = true;
        self.state.released.notify_all();
    }
}

pub(super) fn module(id: &str, url: &str) -> Value {
    json!({
        "id": id, "platform": id, "type": "username", "category": "test", "control": false,
        "probes": [{"url": url}], "hit": [{"status": [200]}], "miss": [{"status": [404]}],
        "result": {"type": "profile", "metadata": {"avatar_url": "json:/avatar"}}
    })
}

fn answer(tls: &mut TlsStream, request: &Received, state: &State) {
    let host = request.header("host").unwrap_or_default();
    let parts: Vec<&str> = request.path().split('/').collect();
    let bytes = match parts[..] {
        ["", "account", kind, _] => {
            let address = match kind {
                "data" => "data:image/png;base64,iVBORw0KGgo=".to_owned(),
                "local-file" => "file:///etc/passwd".to_owned(),
                _ => format!("https://{host}/pictures/{kind}"),
            };
            with_headers(
                "Content-Type: application/json\r\n",
                json!({"avatar": address}).to_string().as_bytes(),
            )
        }
        ["", "pictures", kind] => {
            state.pictures.fetch_add(1, Ordering::SeqCst);
            match kind {
                "moved" => format!(
                    "HTTP/1.1 302 F\r\nLocation: https://{host}/moved/moved\r\nContent-Length: 0\r\n\r\n"
                )
                .into(),
                "loop" => format!(
                    "HTTP/1.1 302 F\r\nLocation: https://{host}/pictures/loop\r\nContent-Length: 0\r\n\r\n"
                )
                .into(),
                "gone" => b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec(),
                "missing" => Vec::new(),
                "slow" => {
                    let _ = tls.write_all(
                        b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 5000\r\n\r\n",
                    );
                    // Waits for the other end to close.
                    let _ = std::io::copy(tls, &mut std::io::sink());
                    return;
                }
                "held" => {
                    state.held.fetch_add(1, Ordering::SeqCst);
                    let mut is_released = state.is_released.lock();
                    while !*is_released {
                        state.released.wait(&mut is_released);
                    }
                    with_headers("", &file("png"))
                }
                "wrong-type" => with_headers("Content-Type: text/html\r\n", &file(kind)),
                _ => with_headers("Content-Type: image/png\r\n", &file(kind)),
            }
        }
        ["", "moved", kind] => with_headers("", &file(kind)),
        _ => with_headers("", b""),
    };
    // The client may have disconnected.
    let _ = tls.write_all(&bytes);
}

/// Returns the file of a kind of picture.
pub(super) fn file(kind: &str) -> Vec<u8> {
    let picture = DynamicImage::from(scene());
    let written = |format| {
        let mut file = std::io::Cursor::new(Vec::new());
        picture.write_to(&mut file, format).unwrap();
        file.into_inner()
    };
    match kind {
        "jpeg" => written(ImageFormat::Jpeg),
        "gif" => gif(1),
        "webp" => written(ImageFormat::WebP),
        "svg" => {
            b"<svg xmlns='http://www.w3.org/2000/svg' width='64' height='64'><script>alert(1)</script></svg>"
                .to_vec()
        }
        "html" => b"<!DOCTYPE html><img src=x onerror=alert(1)>".to_vec(),
        "animated" => gif(3),
        "bomb" => {
            // The header states 20,000 by 20,000 pixels.
            let mut png = written(ImageFormat::Png);
            png[16..24].copy_from_slice(&[0, 0, 0x4e, 0x20, 0, 0, 0x4e, 0x20]);
            let mut crc = flate2::Crc::new();
            crc.update(&png[12..29]);
            png[29..33].copy_from_slice(&crc.sum().to_be_bytes());
            png
        }
        "large" => {
            let mut png = written(ImageFormat::Png);
            png.resize(10 * 1024 * 1024, 0);
            png
        }
        "truncated" => {
            let mut png = written(ImageFormat::Png);
            png.truncate(png.len() / 2);
            png
        }
        _ => written(ImageFormat::Png),
    }
}

fn scene() -> RgbImage {
    RgbImage::from_fn(96, 96, |x, y| {
        Rgb([(x * 2) as u8, (y * x / 40) as u8, ((x / 12 + y / 12) % 3 * 90) as u8])
    })
}

fn gif(frames: usize) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = GifEncoder::new(&mut file);
    for _ in 0..frames {
        encoder.encode_frame(Frame::new(DynamicImage::from(scene()).into_rgba8())).unwrap();
    }
    drop(encoder);
    file
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
