//! Writes a trace as Parquet.

use std::io::{self, Write};
use std::sync::Arc;

use ::parquet::basic::{Compression, Encoding, Repetition, Type as Stored, ZstdLevel};
use ::parquet::data_type::{BoolType, DataType, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::types::{ColumnPath, Type};

use super::{TraceWriter, WriteError, WriteFormat, Written, refuse_trims};
use crate::TraceRequest;
use crate::parquet::label::{Checksum, Origin, metadata};
use crate::parquet::{COLUMNS, CREATOR, GROUP_ROWS, RECORDING_GROUP_ROWS, SCHEMA_NAME, TRIM};
use imbrex_core::block::Access;

/// Decoding takes the same time at every level, and higher ones save little.
const ZSTD_LEVEL: i32 = 3;

/// What a file is made for.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To be short: it is written once and read often.
    Archive,
    /// To be written beside a server, whose processors it takes from clients. It is a sixth longer than an archive, and
    /// takes less than half of the instructions.
    Recording,
}

impl Purpose {
    /// Rows of a row group. Those of a recording have a quarter, so that its memory is soon used again.
    fn group_rows(self) -> usize {
        match self {
            Self::Archive => GROUP_ROWS,
            Self::Recording => RECORDING_GROUP_ROWS,
        }
    }
}

/// Writes row groups.
pub(super) struct ParquetWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    origin: Origin,
    group_rows: usize,
    /// The row group to come.
    pending: Vec<TraceRequest>,
    checksum: Checksum,
    requests: u64,
}

impl<W: Write + Send> ParquetWriter<W> {
    pub(super) fn begin(purpose: Purpose, origin: Origin, sink: W) -> Result<Self, WriteError> {
        let begun = schema(origin.trims)
            .and_then(|schema| SerializedFileWriter::new(sink, Arc::new(schema), Arc::new(properties(purpose)?)));
        Ok(Self {
            file: begun.map_err(failed)?,
            origin,
            group_rows: purpose.group_rows(),
            pending: Vec::new(),
            checksum: Checksum::default(),
            requests: 0,
        })
    }

    fn write_group(&mut self) -> Result<(), WriteError> {
        if !self.origin.trims {
            refuse_trims(WriteFormat::Parquet, self.requests, &self.pending)?;
        }
        self.check_range()?;
        self.checksum.add(&self.pending);
        let (requests, trims) = (&self.pending, self.origin.trims);
        let written = (|| {
            let mut group = self.file.next_row_group()?;
            let integers: [fn(&TraceRequest) -> u64; 3] =
                [|request| request.arrival_ns, |request| request.offset_bytes, |request| request.bytes.into()];
            for value in integers {
                let values: Vec<i64> = requests.iter().map(|request| value(request).cast_signed()).collect();
                write_column::<Int64Type, W>(&mut group, &values)?;
            }
            let flags = if trims { &[Access::Write, Access::Trim][..] } else { &[Access::Write] };
            for flag in flags {
                let values: Vec<bool> = requests.iter().map(|request| request.access == *flag).collect();
                write_column::<BoolType, W>(&mut group, &values)?;
            }
            group.close()
        })();
        written.map_err(failed)?;
        self.requests += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }

    /// Everything must be a signed number of 64 bits.
    fn check_range(&self) -> Result<(), WriteError> {
        for (i, request) in (self.requests..).zip(&self.pending) {
            for (field, value) in [(COLUMNS[0], request.arrival_ns), (COLUMNS[1], request.offset_bytes)] {
                if i64::try_from(value).is_err() {
                    return Err(WriteError::TooLarge { field, value, request: i, format: WriteFormat::Parquet });
                }
            }
        }
        Ok(())
    }
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Requests that are not in a row group yet.
    pub(super) fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Says something more of a recording.
    pub(super) fn note(&mut self, key: &str, value: String) {
        self.origin.notes.push((key.to_owned(), value));
    }
}

impl<W: Write + Send> TraceWriter for ParquetWriter<W> {
    fn write(&mut self, mut requests: &[TraceRequest]) -> Result<(), WriteError> {
        while !requests.is_empty() {
            let (now, later) = requests.split_at(requests.len().min(self.group_rows - self.pending.len()));
            self.pending.extend_from_slice(now);
            requests = later;
            if self.pending.len() == self.group_rows {
                self.write_group()?;
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Written, WriteError> {
        if !self.pending.is_empty() {
            self.write_group()?;
        }
        for pair in metadata(&self.origin, &self.checksum) {
            self.file.append_key_value_metadata(pair);
        }
        self.file.finish().map_err(failed)?;
        Ok(Written { requests: self.requests, rounded: 0 })
    }
}

fn write_column<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General("the schema has too few columns".to_owned()));
    };
    column.typed::<T>().write_batch(values, None, None)?;
    column.close()
}

fn schema(trims: bool) -> Result<Type, ParquetError> {
    let column = |(name, stored)| {
        let column = Type::primitive_type_builder(name, stored).with_repetition(Repetition::REQUIRED).build()?;
        Ok::<_, ParquetError>(Arc::new(column))
    };
    let types = [Stored::INT64, Stored::INT64, Stored::INT64, Stored::BOOLEAN];
    let trim = trims.then_some((TRIM, Stored::BOOLEAN));
    let columns = COLUMNS.into_iter().zip(types).chain(trim).map(column).collect::<Result<Vec<_>, _>>()?;
    Type::group_type_builder(SCHEMA_NAME).with_fields(columns).build()
}

fn properties(purpose: Purpose) -> Result<WriterProperties, ParquetError> {
    let [arrival, offset, bytes, _] = COLUMNS.map(ColumnPath::from);
    let (compression, offsets, statistics) = match purpose {
        // Least and greatest of each row group; no reader uses those of a page.
        Purpose::Archive => {
            (Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?), Encoding::PLAIN, EnabledStatistics::Chunk)
        }
        // zstd would be most of the work. Differences are short without it, and Snappy finds what repeats in them.
        Purpose::Recording => (Compression::SNAPPY, Encoding::DELTA_BINARY_PACKED, EnabledStatistics::None),
    };
    let properties = WriterProperties::builder()
        .set_created_by(format!("{CREATOR}{}", env!("CARGO_PKG_VERSION")))
        .set_compression(compression)
        .set_dictionary_enabled(false)
        .set_statistics_enabled(statistics)
        .set_offset_index_disabled(true)
        .set_column_encoding(arrival, Encoding::DELTA_BINARY_PACKED)
        .set_column_encoding(offset, offsets)
        // A trace knows few sizes.
        .set_column_dictionary_enabled(bytes, true);
    Ok(properties.build())
}

/// What the disk said is found again beneath what the encoder makes of it.
fn failed(error: ParquetError) -> WriteError {
    match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(cause) => WriteError::Io(*cause),
            Err(cause) => WriteError::Io(io::Error::other(cause)),
        },
        other => WriteError::Io(io::Error::other(other)),
    }
}
