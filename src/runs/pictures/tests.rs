use std::io::Write as _;
use std::time::{Duration, Instant};

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use jpeg_encoder::{ColorType, Encoder};

use super::picture::{ANIMATED, BROKEN, DECODING, LATE, Picture, TOO_LARGE, TOO_SMALL, UNKNOWN};
use super::pixels::{Colour, Pixels};

fn decode(file: &[u8]) -> Result<Picture, &'static str> {
    let deadline = Instant::now() + Duration::from_secs(60);
    Picture::decode(file, deadline)
}

/// A picture with many colours, which differs with its seed.
fn scene(width: usize, height: usize, seed: usize) -> Pixels {
    let side = width.max(height);
    let wave = |x: usize, y: usize, pace: usize| {
        let turn = ((x * 64 / side) * pace + (y * 64 / side) * (pace + seed % 5) + seed * 7) as f64 / 20.0;
        ((turn.sin() + 1.0) * 127.0) as u8
    };
    Pixels::drawn(width, height, |x, y| [wave(x, y, 1 + seed % 3), wave(y, x, 2), wave(x, y, 3 + seed % 4)])
}

fn png(picture: &Pixels) -> Vec<u8> {
    picture.to_png().unwrap()
}

/// A PNG of any depth and kind of pixels, as they stand in the file.
fn raw_png(side: u32, colour: png::ColorType, depth: png::BitDepth, pixels: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, side, side);
    encoder.set_color(colour);
    encoder.set_depth(depth);
    encoder.write_header().unwrap().write_image_data(pixels).unwrap();
    file
}

fn jpeg(picture: &Pixels, quality: u8) -> Vec<u8> {
    let mut file = Vec::new();
    let (width, height) = (picture.width as u16, picture.height as u16);
    Encoder::new(&mut file, quality).encode(&picture.bytes, width, height, ColorType::Rgb).unwrap();
    file
}

fn webp(picture: &Pixels) -> Vec<u8> {
    let mut file = Vec::new();
    let (width, height) = (picture.width as u32, picture.height as u32);
    let encoder = image_webp::WebPEncoder::new(&mut file);
    encoder.encode(&picture.bytes, width, height, image_webp::ColorType::Rgb8).unwrap();
    file
}

/// A colour of the palette with 3 bits of red and green, and 2 of blue.
fn in_palette([red, green, blue]: Colour) -> u8 {
    red & 0xe0 | green >> 5 << 2 | blue >> 6
}

fn gif(frames: usize, width: usize, height: usize) -> Vec<u8> {
    let palette: Vec<u8> = (0..=255).flat_map(|index: u8| [index & 0xe0, index << 3, index << 6]).collect();
    let mut file = Vec::new();
    let mut encoder = gif::Encoder::new(&mut file, width as u16, height as u16, &palette).unwrap();
    for seed in 0..frames {
        let pixels: Vec<u8> = scene(width, height, seed).colours().map(in_palette).collect();
        let frame = gif::Frame::from_indexed_pixels(width as u16, height as u16, pixels, None);
        encoder.write_frame(&frame).unwrap();
    }
    drop(encoder);
    file
}

fn chunk(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let mut crc = Crc::new();
    crc.update(kind);
    crc.update(content);
    let length = u32::try_from(content.len()).unwrap();
    [&length.to_be_bytes()[..], kind, content, &crc.sum().to_be_bytes()].concat()
}

fn zipped(byte: u8, count: usize) -> Vec<u8> {
    let mut out = ZlibEncoder::new(Vec::new(), Compression::best());
    out.write_all(&vec![byte; count]).unwrap();
    out.finish().unwrap()
}

/// A PNG whose header states this size, with these chunks before its pixels, of which there are far too few.
fn stated(width: u32, height: u32, depth: u8, before: &[u8]) -> Vec<u8> {
    let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[depth, 6, 0, 0, 0]].concat();
    let pixels = chunk(b"IDAT", &zipped(0, 1000));
    [b"\x89PNG\r\n\x1a\n", &chunk(b"IHDR", &header)[..], before, &pixels, &chunk(b"IEND", b"")].concat()
}

