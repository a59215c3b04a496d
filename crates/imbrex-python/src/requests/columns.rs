//! The columns of a table of requests: which they are, and their values read where they lie.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use imbrex::block::Access;
use imbrex::trace::Problem;

use super::accesses::Accesses;
use super::names::{NAMES, Wrong};

/// A column of numbers, and what each of them is worth.
#[derive(Clone)]
pub struct Numbers {
    pub name: &'static str,
    array: ArrayRef,
    /// Nanoseconds or bytes of a one.
    scale: u64,
}

/// The type that is wanted instead, for a message.
type Unfit = String;

impl Numbers {
    /// When requests arrive.
    pub fn arrivals(name: &'static str, array: ArrayRef) -> Result<Self, Unfit> {
        let in_seconds = name == NAMES[0][1];
        let scale = match array.data_type() {
            DataType::Timestamp(unit, _) | DataType::Duration(unit) if !in_seconds => nanoseconds(*unit),
            DataType::Float32 | DataType::Float64 if in_seconds => 1_000_000_000,
            kind if kind.is_integer() => {
                if in_seconds {
                    1_000_000_000
                } else {
                    1
                }
            }
            kind if in_seconds => return Err(format!("is of type {kind}; cast it to numbers")),
            kind => return Err(format!("is of type {kind}; cast it to integers, timestamps or durations")),
        };
        Ok(Self { name, array, scale })
    }

    /// Where requests lie or how long they are, in units of `scale` bytes.
    pub fn lengths(name: &'static str, array: ArrayRef, scale: u64) -> Result<Self, Unfit> {
        match array.data_type() {
            kind if kind.is_integer() => Ok(Self { name, array, scale }),
            kind => Err(format!("is of type {kind}; cast it to integers")),
        }
    }

    pub fn array(&self) -> &ArrayRef {
        &self.array
    }

    /// Replaces `values` by those of these rows.
    pub fn read(&self, rows: std::ops::Range<usize>, values: &mut Vec<u64>) -> Result<(), Wrong> {
        values.clear();
        let first = rows.start;
        let read = match self.array.data_type() {
            DataType::Int8 => self.signed::<Int8Type>(rows, values),
            DataType::Int16 => self.signed::<Int16Type>(rows, values),
            DataType::Int32 => self.signed::<Int32Type>(rows, values),
            DataType::Int64 => self.signed::<Int64Type>(rows, values),
            DataType::UInt8 => self.unsigned::<UInt8Type>(rows, values),
            DataType::UInt16 => self.unsigned::<UInt16Type>(rows, values),
            DataType::UInt32 => self.unsigned::<UInt32Type>(rows, values),
            DataType::UInt64 => self.unsigned::<UInt64Type>(rows, values),
            DataType::Float32 => self.fractions::<Float32Type>(rows, values),
            DataType::Float64 => self.fractions::<Float64Type>(rows, values),
            DataType::Timestamp(TimeUnit::Second, _) => self.signed::<TimestampSecondType>(rows, values),
            DataType::Timestamp(TimeUnit::Millisecond, _) => self.signed::<TimestampMillisecondType>(rows, values),
            DataType::Timestamp(TimeUnit::Microsecond, _) => self.signed::<TimestampMicrosecondType>(rows, values),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => self.signed::<TimestampNanosecondType>(rows, values),
            DataType::Duration(TimeUnit::Second) => self.signed::<DurationSecondType>(rows, values),
            DataType::Duration(TimeUnit::Millisecond) => self.signed::<DurationMillisecondType>(rows, values),
            DataType::Duration(TimeUnit::Microsecond) => self.signed::<DurationMicrosecondType>(rows, values),
            DataType::Duration(TimeUnit::Nanosecond) => self.signed::<DurationNanosecondType>(rows, values),
            other => unreachable!("a column of type {other} was refused"),
        };
        read.map_err(|(at, problem)| Wrong { row: first + at, problem })
    }

    fn slice<T: ArrowPrimitiveType>(&self, rows: std::ops::Range<usize>) -> &[T::Native] {
        &self.array.as_primitive::<T>().values()[rows]
    }

