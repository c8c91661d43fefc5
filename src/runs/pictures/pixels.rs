//! [`Pixels`]: the pixels of a picture, reduced and written as PNG.

/// The colour behind transparent parts.
const BACKGROUND: u16 = 255;

/// A colour: red, green and blue.
pub type Colour = [u8; 3];

/// The pixels of a picture with 8 bits for each channel: grey, grey with transparency, colours, or colours with
/// transparency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pixels {
    pub(super) width: usize,
    pub(super) height: usize,
    /// The number of channels, from 1 to 4.
    pub(super) channels: usize,
    pub(super) bytes: Vec<u8>,
}

impl Pixels {
    /// Draws a picture with the colour that `colour` returns for each column and row.
    pub fn drawn(width: usize, height: usize, colour: impl Fn(usize, usize) -> Colour) -> Self {
        let mut bytes = Vec::with_capacity(width * height * 3);
        for row in 0..height {
            (0..width).for_each(|column| bytes.extend(colour(column, row)));
        }
        Self { width, height, channels: 3, bytes }
    }

    /// Returns the colour of a pixel on the background.
    fn colour(&self, column: usize, row: usize) -> Colour {
        let at = (row * self.width + column) * self.channels;
        let (colour, alpha) = match self.bytes[at..at + self.channels] {
            [grey] => return [grey; 3],
            [red, green, blue] => return [red, green, blue],
            [grey, alpha] => ([grey; 3], alpha),
            [red, green, blue, alpha] => ([red, green, blue], alpha),
            _ => return Colour::default(),
        };
        let alpha = u16::from(alpha);
        colour.map(|channel| ((u16::from(channel) * alpha + BACKGROUND * (255 - alpha)) / 255) as u8)
    }

    /// Returns the colours of all pixels, row by row.
    pub(super) fn colours(&self) -> impl Iterator<Item = Colour> {
        (0..self.height).flat_map(move |row| (0..self.width).map(move |column| self.colour(column, row)))
    }

    /// Returns the middle of the picture as a square, without transparency.
    pub(super) fn thumbnail(&self, side: usize) -> Self {
        let old = self.width.min(self.height);
        self.reduced(((self.width - old) / 2, (self.height - old) / 2), (old, old), (side, side))
    }

    /// Returns the part of the picture that begins at `from` and has the size `old`, in the size `new`. Each pixel is the
    /// mean of those that it replaces, or the nearest one if the picture grows.
    pub(super) fn reduced(&self, from: (usize, usize), old: (usize, usize), new: (usize, usize)) -> Self {
        let range = |at: usize, from: usize, old: usize, new: usize| {
            let first = (at * old).div_ceil(new).min(old - 1);
            from + first..from + ((at + 1) * old).div_ceil(new).max(first + 1)
        };
        Self::drawn(new.0, new.1, |column, row| {
            let columns = range(column, from.0, old.0, new.0);
            let rows = range(row, from.1, old.1, new.1);
            let mut sums = [0u32; 3];
            for row in rows.clone() {
                for column in columns.clone() {
                    let colour = self.colour(column, row);
                    sums.iter_mut().zip(colour).for_each(|(sum, channel)| *sum += u32::from(channel));
                }
            }
            // A picture has 16 million pixels at most, so the sums fit.
            let count = (rows.len() * columns.len()) as u32;
            sums.map(|sum| ((sum + count / 2) / count) as u8)
        })
    }

    /// Writes a picture without transparency as PNG.
    ///
    /// # Errors
    /// Returns an error if the picture has no pixels.
    pub fn to_png(&self) -> Result<Vec<u8>, png::EncodingError> {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_filter(png::Filter::Adaptive);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&self.bytes)?;
        writer.finish()?;
        Ok(file)
    }
}
