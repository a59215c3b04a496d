//! The four columns of a trace in a file of any schema, the fifth that some have, and their values.
//!
//! Integers may be of any width and sign, as INT32 or INT64; arrivals may also be timestamps in nanoseconds. A column
//! may be nullable as long as nothing in it is null. What stands in other columns does not matter.

use std::sync::Arc;

use ::parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type};
use ::parquet::column::reader::ColumnReaderImpl;
use ::parquet::data_type::{BoolType, DataType, Int32Type, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use ::parquet::file::reader::ChunkReader;
use ::parquet::schema::types::{ColumnDescPtr, ColumnDescriptor, SchemaDescriptor};

use super::pages::{CheckedPages, PageFile};
use super::{COLUMNS, TRIM};
use crate::Problem;

/// Where a schema has the columns of a trace.
pub(super) struct Columns {
    places: [usize; 4],
    /// Where it is said what trims, in a file that says it.
    trim: Option<usize>,
}

/// Which column, and what is wrong with it.
pub(super) struct Unfit {
    pub(super) column: &'static str,
    pub(super) problem: String,
}

impl Columns {
    pub(super) fn find(schema: &SchemaDescriptor) -> Result<Self, Unfit> {
        let mut places = [0; 4];
        for (place, column) in places.iter_mut().zip(COLUMNS) {
            *place = find(schema, column)?;
        }
        let says_trims = schema.columns().iter().any(|column| column.path().parts() == [TRIM]);
        let trim = says_trims.then(|| find(schema, TRIM)).transpose()?;
        Ok(Self { places, trim })
    }

    /// Begins to read a row group.
    pub(super) fn open<R: ChunkReader + 'static>(
        &self,
        file: &Arc<PageFile<R>>,
        group: &RowGroupMetaData,
    ) -> Result<Group, Fault> {
        let rows = usize::try_from(group.num_rows()).map_err(|_| in_column(0, "it has less than no rows"))?;
        let integers = |i: usize| {
            let chunk = group.column(self.places[i]);
            Integers::open(file, chunk, rows).map_err(|cause| in_column(i, cause))
        };
        let (arrivals, offsets, sizes) = (integers(0)?, integers(1)?, integers(2)?);
        let writes = Values::open(file, group.column(self.places[3]), rows).map_err(|cause| in_column(3, cause))?;
        let trim = self.trim.map(|place| Values::open(file, group.column(place), rows)).transpose();
        let trims = trim.map_err(|cause| undecodable(TRIM, cause))?;
        Ok(Group { arrivals, offsets, sizes, writes, trims, rows_left: rows })
    }
}

/// The place of the column of that name, which fits.
fn find(schema: &SchemaDescriptor, name: &'static str) -> Result<usize, Unfit> {
    let unfit = |problem: String| Unfit { column: name, problem };
    let all = || schema.columns().iter().enumerate();
    let mut found = all().filter(|(_, column)| column.path().parts() == [name]);
    match (found.next(), found.next()) {
        (Some((place, column)), None) if fits(column) => Ok(place),
        (Some((_, column)), None) => Err(unfit(of_wrong_type(column))),
        (Some(_), Some(_)) => Err(unfit("is there more than once; drop or rename the others".to_owned())),
        (None, _) => {
            let names = all().map(|(_, column)| column.path().string()).take(20).collect::<Vec<_>>().join(", ");
            Err(unfit(format!("is missing; rename the one that holds it, among {names}")))
        }
    }
}

/// What the values of a column are, beyond how they are stored.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Meaning {
    Plain,
    Unsigned,
    Nanoseconds,
    Other,
}

impl Meaning {
    fn of(column: &ColumnDescriptor) -> Self {
        use ConvertedType as C;
        // A logical type of integers has its converted type, and older writers know only that one.
        match (column.converted_type(), column.logical_type_ref()) {
            (C::INT_8 | C::INT_16 | C::INT_32 | C::INT_64, _) | (C::NONE, None) => Self::Plain,
            (C::UINT_8 | C::UINT_16 | C::UINT_32 | C::UINT_64, _) => Self::Unsigned,
            (_, Some(LogicalType::Timestamp(time))) if time.unit == TimeUnit::NANOS => Self::Nanoseconds,
            _ => Self::Other,
        }
    }
}