    fn signed<T: ArrowPrimitiveType>(&self, rows: std::ops::Range<usize>, values: &mut Vec<u64>) -> Read
    where
        T::Native: Into<i64>,
    {
        let slice = self.slice::<T>(rows);
        let mut seen = 0;
        values.extend(slice.iter().map(|value| {
            let value: i64 = (*value).into();
            seen |= value;
            value as u64
        }));
        if seen < 0 {
            let at = slice.iter().position(|value| (*value).into() < 0).unwrap_or(0);
            return Err((at, Problem::Negative { column: self.name, value: slice[at].into() }));
        }
        self.scaled(values)
    }

    fn unsigned<T: ArrowPrimitiveType>(&self, rows: std::ops::Range<usize>, values: &mut Vec<u64>) -> Read
    where
        T::Native: Into<u64>,
    {
        values.extend(self.slice::<T>(rows).iter().map(|value| Into::<u64>::into(*value)));
        self.scaled(values)
    }

    fn fractions<T: ArrowPrimitiveType>(&self, rows: std::ops::Range<usize>, values: &mut Vec<u64>) -> Read
    where
        T::Native: Into<f64>,
    {
        for (at, value) in self.slice::<T>(rows).iter().enumerate() {
            let value: f64 = (*value).into();
            let scaled = (value * self.scale as f64).round();
            // What is no number is not in the range either.
            if !(0.0..u64::MAX as f64).contains(&scaled) {
                let must = "not a number of seconds from 0 on";
                return Err((at, Problem::Word { field: self.name, text: value.to_string(), must }));
            }
            values.push(scaled as u64);
        }
        Ok(())
    }

    fn scaled(&self, values: &mut [u64]) -> Read {
        if self.scale == 1 {
            return Ok(());
        }
        for (at, value) in values.iter_mut().enumerate() {
            let too_large = |value: u64| (at, Problem::TooLarge { field: self.name, value: value.to_string() });
            *value = value.checked_mul(self.scale).ok_or_else(|| too_large(*value))?;
        }
        Ok(())
    }
}

/// Done, or which value is wrong and why.
type Read = Result<(), (usize, Problem)>;

fn nanoseconds(unit: TimeUnit) -> u64 {
    match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1000,
        TimeUnit::Nanosecond => 1,
    }
}

/// Some rows of a table: the columns that say what the requests are.
#[derive(Clone)]
pub struct Batch {
    pub arrivals: Numbers,
    pub offsets: Numbers,
    pub sizes: Numbers,
    pub accesses: Accesses,
    pub rows: usize,
}

impl Batch {
    /// The columns that are read, by name.
    pub fn arrays(&self) -> [(&'static str, &ArrayRef); 4] {
        let numbers = [&self.arrivals, &self.offsets, &self.sizes];
        let [arrivals, offsets, sizes] = numbers.map(|numbers| (numbers.name, numbers.array()));
        [arrivals, offsets, sizes, (self.accesses.name, self.accesses.array())]
    }

    /// The first row without a value, and in which column.
    pub fn null(&self) -> Option<(usize, &'static str)> {
        self.arrays().into_iter().find_map(|(name, array)| {
            let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0)?;
            Some(((0..array.len()).find(|row| nulls.is_null(*row))?, name))
        })
    }
}

/// Rows decoded together, column by column.
#[derive(Default)]
pub struct Rows {
    pub arrivals: Vec<u64>,
    pub offsets: Vec<u64>,
    pub sizes: Vec<u64>,
    pub accesses: Vec<Access>,
}

impl Rows {
    /// Replaces all by these rows of a batch.
    pub fn read(&mut self, batch: &Batch, rows: std::ops::Range<usize>) -> Result<(), Wrong> {
        batch.arrivals.read(rows.clone(), &mut self.arrivals)?;
        batch.offsets.read(rows.clone(), &mut self.offsets)?;
        batch.sizes.read(rows.clone(), &mut self.sizes)?;
        batch.accesses.read(rows, &mut self.accesses)
    }
}
