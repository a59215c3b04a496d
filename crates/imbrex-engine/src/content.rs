//! The content of requests, as it lies in memory. What clients bring at a time lies there behind each other, so what is
//! to be written together need not be copied together.

use std::ops::Range;

use bytes::{Bytes, BytesMut};

/// Bytes that lie in memory beside others, perhaps.
#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    all: Bytes,
    own: Range<usize>,
}

impl From<Bytes> for Content {
    fn from(all: Bytes) -> Self {
        Self { own: 0..all.len(), all }
    }
}

impl Content {
    /// So many bytes from one on; nothing if there are fewer.
    pub fn part(all: Bytes, from: usize, len: usize) -> Option<Self> {
        let own = from..from.checked_add(len)?;
        (own.end <= all.len()).then_some(Self { all, own })
    }

    pub fn len(&self) -> usize {
        self.own.len()
    }

    /// A part of it.
    pub fn slice(&self, part: Range<usize>) -> Self {
        Self { all: self.all.clone(), own: self.own.start + part.start..self.own.start + part.end }
    }

    pub fn into_bytes(self) -> Bytes {
        self.all.slice(self.own)
    }

    /// Whether the other one lies right behind it.
    fn is_before(&self, other: &Self) -> bool {
        let is_same_memory = self.all.as_ptr() == other.all.as_ptr() && self.all.len() == other.all.len();
        is_same_memory && self.own.end == other.own.start
    }
}

/// Contents, one after the other.
pub(super) enum Joined {
    /// They lie so.
    Lying(Content),
    Copied(BytesMut),
}

impl Joined {
    pub fn len(&self) -> usize {
        match self {
            Self::Lying(content) => content.len(),
            Self::Copied(bytes) => bytes.len(),
        }
    }

    /// Adds what comes behind.
    pub fn add(&mut self, next: &Content) {
        match self {
            Self::Lying(content) if content.is_before(next) => content.own.end = next.own.end,
            Self::Lying(content) => {
                let mut bytes = BytesMut::from(&content.all[content.own.clone()]);
                bytes.extend_from_slice(&next.all[next.own.clone()]);
                *self = Self::Copied(bytes);
            }
            Self::Copied(bytes) => bytes.extend_from_slice(&next.all[next.own.clone()]),
        }
    }

    pub fn into_bytes(self) -> Bytes {
        match self {
            Self::Lying(content) => content.into_bytes(),
            Self::Copied(bytes) => bytes.freeze(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn what_lies_behind_each_other_is_not_copied() {
        let all = Bytes::from((0..12).collect::<Vec<u8>>());
        let part = |from| Content::part(all.clone(), from, 4).unwrap();
        let mut joined = Joined::Lying(part(0));
        joined.add(&part(4));
        joined.add(&part(8).slice(0..3));
        assert_eq!(joined.len(), 11);
        let bytes = joined.into_bytes();
        assert_eq!((&bytes[..], bytes.as_ptr()), (&all[..11], all.as_ptr()));
    }

    #[test]
    fn other_contents_are_copied_in_their_order() {
        let (all, others) = (Bytes::from(vec![0, 1, 2, 3]), Bytes::from(vec![4, 5, 6, 7]));
        let mut joined = Joined::Lying(Content::part(all.clone(), 2, 2).unwrap());
        // In the same memory, but not behind it; and at the same place in other memory.
        for next in [Content::part(all, 0, 2).unwrap(), Content::part(others, 2, 2).unwrap()] {
            joined.add(&next);
        }
        assert_eq!(joined.into_bytes(), [2, 3, 0, 1, 6, 7].as_slice());
    }

    #[test]
    fn there_is_no_part_beyond_the_end() {
        let all = Bytes::from(vec![0; 4]);
        assert!(Content::part(all.clone(), 2, 2).is_some());
        assert!(Content::part(all.clone(), 2, 3).is_none() && Content::part(all, 5, usize::MAX).is_none());
    }
}