/// Whether a column is of a type that its name asks for.
fn fits(column: &ColumnDescriptor) -> bool {
    let is_arrival = column.name() == COLUMNS[0];
    let is_flag = is_flag(column.name());
    let fits = match (column.physical_type(), Meaning::of(column)) {
        (Type::BOOLEAN, Meaning::Plain) => is_flag,
        (Type::INT32 | Type::INT64, Meaning::Plain | Meaning::Unsigned) => !is_flag,
        (Type::INT64, Meaning::Nanoseconds) => is_arrival,
        _ => false,
    };
    fits && column.max_rep_level() == 0 && column.max_def_level() <= 1
}

fn is_flag(name: &str) -> bool {
    name == COLUMNS[3] || name == TRIM
}

/// What is wrong with a column that does not fit.
fn of_wrong_type(column: &ColumnDescriptor) -> String {
    let found = match column.logical_type_ref() {
        Some(logical) => format!("{} ({logical:?})", column.physical_type()),
        None => column.physical_type().to_string(),
    };
    let wanted = match column.name() {
        name if is_flag(name) => "BOOLEAN",
        name if name == COLUMNS[0] => "INT64 or INT32, or to timestamps in nanoseconds",
        _ => "INT64 or INT32",
    };
    format!("is of type {found}; cast it to {wanted}")
}

/// Why the next rows cannot be had.
pub(super) enum Fault {
    /// The file does not decode.
    Decoding { column: &'static str, cause: String },
    /// A value is wrong. Its row is counted from the first of the rows asked for.
    Value { row: usize, problem: Problem },
}

fn in_column(column: usize, cause: impl ToString) -> Fault {
    undecodable(COLUMNS[column], cause)
}

fn undecodable(column: &'static str, cause: impl ToString) -> Fault {
    Fault::Decoding { column, cause: cause.to_string() }
}

/// Rows decoded together, column by column.
#[derive(Default)]
pub(super) struct Rows {
    pub(super) arrivals: Vec<u64>,
    pub(super) offsets: Vec<u64>,
    pub(super) sizes: Vec<u64>,
    pub(super) writes: Vec<bool>,
    /// Empty where nothing trims.
    pub(super) trims: Vec<bool>,
}

impl Rows {
    pub(super) fn clear(&mut self) {
        self.arrivals.clear();
        self.offsets.clear();
        self.sizes.clear();
        self.writes.clear();
        self.trims.clear();
    }
}

/// A row group that is being read.
pub(super) struct Group {
    arrivals: Integers,
    offsets: Integers,
    sizes: Integers,
    writes: Values<BoolType>,
    trims: Option<Values<BoolType>>,
    rows_left: usize,
}

impl Group {
    pub(super) fn rows_left(&self) -> usize {
        self.rows_left
    }

