//! The pages of a column, checked before anything is decoded from them.
//!
//! The decoders take a page's header at its word. A header that lies, because the file is damaged, would have them
//! allocate what it asks for, or panic.

use std::io::Read;
use std::sync::Arc;

use ::parquet::basic::{Compression as Codec, Encoding, Type};
use ::parquet::column::page::{Page, PageMetadata, PageReader};
use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::metadata::ColumnChunkMetaData;
use ::parquet::file::reader::{ChunkReader, Length, SerializedPageReader};
use bytes::Bytes;

use crate::Compression;

/// Bytes in which the sizes of a page stand at the beginning of its header.
const HEADER_BYTES: usize = 18;

/// A file whose pages are of bounded size.
pub(super) struct PageFile<R>(pub(super) R);

impl<R: Length> Length for PageFile<R> {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl<R: ChunkReader> ChunkReader for PageFile<R> {
    type T = std::io::Chain<std::io::Cursor<Vec<u8>>, R::T>;

    /// Called for the header of a page.
    fn get_read(&self, start: u64) -> Result<Self::T> {
        let mut reader = self.0.get_read(start)?;
        let mut head = Vec::with_capacity(HEADER_BYTES);
        reader.by_ref().take(HEADER_BYTES as u64).read_to_end(&mut head)?;
        if let Some(sizes) = sizes(&head) {
            sizes.into_iter().try_for_each(bounded)?;
        }
        Ok(std::io::Cursor::new(head).chain(reader))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        bounded(length as u64)?;
        if start.checked_add(length as u64).is_none_or(|end| end > self.len()) {
            return Err(ParquetError::EOF(format!("a page of {length} bytes at byte {start} is not in the file")));
        }
        self.0.get_bytes(start, length)
    }
}

fn bounded(bytes: u64) -> Result<()> {
    if bytes > Compression::MEMORY_BYTES {
        let limit = Compression::MEMORY_BYTES >> 20;
        return Err(general(format!("a page of {bytes} bytes is over {limit} MiB")));
    }
    Ok(())
}

fn general(message: impl Into<String>) -> ParquetError {
    ParquetError::General(message.into())
}

/// The decompressed and the compressed size in a page's header. It is a Thrift struct in compact protocol whose first
/// three fields are zigzag-encoded integers: the kind of page and these two.
fn sizes(head: &[u8]) -> Option<[u64; 2]> {
    const NEXT_FIELD_I32: u8 = 0x15;
    let mut bytes = head.iter();
    let mut field = || {
        (*bytes.next()? == NEXT_FIELD_I32).then_some(())?;
        let mut value = 0;
        for shift in (0..35).step_by(7) {
            let byte = *bytes.next()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value >> 1);
            }
        }
        None
    };
    field()?;
    Some([field()?, field()?])
}

/// The pages of one column of one row group.
pub(super) struct CheckedPages<R: ChunkReader> {
    pages: SerializedPageReader<PageFile<R>>,
    column: Type,
    has_dictionary: bool,
}

impl<R: ChunkReader> CheckedPages<R> {
    /// The pages of `chunk`, which holds `rows` values.
    pub(super) fn new(file: Arc<PageFile<R>>, chunk: &ColumnChunkMetaData, rows: usize) -> Result<Self> {
        let start = chunk.dictionary_page_offset().unwrap_or_else(|| chunk.data_page_offset());
        let end = start.checked_add(chunk.compressed_size()).and_then(|end| u64::try_from(end).ok());
        if start < 0 || chunk.compressed_size() < 0 || end.is_none_or(|end| end > file.len()) {
            return Err(general("its pages are not in the file"));
        }
        if !matches!(chunk.compression(), Codec::UNCOMPRESSED | Codec::SNAPPY | Codec::ZSTD(_)) {
            return Err(general(format!("it is compressed with {}", chunk.compression())));
        }
        let pages = SerializedPageReader::new(file, chunk, rows, None)?;
        Ok(Self { pages, column: chunk.column_type(), has_dictionary: false })
    }

