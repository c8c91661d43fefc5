//! A site over TLS with an account for each kind of picture.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use parking_lot::{Condvar, Mutex};
use serde_json::{Value, json};

use crate::net::tls::{TlsStream, fixture, tls_talking};
use crate::support::folder::Folder;
use crate::support::modules::{entry, own_flags, with};
use crate::support::site::{Received, Site, page, read_request, to, with_headers};

/// Kinds of pictures that are shown. `src/runs/pictures` tests each format.
pub(super) const GOOD: &[&str] = &["png", "wrong-type", "moved"];
/// Kinds of pictures that are not.
pub(super) const HOSTILE: &[&str] =
    &["svg", "html", "bomb", "large", "truncated", "missing", "loop", "gone", "slow", "data", "local-file"];

/// Kinds of pictures that take as much memory as is allowed, or would take more.
pub(super) const HEAVY: &[&str] = &["many-pixels", "progressive", "wide-gif", "bomb", "profile", "stated"];

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
        let certificates = format!("--ca-file={}", fixture("ca.pem").display());
        own_flags(&self.folder, &modules).into_iter().chain([certificates]).collect()
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
    let result = json!({"result": {"type": "profile", "metadata": {"avatar_url": "json:/avatar"}}});
    with(entry(id, url), &result)
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
                "moved" => to(302, &format!("https://{host}/moved/moved")),
                "loop" => to(302, &format!("https://{host}/pictures/loop")),
                "gone" => page(404),
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

/// Returns the file of a kind of picture. Those that are slow to make are made once.
pub(super) fn file(kind: &str) -> Vec<u8> {
    static HEAVY_FILES: LazyLock<BTreeMap<&str, Vec<u8>>> =
        LazyLock::new(|| HEAVY.iter().map(|kind| (*kind, new_file(kind))).collect());
    if HEAVY.contains(&kind) { HEAVY_FILES[kind].clone() } else { new_file(kind) }
}

fn new_file(kind: &str) -> Vec<u8> {
    match kind {
        "svg" => {
            b"<svg xmlns='http://www.w3.org/2000/svg' width='64' height='64'><script>alert(1)</script></svg>"
                .to_vec()
        }
        "html" => b"<!DOCTYPE html><img src=x onerror=alert(1)>".to_vec(),
        "bomb" => sized(scene_png(), 20_000, 20_000),
        "stated" => sized(scene_png(), 4_000, 4_000),
        "many-pixels" => png(png::ColorType::Rgba, 4_000, &[40, 90, 160, 255].repeat(16_000_000)),
        "wide-gif" => wide_gif(),
        "progressive" => progressive(),
        "profile" => [&scene_png()[..33], &profile(), &scene_png()[33..]].concat(),
        "large" => [scene_png(), vec![0; 10 * 1024 * 1024]].concat(),
        "truncated" => scene_png()[..scene_png().len() / 2].to_vec(),
        _ => scene_png(),
    }
}

/// The width and height of the usual picture.
const SIDE: u16 = 96;

fn scene() -> Vec<u8> {
    let all = (0..u32::from(SIDE)).flat_map(|y| (0..u32::from(SIDE)).map(move |x| (x, y)));
    all.flat_map(|(x, y)| [(x * 2) as u8, (y * x / 40) as u8, ((x / 12 + y / 12) % 3 * 90) as u8]).collect()
}

fn scene_png() -> Vec<u8> {
    png(png::ColorType::Rgb, SIDE, &scene())
}

fn png(colour: png::ColorType, side: u16, pixels: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, side.into(), side.into());
    encoder.set_color(colour);
    encoder.write_header().unwrap().write_image_data(pixels).unwrap();
    file
}

fn wide_gif() -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = gif::Encoder::new(&mut file, 4_000, 4_000, &[90; 3 * 256]).unwrap();
    let frame = gif::Frame::from_indexed_pixels(4_000, 4_000, vec![9; 16_000_000], None);
    encoder.write_frame(&frame).unwrap();
    drop(encoder);
    file
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a PNG whose header states this size.
fn sized(mut png: Vec<u8>, width: u32, height: u32) -> Vec<u8> {
    png[16..20].copy_from_slice(&width.to_be_bytes());
    png[20..24].copy_from_slice(&height.to_be_bytes());
    let checksum = checksum(&png[12..29]);
    png[29..33].copy_from_slice(&checksum);
    png
}

fn checksum(bytes: &[u8]) -> [u8; 4] {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum().to_be_bytes()
}

/// Returns a progressive JPEG of 4,000 by 4,000 grey pixels. Its decoder keeps all coefficients until the last scan.
fn progressive() -> Vec<u8> {
    let side = 4_000_u16.to_be_bytes();
    let frame =
        [&[0xff, 0xc2, 0, 17, 8][..], &side, &side, &[3, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0]].concat();
    let quantization = [&[0xff, 0xdb, 0, 67, 0][..], &[1; 64]].concat();
    // One code, the bit 0: no difference to the block before.
    let mut lengths = [0; 16];
    lengths[0] = 1;
    let table = [&[0xff, 0xc4, 0, 20, 0][..], &lengths, &[0]].concat();
    let scan = [0xff, 0xda, 0, 12, 3, 1, 0, 2, 0, 3, 0, 0, 0, 0];
    let blocks = vec![0; 500 * 500 * 3 / 8];
    [&[0xff, 0xd8][..], &quantization, &frame, &table, &scan, &blocks, &[0xff, 0xd9]].concat()
}

/// Returns a chunk with a colour profile of 300 MB, compressed to a thousandth.
fn profile() -> Vec<u8> {
    let mut zipped = ZlibEncoder::new(Vec::new(), Compression::best());
    (0..300).for_each(|_| zipped.write_all(&vec![0; 1024 * 1024]).unwrap());
    let chunk = [&b"iCCPbomb\0\0"[..], &zipped.finish().unwrap()].concat();
    let length = u32::try_from(chunk.len() - 4).unwrap();
    [&length.to_be_bytes()[..], &chunk, &checksum(&chunk)].concat()
}
