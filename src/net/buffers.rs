//! The buffers of a connection. ureq's own are allocated in full size and are kept while the connection waits for an
//! answer; hundreds of connections wait at once.

use ureq::unversioned::transport::Buffers;

/// The maximum size of the input buffer. It exceeds [`MAX_HEAD_BYTES`](super::transport::MAX_HEAD_BYTES), because otherwise
/// too large a head would look like a broken connection.
const INPUT_BYTES: usize = 36 * 1024;

/// The size of the output buffer. It suffices for the longest line that is sent, which holds a URL or cookies.
const OUTPUT_BYTES: usize = 16 * 1024;

/// The free space that the input buffer offers at least, unless it has reached its maximum size.
const READ_BYTES: usize = 2 * 1024;

/// Buffers that take memory only while they hold data.
#[derive(Debug, Default)]
pub(super) struct SmallBuffers {
    input: Vec<u8>,
    /// The received bytes that were not consumed, as a range of `input`.
    start: usize,
    end: usize,
    output: Vec<u8>,
    has_consumed: bool,
}

impl SmallBuffers {
    /// Frees the memory. There must be no unconsumed input.
    pub(super) fn release(&mut self) {
        *self = Self::default();
    }

    /// Makes at least `free` bytes of the input buffer free, within its maximum size.
    fn make_free(&mut self, free: usize) {
        if self.start > 0 {
            self.input.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let wanted = (self.end + free).max(2 * self.end).min(INPUT_BYTES);
        if self.input.len() < self.end + free && self.input.len() < wanted {
            self.input.resize(wanted, 0);
        }
    }

    /// Appends input that was read elsewhere.
    pub(super) fn append(&mut self, bytes: &[u8]) {
        self.input.truncate(self.end);
        self.input.extend_from_slice(bytes);
        self.end = self.input.len();
    }

    fn make_output(&mut self) {
        self.output.resize(OUTPUT_BYTES, 0);
    }
}

impl Buffers for SmallBuffers {
    fn output(&mut self) -> &mut [u8] {
        self.make_output();
        &mut self.output
    }

    fn input(&self) -> &[u8] {
        &self.input[self.start..self.end]
    }

    fn input_append_buf(&mut self) -> &mut [u8] {
        // The request has been sent when its answer is read.
        self.output = Vec::new();
        self.make_free(READ_BYTES);
        &mut self.input[self.end..]
    }

    fn input_appended(&mut self, amount: usize) {
        self.end += amount;
    }

    fn input_consume(&mut self, amount: usize) {
        self.has_consumed = amount > 0;
        self.start += amount;
    }

    fn tmp_and_output(&mut self) -> (&mut [u8], &mut [u8]) {
        self.make_output();
        self.make_free(READ_BYTES);
        (&mut self.input[self.end..], &mut self.output)
    }

    fn can_use_input(&self) -> bool {
        self.start < self.end && self.has_consumed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_input_grows_to_its_maximum_and_keeps_its_bytes() {
        let mut buffers = SmallBuffers::default();
        let mut sent: Vec<u8> = Vec::new();
        loop {
            let free = buffers.input_append_buf();
            if free.is_empty() {
                break;
            }
            let bytes: Vec<u8> = (0..free.len().min(1500)).map(|index| (sent.len() + index) as u8).collect();
            free[..bytes.len()].copy_from_slice(&bytes);
            buffers.input_appended(bytes.len());
            sent.extend(bytes);
        }
        assert_eq!((buffers.input(), sent.len()), (&sent[..], INPUT_BYTES));
        buffers.input_consume(1000);
        assert!(buffers.can_use_input() && buffers.input() == &sent[1000..]);
        assert_eq!(buffers.input_append_buf().len(), 1000);
        buffers.input_consume(sent.len() - 1000);
        assert!(buffers.input().is_empty() && !buffers.can_use_input());
    }

    #[test]
    fn waiting_takes_little_memory_and_idling_none() {
        let mut buffers = SmallBuffers::default();
        assert_eq!(buffers.output().len(), OUTPUT_BYTES);
        assert_eq!(buffers.input_append_buf().len(), READ_BYTES);
        assert_eq!((buffers.output.capacity(), buffers.input.len()), (0, READ_BYTES));
        buffers.release();
        assert_eq!((buffers.output.capacity(), buffers.input.capacity()), (0, 0));
    }
}