fn riff(chunks: &[u8]) -> Vec<u8> {
    let size = u32::try_from(chunks.len() + 4).unwrap();
    [b"RIFF", &size.to_le_bytes()[..], b"WEBP", chunks].concat()
}

fn riff_chunk(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let size = u32::try_from(content.len()).unwrap();
    [kind, &size.to_le_bytes()[..], content, &vec![0; content.len() % 2]].concat()
}

/// The header of an extended WebP file for 64 by 64 pixels.
fn webp_header(flags: u8) -> Vec<u8> {
    riff_chunk(b"VP8X", &[flags, 0, 0, 0, 63, 0, 0, 63, 0, 0])
}

#[test]
fn each_format_is_recognized_by_its_content_and_becomes_a_small_png() {
    let scene = scene(200, 200, 1);
    let grey: Vec<u8> = scene.colours().map(|[red, ..]| red).collect();
    let wide: Vec<u8> = scene.colours().flatten().flat_map(|channel| [channel, 0]).collect();
    let bits: Vec<u8> = (0..25 * 200u32).map(|byte| (byte * byte) as u8).collect();
    let files = [
        png(&scene),
        jpeg(&scene, 80),
        gif(1, 200, 120),
        webp(&scene),
        raw_png(200, png::ColorType::Grayscale, png::BitDepth::Eight, &grey),
        raw_png(200, png::ColorType::Rgb, png::BitDepth::Sixteen, &wide),
        raw_png(200, png::ColorType::Grayscale, png::BitDepth::One, &bits),
        png(&super::tests::scene(9, 9, 1)),
        png(&super::tests::scene(300, 90, 1)),
    ];
    for (at, file) in files.iter().enumerate() {
        let picture = decode(file).unwrap();
        // Black and white are two colours.
        assert!(
            (picture.avatar.likeness.is_some() || at == 6) && picture.thumbnail.len() <= 16 * 1024,
            "{at}"
        );
        assert_eq!(pixels(&picture.thumbnail).len(), 64 * 64, "{at}");
        assert_eq!(decode(&picture.thumbnail).unwrap().thumbnail, picture.thumbnail, "drawn once: {at}");
    }
    // The SHA-256 of the file, not of its pixels.
    let [one, other] = [png(&scene), webp(&scene)].map(|it| decode(&it).unwrap());
    assert!(one.avatar.sha256 != other.avatar.sha256 && one.thumbnail == other.thumbnail);
    let shown = [jpeg(&scene, 95), files[5].clone()].map(|file| pixels(&decode(&file).unwrap().thumbnail));
    for (at, one) in pixels(&one.thumbnail).into_iter().enumerate() {
        for other in &shown {
            assert!(one.iter().zip(other[at]).all(|(one, other)| one.abs_diff(other) < 40), "pixel {at}");
        }
    }
}

/// Returns the pixels of a PNG without transparency.
fn pixels(file: &[u8]) -> Vec<Colour> {
    super::picture::decoded(file).unwrap().colours().collect()
}

#[test]
fn noise_fits_into_a_thumbnail_and_transparent_parts_become_white() {
    let mut state = 1u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let bytes: Vec<u8> =
        (0..64 * 64).flat_map(|at| [noise(), noise(), noise(), if at % 64 < 32 { 255 } else { 0 }]).collect();
    let file = raw_png(64, png::ColorType::Rgba, png::BitDepth::Eight, &bytes);
    let thumbnail = decode(&file).unwrap().thumbnail;
    assert!(thumbnail.len() <= 16 * 1024, "{}", thumbnail.len());
    let shown = pixels(&thumbnail);
    assert_eq!(shown[9 * 64 + 40], [255; 3]);
    assert_eq!(shown[9 * 64 + 9], bytes[(9 * 64 + 9) * 4..][..3]);
}

