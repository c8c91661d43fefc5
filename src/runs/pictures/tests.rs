use std::io::Write as _;
use std::time::{Duration, Instant};

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use image::codecs::gif::GifEncoder;
use image::codecs::jpeg::JpegEncoder;
use image::imageops::{FilterType, resize};
use image::{DynamicImage, Frame, ImageFormat, Rgb, RgbImage, Rgba, RgbaImage};

use super::likeness::Likeness;
use super::picture::{DECODING, Picture};
use super::refusal::PictureRefusal::{self, *};

fn decode(file: &[u8]) -> Result<Picture, PictureRefusal> {
    let deadline = Instant::now() + Duration::from_secs(60);
    Ok(Picture::decode(file, deadline)?.expect("other tests decode for less than a minute"))
}

/// A picture with many colours, which differs with its seed.
fn scene(side: u32, seed: u32) -> RgbImage {
    let wave = |x: u32, y: u32, pace: u32| {
        let turn = f64::from((x * 64 / side) * pace + (y * 64 / side) * (pace + seed % 5) + seed * 7) / 20.0;
        ((turn.sin() + 1.0) * 127.0) as u8
    };
    RgbImage::from_fn(side, side, |x, y| {
        Rgb([wave(x, y, 1 + seed % 3), wave(y, x, 2), wave(x, y, 3 + seed % 4)])
    })
}

fn file(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut file = std::io::Cursor::new(Vec::new());
    picture.write_to(&mut file, format).unwrap();
    file.into_inner()
}

fn png(picture: RgbImage) -> Vec<u8> {
    file(&picture.into(), ImageFormat::Png)
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

fn gif(frames: usize, width: u32, height: u32) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = GifEncoder::new(&mut file);
    for seed in 0..frames {
        let scene = DynamicImage::from(scene(width.max(height), seed as u32)).crop_imm(0, 0, width, height);
        encoder.encode_frame(Frame::new(scene.into_rgba8())).unwrap();
    }
    drop(encoder);
    file
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
    let scene = DynamicImage::from(scene(200, 1));
    let files = [
        file(&scene, ImageFormat::Png),
        file(&scene, ImageFormat::Jpeg),
        gif(1, 200, 120),
        file(&scene, ImageFormat::WebP),
        file(&scene.to_luma8().into(), ImageFormat::Png),
        file(&scene.to_rgba16().into(), ImageFormat::Png),
        png(super::tests::scene(9, 1)),
    ];
    for file in files {
        let picture = decode(&file).unwrap();
        assert!(picture.likeness.is_some() && picture.thumbnail.len() <= 16 * 1024);
        let thumbnail = image::load_from_memory_with_format(&picture.thumbnail, ImageFormat::Png).unwrap();
        assert_eq!((thumbnail.width(), thumbnail.height()), (64, 64));
        assert_eq!(decode(&picture.thumbnail).unwrap().thumbnail, picture.thumbnail, "drawn once");
    }
    // The SHA-256 of the file, not of its pixels.
    let [one, other] =
        [file(&scene, ImageFormat::Png), file(&scene, ImageFormat::WebP)].map(|it| decode(&it).unwrap());
    assert!(one.sha256 != other.sha256 && one.thumbnail == other.thumbnail);
}

#[test]
fn noise_fits_into_a_thumbnail_and_transparent_parts_become_white() {
    let mut state = 1u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let picture =
        RgbaImage::from_fn(64, 64, |x, _| Rgba([noise(), noise(), noise(), if x < 32 { 255 } else { 0 }]));
    let picture = decode(&file(&picture.into(), ImageFormat::Png)).unwrap();
    assert!(picture.thumbnail.len() <= 16 * 1024, "{}", picture.thumbnail.len());
    let thumbnail = image::load_from_memory(&picture.thumbnail).unwrap().into_rgb8();
    assert_eq!(thumbnail.get_pixel(40, 9), &Rgb([255; 3]));
    assert_ne!(thumbnail.get_pixel(9, 9), &Rgb([255; 3]));
}