    /// Replaces the content of `rows` by the next `count` rows, which are there.
    pub(super) fn decode(&mut self, count: usize, rows: &mut Rows) -> Result<(), Fault> {
        self.rows_left -= count;
        let columns = [&mut self.arrivals, &mut self.offsets, &mut self.sizes];
        let values = [&mut rows.arrivals, &mut rows.offsets, &mut rows.sizes];
        for (i, (column, values)) in columns.into_iter().zip(values).enumerate() {
            column.decode(count, values).map_err(|wrong| wrong.in_column(COLUMNS[i]))?;
        }
        self.writes.decode(count).map_err(|wrong| wrong.in_column(COLUMNS[3]))?;
        rows.writes.clone_from(&self.writes.values);
        if let Some(trims) = &mut self.trims {
            trims.decode(count).map_err(|wrong| wrong.in_column(TRIM))?;
            rows.trims.clone_from(&trims.values);
        }
        Ok(())
    }
}

/// What is wrong in a column that does not know its name.
enum Wrong {
    Decoding(ParquetError),
    Short,
    Null { row: usize },
    Negative { row: usize, value: i64 },
}

impl Wrong {
    #[cold]
    fn in_column(self, column: &'static str) -> Fault {
        match self {
            Self::Decoding(cause) => undecodable(column, cause),
            Self::Short => undecodable(column, "there are fewer values than rows"),
            Self::Null { row } => Fault::Value { row, problem: Problem::Null { column } },
            Self::Negative { row, value } => Fault::Value { row, problem: Problem::Negative { column, value } },
        }
    }
}

/// The values of a column of any type.
struct Values<T: DataType> {
    reader: ColumnReaderImpl<T>,
    nullable: bool,
    /// 1 for a value, 0 for a null.
    levels: Vec<i16>,
    values: Vec<T::T>,
}

impl<T: DataType> Values<T> {
    fn open<R: ChunkReader + 'static>(
        file: &Arc<PageFile<R>>,
        chunk: &ColumnChunkMetaData,
        rows: usize,
    ) -> Result<Self, ParquetError> {
        let column: ColumnDescPtr = chunk.column_descr_ptr();
        let nullable = column.max_def_level() > 0;
        let pages = CheckedPages::new(Arc::clone(file), chunk, rows)?;
        let reader = ColumnReaderImpl::new(column, Box::new(pages));
        Ok(Self { reader, nullable, levels: Vec::new(), values: Vec::new() })
    }

    /// Makes `values` the next `count`.
    fn decode(&mut self, count: usize) -> Result<(), Wrong> {
        self.values.clear();
        self.levels.clear();
        let levels = self.nullable.then_some(&mut self.levels);
        let read = self.reader.read_records(count, levels, None, &mut self.values);
        let (rows, values, _) = read.map_err(Wrong::Decoding)?;
        if let Some(row) = self.levels.iter().position(|&level| level == 0) {
            return Err(Wrong::Null { row });
        }
        if rows < count || values < count { Err(Wrong::Short) } else { Ok(()) }
    }
}

/// A column of integers.
struct Integers {
    values: Stored,
    unsigned: bool,
}

enum Stored {
    Int32(Values<Int32Type>),
    Int64(Values<Int64Type>),
}

impl Integers {
    fn open<R: ChunkReader + 'static>(
        file: &Arc<PageFile<R>>,
        chunk: &ColumnChunkMetaData,
        rows: usize,
    ) -> Result<Self, ParquetError> {
        let unsigned = Meaning::of(chunk.column_descr()) == Meaning::Unsigned;
        let values = match chunk.column_type() {
            Type::INT32 => Stored::Int32(Values::open(file, chunk, rows)?),
            _ => Stored::Int64(Values::open(file, chunk, rows)?),
        };
        Ok(Self { values, unsigned })
    }

    fn decode(&mut self, count: usize, into: &mut Vec<u64>) -> Result<(), Wrong> {
        into.clear();
        match &mut self.values {
            Stored::Int32(column) => {
                column.decode(count)?;
                if self.unsigned {
                    into.extend(column.values.iter().map(|&value| u64::from(value.cast_unsigned())));
                    return Ok(());
                }
                into.extend(column.values.iter().map(|&value| i64::from(value).cast_unsigned()));
            }
            Stored::Int64(column) => {
                column.decode(count)?;
                into.extend(column.values.iter().map(|&value| value.cast_unsigned()));
            }
        }
        // Folded and not searched: whole vectors at a time.
        if !self.unsigned && into.iter().fold(0, |all, value| all | value) > i64::MAX as u64 {
            return Err(negative(into));
        }
        Ok(())
    }
}

#[cold]
fn negative(values: &[u64]) -> Wrong {
    let row = values.iter().position(|value| value.cast_signed() < 0).unwrap_or_default();
    Wrong::Negative { row, value: values[row].cast_signed() }
}