/// The frame may be smaller than the picture, or lie partly or wholly beside it.
#[test]
fn the_frame_of_a_gif_is_drawn_where_it_lies() {
    let whole = gif(1, 32, 32);
    let place = whole.windows(9).position(|bytes| bytes == [0x2c, 0, 0, 0, 0, 32, 0, 32, 0]).unwrap();
    for (left, top, shown) in [(0, 0, 32 * 32), (16, 8, 16 * 24), (32, 0, 0), (200, 3, 0), (0, 255, 0)] {
        let mut gif = whole.clone();
        (gif[place + 1], gif[place + 3]) = (left, top);
        let pixels = super::picture::decoded(&gif).unwrap();
        assert_eq!(pixels.bytes.chunks(4).filter(|pixel| pixel[3] == 255).count(), shown, "{left} {top}");
    }
}

#[test]
fn other_formats_are_refused() {
    let svg = "<svg xmlns='http://www.w3.org/2000/svg' width='64' height='64'/>";
    let avif = "\0\0\0\x1cftypavif\0\0\0\0";
    for file in ["", "GIF8", "<!DOCTYPE html>", svg, avif, "BM\0\0", "II*\0", "RIFF\0\0\0\0WAVE"] {
        assert_eq!(decode(file.as_bytes()), Err(UNKNOWN), "{file:?}");
    }
}

#[test]
fn animated_pictures_are_refused() {
    assert_eq!(decode(&gif(2, 32, 32)), Err(ANIMATED));
    let control = chunk(b"acTL", &[0, 0, 0, 2, 0, 0, 0, 0]);
    assert_eq!(decode(&stated(64, 64, 8, &control)), Err(ANIMATED));
    let frame =
        [&[0; 6][..], &[63, 0, 0, 63, 0, 0, 100, 0, 0, 0], &riff_chunk(b"VP8L", &[0x2f, 63, 192, 15, 0])]
            .concat();
    let chunks = [webp_header(2), riff_chunk(b"ANIM", &[0; 6]), riff_chunk(b"ANMF", &frame)].concat();
    assert_eq!(decode(&riff(&chunks)), Err(ANIMATED));
}

/// None of these files has the pixels that its header states, so nothing was decoded.
#[test]
fn pictures_with_too_many_pixels_are_refused_by_their_header() {
    assert_eq!(decode(&stated(10_000, 10_000, 8, b"")), Err(TOO_LARGE));
    assert_eq!(decode(&stated(4_000, 4_001, 8, b"")), Err(TOO_LARGE));
    assert_eq!(decode(&stated(20_000, 20, 8, b"")), Err(TOO_LARGE));
    assert_eq!(decode(&stated(u32::MAX >> 1, u32::MAX >> 1, 8, b"")), Err(TOO_LARGE));
    assert_eq!(decode(&stated(4_000, 4_000, 8, b"")), Err(BROKEN), "allowed, but its pixels are missing");
    assert_eq!(decode(&stated(4_000, 4_000, 16, b"")), Err(BROKEN), "reduced to 8 bits line by line");
    let mut huge_gif = self::gif(1, 32, 32);
    huge_gif[6..10].copy_from_slice(&[0xff; 4]);
    assert_eq!(decode(&huge_gif), Err(TOO_LARGE));
    let mut jpeg = self::jpeg(&scene(32, 32, 1), 80);
    let frame = jpeg.windows(2).position(|bytes| bytes == [0xff, 0xc0]).unwrap();
    jpeg[frame + 5..frame + 9].copy_from_slice(&[0x27, 0x10, 0x27, 0x10]);
    assert_eq!(decode(&jpeg), Err(TOO_LARGE));
    let lossless = riff(&riff_chunk(b"VP8L", &[0x2f, 0xff, 0xff, 0xff, 0x0f, 0, 0]));
    assert_eq!(decode(&lossless), Err(TOO_LARGE));
}