#[test]
fn other_formats_are_refused() {
    let avif = b"\0\0\0\x1cftypavif\0\0\0\0";
    let svg =
        b"<svg xmlns='http://www.w3.org/2000/svg' width='64' height='64'><script>alert(1)</script></svg>";
    for file in [
        &b""[..],
        b"GIF8",
        b"<!DOCTYPE html>",
        svg,
        avif,
        b"BM\0\0",
        b"II*\0",
        b"\x89PNG",
        b"RIFF\0\0\0\0WAVE",
    ] {
        assert_eq!(decode(file), Err(Format), "{file:?}");
    }
}

#[test]
fn animated_pictures_are_refused() {
    assert_eq!(decode(&gif(2, 32, 32)), Err(Animated));
    let control = chunk(b"acTL", &[0, 0, 0, 2, 0, 0, 0, 0]);
    assert_eq!(decode(&stated(64, 64, 8, &control)), Err(Animated));
    let frame =
        [&[0; 6][..], &[63, 0, 0, 63, 0, 0, 100, 0, 0, 0], &riff_chunk(b"VP8L", &[0x2f, 63, 192, 15, 0])]
            .concat();
    let chunks = [webp_header(2), riff_chunk(b"ANIM", &[0; 6]), riff_chunk(b"ANMF", &frame)].concat();
    assert_eq!(decode(&riff(&chunks)), Err(Animated));
}

/// None of these files has the pixels that its header states, so nothing was decoded.
#[test]
fn pictures_with_too_many_pixels_are_refused_by_their_header() {
    assert_eq!(decode(&stated(10_000, 10_000, 8, b"")), Err(TooManyPixels));
    assert_eq!(decode(&stated(4_000, 4_001, 8, b"")), Err(TooManyPixels));
    assert_eq!(decode(&stated(20_000, 20, 8, b"")), Err(TooManyPixels));
    let most = decode(&stated(u32::MAX >> 1, u32::MAX >> 1, 8, b""));
    assert!(matches!(most, Err(TooManyPixels | TooMuchMemory)), "{most:?}");
    assert_eq!(decode(&stated(4_000, 4_000, 8, b"")), Err(Broken), "allowed, but its pixels are missing");
    assert_eq!(decode(&stated(4_000, 4_000, 16, b"")), Err(TooMuchMemory));
    let mut huge_gif = gif(1, 32, 32);
    huge_gif[6..10].copy_from_slice(&[0xff; 4]);
    assert_eq!(decode(&huge_gif), Err(TooManyPixels));
    let mut jpeg = file(&scene(32, 1).into(), ImageFormat::Jpeg);
    let frame = jpeg.windows(2).position(|bytes| bytes == [0xff, 0xc0]).unwrap();
    jpeg[frame + 5..frame + 9].copy_from_slice(&[0x27, 0x10, 0x27, 0x10]);
    assert_eq!(decode(&jpeg), Err(TooManyPixels));
    let lossless = riff(&riff_chunk(b"VP8L", &[0x2f, 0xff, 0xff, 0xff, 0x0f, 0, 0]));
    assert_eq!(decode(&lossless), Err(TooManyPixels));
}

#[test]
fn a_frame_may_not_be_larger_than_its_file_says() {
    // The file says 64 by 64, its frame 16,383 by 16,383.
    let frame = riff_chunk(b"VP8 ", &[0x10, 0, 0, 0x9d, 1, 0x2a, 0xff, 0x3f, 0xff, 0x3f, 0, 0, 0, 0]);
    assert_eq!(decode(&riff(&[webp_header(0), frame].concat())), Err(TooManyPixels));
    let mut gif = gif(1, 32, 32);
    let descriptor = gif.windows(9).position(|bytes| bytes == [0x2c, 0, 0, 0, 0, 32, 0, 32, 0]).unwrap();
    gif[descriptor + 5..descriptor + 9].copy_from_slice(&[0xff; 4]);
    assert!(matches!(decode(&gif), Err(TooManyPixels | TooMuchMemory | Broken)), "{:?}", decode(&gif));
}

