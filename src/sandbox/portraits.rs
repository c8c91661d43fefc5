//! Profile pictures of the simulated web: patterns that are always the same for a person.

use url::Url;

use super::answer;
use super::draw::draw;
use crate::modules::probe::Response;
use crate::runs::pictures::pixels::Pixels;

/// The host of all pictures. It is a reserved name.
const HOST: &str = "media.example.net";
const FOLDER: &str = "/people/";
/// The name of the picture that a platform gives to accounts without one.
const DEFAULT: &str = "default";
const SIDE: usize = 128;
/// The number of fields on a side of a picture.
const FIELDS: usize = 8;

/// Returns the address of the picture of a person.
pub(super) fn address(given: &str, family: &str) -> String {
    format!("https://{HOST}{FOLDER}{}-{}.png", given.to_lowercase(), family.to_lowercase())
}

/// Returns the answer to a request for a picture. Returns `None` for any other address.
pub(super) fn answer(seed: u64, url: &Url) -> Option<Response> {
    if url.host_str() != Some(HOST) {
        return None;
    }
    let person = url.path().strip_prefix(FOLDER)?.strip_suffix(".png")?;
    let colours: Vec<[u8; 3]> = (0..FIELDS * FIELDS)
        .map(|field| match person {
            DEFAULT => [170, 180, 190],
            _ => {
                let [red, green, blue, ..] =
                    draw(seed, &["portrait", person, &field.to_string()]).to_be_bytes();
                [red, green, blue]
            }
        })
        .collect();
    let field = |column, row| row * FIELDS / SIDE * FIELDS + column * FIELDS / SIDE;
    let picture = Pixels::drawn(SIDE, SIDE, |column, row| colours[field(column, row)]);
    Some(answer::answer(url, 200, "image/png", picture.to_png().ok()?))
}