#[test]
fn a_frame_may_not_be_larger_than_its_file_says() {
    // The file says 64 by 64, its frame 16,383 by 16,383.
    let frame = riff_chunk(b"VP8 ", &[0x10, 0, 0, 0x9d, 1, 0x2a, 0xff, 0x3f, 0xff, 0x3f, 0, 0, 0, 0]);
    assert_eq!(decode(&riff(&[webp_header(0), frame].concat())), Err(TOO_LARGE));
    let mut gif = self::gif(1, 32, 32);
    let descriptor = gif.windows(9).position(|bytes| bytes == [0x2c, 0, 0, 0, 0, 32, 0, 32, 0]).unwrap();
    gif[descriptor + 5..descriptor + 9].copy_from_slice(&[0xff; 4]);
    assert_eq!(decode(&gif), Err(TOO_LARGE));
}

#[test]
fn pictures_that_are_tiny_or_damaged_are_refused() {
    for (width, height) in [(1, 1), (7, 64), (64, 7), (0, 9)] {
        let refused = decode(&stated(width, height, 8, b""));
        assert!(matches!(refused, Err(TOO_SMALL | BROKEN)), "{width} {height}: {refused:?}");
    }
    let scene = scene(64, 64, 1);
    for whole in [png(&scene), webp(&scene)] {
        for length in (12..whole.len() - 20).step_by(97) {
            assert!(decode(&whole[..length]).is_err(), "cut to {length} of {}", whole.len());
        }
    }
    // A decoder draws what there is of a JPEG or GIF, or refuses it. It does not panic.
    for whole in [jpeg(&scene, 80), gif(1, 64, 64)] {
        for length in (0..whole.len()).step_by(31) {
            let _ = decode(&whole[..length]);
        }
    }
}

/// Check workers have small stacks, and several of them decode at the same time.
#[test]
fn each_format_is_decoded_on_half_the_stack_of_a_worker() {
    let scene = scene(400, 400, 1);
    let workers = [png(&scene), jpeg(&scene, 80), gif(1, 400, 400), webp(&scene)].map(|file| {
        let worker = std::thread::Builder::new().stack_size(256 * 1024);
        worker.spawn(move || decode(&file).is_ok()).unwrap()
    });
    assert_eq!(workers.map(|worker| worker.join().unwrap()), [true; 4]);
}

#[test]
fn nothing_is_decoded_after_the_deadline() {
    let file = png(&scene(64, 64, 1));
    let _other = DECODING.lock();
    assert_eq!(Picture::decode(&file, Instant::now()), Err(LATE));
}

#[test]
fn copies_are_near_and_other_pictures_are_not() {
    for seed in 1..20 {
        let original = scene(400, 400, seed);
        let likeness = |file: &[u8]| decode(file).unwrap().avatar.likeness.unwrap();
        let one = likeness(&png(&original));
        let poor = jpeg(&original.thumbnail(96), 40);
        assert!(one.is_near(likeness(&poor)), "{seed}: {one:?} {:?}", likeness(&poor));
        let other = likeness(&png(&scene(400, 400, seed + 20)));
        assert!(!one.is_near(other), "{seed}: {one:?} {other:?}");
    }
}

#[test]
fn pictures_of_two_colours_have_no_likeness() {
    let is_disc = |x: usize, y: usize| x.abs_diff(32).pow(2) + y.abs_diff(40).pow(2) < 600;
    let silhouette =
        Pixels::drawn(64, 64, |x, y| if is_disc(x, y) { [250, 250, 250] } else { [180, 190, 200] });
    for plain in [Pixels::drawn(64, 64, |_, _| [9, 9, 9]), silhouette] {
        assert_eq!(decode(&png(&plain)).unwrap().avatar.likeness, None);
        assert_eq!(decode(&jpeg(&plain, 80)).unwrap().avatar.likeness, None);
    }
}
