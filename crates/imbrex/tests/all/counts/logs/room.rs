//! Which band a stream goes on with: its own, an empty one, or that of another stream.

use super::log::{Band, Log};

impl Log {
    /// The empty band of the lowest number is for this stream, if there is one.
    fn open_empty(&mut self, stream: usize) {
        self.open[stream] = self.empty.pop_first();
        if let Some(band) = self.open[stream] {
            self.bands[band] = Band { stream, opened: self.written, ..Band::default() };
        }
    }

    /// The stream that is written next, as `which` says, and a band with room for it. Compaction may change what it
    /// says.
    pub fn room(&mut self, which: impl Fn(&Self) -> usize) -> (usize, usize) {
        loop {
            let stream = which(self);
            if self.open[stream].is_none()
                && let Some(of) = self.goes_on(stream)
                && let Some(band) = self.open[of]
            {
                return (of, band);
            }
            if self.open[stream].is_none() && self.empty.len() > self.set.spare {
                self.open_empty(stream);
            }
            if let Some(band) = self.open[stream] {
                return (stream, band);
            }
            if !self.compact() {
                // Nothing can be gained: it goes on with the band of the first stream that has one, or of the nearest.
                let other = self.one_with_room(stream).and_then(|other| self.open[other].take());
                self.open[stream] = Some(other.expect("the disk is not full"));
            }
        }
    }

    /// The band that takes the next moved block of a stream: its own, an empty one, or another stream's.
    pub fn target(&mut self, stream: usize) -> usize {
        if self.open[stream].is_some_and(|band| self.is_full(band)) {
            if self.set.spare == 0 {
                self.close_full(stream);
            }
            self.open[stream] = None;
        }
        if self.open[stream].is_none()
            && let Some(of) = self.goes_on(stream)
            && let Some(band) = self.open[of]
        {
            return band;
        }
        if self.open[stream].is_none() {
            self.open_empty(stream);
        }
        let other = |log: &Self| log.open[log.one_with_room(stream)?];
        self.open[stream].or_else(|| other(self)).expect("live blocks fit")
    }

    /// A stream whose band has room: the nearest one where streams are in order, or the first.
    fn one_with_room(&self, stream: usize) -> Option<usize> {
        self.nearest(if self.lifetimes.is_some() { stream } else { 0 }, |_| true)
    }
}