    fn check(&mut self, page: &Page) -> Result<()> {
        match page {
            Page::DictionaryPage { .. } if self.has_dictionary || self.column == Type::BOOLEAN => {
                Err(general("there is a dictionary too many"))
            }
            Page::DictionaryPage { buf, num_values, .. } => {
                self.has_dictionary = true;
                if self.plain_bytes(*num_values) > buf.len() as u64 {
                    return Err(general("the dictionary is shorter than its header says"));
                }
                Ok(())
            }
            Page::DataPage { buf, encoding, num_values, .. } => self.check_values(*encoding, *num_values, buf.len()),
            Page::DataPageV2 { buf, encoding, num_values, def_levels_byte_len, rep_levels_byte_len, .. } => {
                let levels = u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len);
                if levels > buf.len() as u64 {
                    return Err(general("a page is shorter than its levels"));
                }
                self.check_values(*encoding, *num_values, buf.len())
            }
        }
    }

    /// The bytes that `values` integers of the column take in plain encoding.
    fn plain_bytes(&self, values: u32) -> u64 {
        u64::from(values) * if self.column == Type::INT32 { 4 } else { 8 }
    }

    fn check_values(&self, encoding: Encoding, values: u32, bytes: usize) -> Result<()> {
        let fits = match encoding {
            Encoding::PLAIN => true,
            Encoding::RLE => self.column == Type::BOOLEAN,
            Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY => self.has_dictionary,
            Encoding::DELTA_BINARY_PACKED => self.column != Type::BOOLEAN,
            // Its decoder takes the length on trust. Nulls make a page shorter, but are refused anyway.
            Encoding::BYTE_STREAM_SPLIT => self.column != Type::BOOLEAN && self.plain_bytes(values) <= bytes as u64,
            _ => false,
        };
        if fits { Ok(()) } else { Err(general(format!("encoding {encoding} does not fit the column"))) }
    }
}

impl<R: ChunkReader> Iterator for CheckedPages<R> {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl<R: ChunkReader> PageReader for CheckedPages<R> {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        page.iter().try_for_each(|page| self.check(page))?;
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The beginning of a page's header with these sizes.
    fn header(uncompressed: u32, compressed: u32) -> Vec<u8> {
        let mut header = vec![0x15, 0];
        for size in [uncompressed, compressed] {
            header.push(0x15);
            let mut value = u64::from(size) << 1;
            while value >= 0x80 {
                header.push(value as u8 | 0x80);
                value >>= 7;
            }
            header.push(value as u8);
        }
        header
    }

    #[test]
    fn a_page_that_asks_for_too_much_memory_is_refused() {
        let opened = |uncompressed, compressed| {
            PageFile(Bytes::from(header(uncompressed, compressed))).get_read(0).err().map(|e| e.to_string())
        };
        assert_eq!(opened(128 << 20, 5), None);
        let refused = "Parquet error: a page of 2147483647 bytes is over 128 MiB";
        assert_eq!(opened(i32::MAX as u32, 5).as_deref(), Some(refused));
        assert_eq!(opened(5, i32::MAX as u32).as_deref(), Some(refused));
        assert_eq!(sizes(&header(300, 70_000)), Some([300, 70_000]));
    }

    #[test]
    fn the_beginning_of_a_header_is_not_lost() {
        let mut read = Vec::new();
        PageFile(Bytes::from(header(1, 2))).get_read(2).unwrap().read_to_end(&mut read).unwrap();
        assert_eq!(read, header(1, 2)[2..]);
    }

    #[test]
    fn what_is_not_in_the_file_is_not_allocated() {
        let file = PageFile(Bytes::from_static(&[0; 10]));
        assert!(file.get_bytes(5, 6).is_err() && file.get_bytes(u64::MAX, 1).is_err() && file.get_bytes(5, 5).is_ok());
    }
}
