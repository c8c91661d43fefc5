//! Profile pictures of the simulated web: drawings that are always the same for a person.

use url::Url;

use super::answer::Answer;
use super::draw::fraction;
use crate::runs::pictures::pixels::Pixels;

/// The host of all pictures. It is a reserved name.
const HOST: &str = "media.example.net";
const FOLDER: &str = "/people/";
/// The name of the picture that a platform gives to accounts without one.
const DEFAULT: &str = "default";
const SIDE: usize = 128;
/// The number of fields on a side of the pattern behind a portrait.
const FIELDS: usize = 8;

/// Returns the address of the picture of a person.
pub(super) fn address(given: &str, family: &str) -> String {
    format!("https://{HOST}{FOLDER}{}-{}.png", given.to_lowercase(), family.to_lowercase())
}

/// Returns the answer to a request for a picture. Returns `None` for any other address.
pub(super) fn answer(seed: u64, url: &Url) -> Option<Answer> {
    if url.host_str() != Some(HOST) {
        return None;
    }
    let person = url.path().strip_prefix(FOLDER)?.strip_suffix(".png")?;
    let picture = if person == DEFAULT { silhouette() } else { portrait(seed, person) };
    Some(Answer::new(200, "image/png", picture.to_png().ok()?))
}

/// Draws a head and shoulders before a pattern of soft fields.
fn portrait(seed: u64, person: &str) -> Pixels {
    let draw = |what: &str, number: usize| fraction(seed, &["portrait", person, what, &number.to_string()]);
    let colour = |what: &str, least: f64, most: f64| {
        [0, 1, 2].map(|channel| least + (most - least) * draw(what, channel))
    };
    let (dark, light) = (colour("dark", 20.0, 130.0), colour("light", 120.0, 250.0));
    let (skin, hair, shirt) =
        (colour("skin", 140.0, 230.0), colour("hair", 20.0, 200.0), colour("shirt", 40.0, 240.0));
    let (middle, radius) = (0.4 + 0.2 * draw("middle", 0), 0.16 + 0.08 * draw("radius", 0));
    Pixels::drawn(SIDE, SIDE, |column, row| {
        let (x, y) = (column as f64 / SIDE as f64, row as f64 / SIDE as f64);
        let is_in = |at: f64, height: f64, radius: f64| (x - at).hypot(y - height) < radius;
        let painted = if is_in(middle, 0.44, radius) {
            if y < 0.44 - radius * 0.45 { hair } else { skin }
        } else if is_in(middle, 1.0, 0.36) {
            shirt
        } else {
            let field = row * FIELDS / SIDE * FIELDS + column * FIELDS / SIDE;
            mixed(dark, light, draw("field", field))
        };
        painted.map(|channel| channel as u8)
    })
}

/// Draws a head and shoulders in one colour.
fn silhouette() -> Pixels {
    Pixels::drawn(SIDE, SIDE, |column, row| {
        let (x, y) = (column as f64 / SIDE as f64, row as f64 / SIDE as f64);
        let is_body = (x - 0.5).hypot(y - 0.44) < 0.2 || (x - 0.5).hypot(y - 1.0) < 0.36;
        if is_body { [250, 250, 250] } else { [170, 180, 190] }
    })
}

fn mixed(one: [f64; 3], other: [f64; 3], share: f64) -> [f64; 3] {
    std::array::from_fn(|channel| one[channel] + (other[channel] - one[channel]) * share)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::runs::pictures::picture::Picture;

    #[test]
    fn each_person_has_a_picture_that_nobody_else_has() {
        let drawn = |seed: u64, person: &str| {
            let url = Url::parse(&format!("https://media.example.net/people/{person}.png")).unwrap();
            let file = answer(seed, &url).unwrap().body;
            Picture::decode(&file, Instant::now() + Duration::from_secs(60)).unwrap().unwrap().avatar
        };
        let people = ["ana-rivera", "ben-rivera", "ana-weber", "hugo-novak"].map(|person| drawn(1, person));
        assert_eq!(people[0], drawn(1, "ana-rivera"));
        assert_eq!(drawn(1, "default").likeness, None);
        assert_ne!(people[0].sha256, drawn(2, "ana-rivera").sha256);
        for (at, one) in people.iter().enumerate() {
            for other in &people[..at] {
                assert!(!one.likeness.unwrap().is_near(other.likeness.unwrap()));
            }
        }
    }

    #[test]
    fn other_addresses_have_no_picture() {
        assert_eq!(address("Ana", "Rivera"), "https://media.example.net/people/ana-rivera.png");
        for other in ["https://media.example.net/alice/links0", "https://example.org/people/ana-rivera.png"] {
            assert!(answer(1, &Url::parse(other).unwrap()).is_none(), "{other}");
        }
    }
}