#[test]
fn a_compressed_profile_does_not_grow_without_limit() {
    let profile = [&b"bomb\0\0"[..], &zipped(0, 64 * 1024 * 1024)].concat();
    let result = decode(&stated(64, 64, 8, &chunk(b"iCCP", &profile)));
    assert!(matches!(result, Err(TooMuchMemory | Broken)), "{result:?}");
}

#[test]
fn pictures_that_are_tiny_or_damaged_are_refused() {
    for (width, height) in [(1, 1), (7, 64), (64, 7), (0, 9)] {
        let refused = decode(&stated(width, height, 8, b""));
        assert!(matches!(refused, Err(TooSmall | Broken)), "{width} {height}: {refused:?}");
    }
    let scene = DynamicImage::from(scene(64, 1));
    for format in [ImageFormat::Png, ImageFormat::WebP] {
        let whole = file(&scene, format);
        for length in (12..whole.len() - 20).step_by(97) {
            assert!(decode(&whole[..length]).is_err(), "{format:?} cut to {length} of {}", whole.len());
        }
    }
    // A decoder draws what there is of a JPEG or GIF, or refuses it. It does not panic.
    for whole in [file(&scene, ImageFormat::Jpeg), gif(1, 64, 64)] {
        for length in (0..whole.len()).step_by(31) {
            let _ = decode(&whole[..length]);
        }
    }
}

/// Check workers have small stacks, and several of them decode at the same time.
#[test]
fn each_format_is_decoded_on_half_the_stack_of_a_worker() {
    let scene = DynamicImage::from(scene(400, 1));
    let formats = [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP];
    let workers = formats.map(|format| {
        let file = file(&scene.to_rgb8().into(), format);
        let worker = std::thread::Builder::new().stack_size(256 * 1024);
        worker.spawn(move || decode(&file).is_ok()).unwrap()
    });
    assert_eq!(workers.map(|worker| worker.join().unwrap()), [true; 4]);
}

#[test]
fn nothing_is_decoded_after_the_deadline() {
    let file = png(scene(64, 1));
    let _other = DECODING.lock();
    assert_eq!(Picture::decode(&file, Instant::now()), Ok(None));
}

#[test]
fn copies_are_near_and_other_pictures_are_not() {
    for seed in 1..20 {
        let original = scene(400, seed);
        let likeness = |file: &[u8]| decode(file).unwrap().likeness.unwrap();
        let one = likeness(&png(original.clone()));
        let small = resize(&original, 96, 96, FilterType::Triangle);
        let mut poor = Vec::new();
        JpegEncoder::new_with_quality(&mut poor, 40).encode_image(&small).unwrap();
        assert!(one.is_near(likeness(&poor)), "{seed}: {one} {}", likeness(&poor));
        let other = likeness(&png(scene(400, seed + 20)));
        assert!(!one.is_near(other), "{seed}: {one} {other}");
    }
}

#[test]
fn pictures_of_two_colours_have_no_likeness() {
    let disc = |x: u32, y: u32| (x as i32 - 32).pow(2) + (y as i32 - 40).pow(2) < 600;
    let silhouette =
        RgbImage::from_fn(
            64,
            64,
            |x, y| if disc(x, y) { Rgb([250, 250, 250]) } else { Rgb([180, 190, 200]) },
        );
    for plain in [RgbImage::from_pixel(64, 64, Rgb([9, 9, 9])), silhouette] {
        assert_eq!(decode(&png(plain.clone())).unwrap().likeness, None);
        assert_eq!(decode(&file(&plain.into(), ImageFormat::Jpeg)).unwrap().likeness, None);
    }
}

#[test]
fn a_likeness_is_written_as_16_digits() {
    let likeness = Likeness(0x00ff_0000_1234_abcd);
    assert_eq!(likeness.to_string(), "00ff00001234abcd");
    assert_eq!(Likeness::parse("00ff00001234abcd"), Some(likeness));
    for other in ["", "ff", "+0ff00001234abcd", "00ff00001234abcg", "00ff00001234abcd0"] {
        assert_eq!(Likeness::parse(other), None, "{other}");
    }
    assert!(
        likeness.is_near(Likeness(likeness.0 ^ 0b1111)) && !likeness.is_near(Likeness(likeness.0 ^ 0b1_1111))
    );
}
