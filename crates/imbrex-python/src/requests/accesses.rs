//! What requests ask for: flags, words, or categories that are words.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, DictionaryArray};
use arrow_schema::DataType;
use imbrex::block::Access;
use imbrex::trace::Problem;

use super::names::{NAMES, Wrong};

const MUST: &str = "not read, write or trim";

/// The column that says what is asked for.
#[derive(Clone)]
pub struct Accesses {
    pub name: &'static str,
    array: ArrayRef,
    /// Of a dictionary, what each entry says; nothing for an entry that says something else.
    entries: Vec<Option<Access>>,
}

impl Accesses {
    /// The column of this name.
    pub fn new(name: &'static str, array: ArrayRef) -> Result<Self, String> {
        let is_flag = name == NAMES[3][0];
        let entries = match array.data_type() {
            DataType::Boolean | DataType::UInt8 if is_flag => Vec::new(),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View if !is_flag => Vec::new(),
            DataType::Dictionary(_, values) if !is_flag && is_text(values) => {
                let values = array.as_any_dictionary().values();
                (0..values.len()).map(|entry| said(text(values, entry))).collect()
            }
            kind if is_flag => return Err(format!("is of type {kind}; cast it to booleans")),
            kind => return Err(format!("is of type {kind}; cast it to strings: read, write or trim")),
        };
        Ok(Self { name, array, entries })
    }

    pub fn array(&self) -> &ArrayRef {
        &self.array
    }

    /// Replaces `values` by those of these rows.
    pub fn read(&self, rows: Range<usize>, values: &mut Vec<Access>) -> Result<(), Wrong> {
        values.clear();
        let of_flag = |is_write| if is_write { Access::Write } else { Access::Read };
        match self.array.data_type() {
            DataType::Boolean => {
                let flags = self.array.as_boolean().values();
                values.extend(rows.map(|row| of_flag(flags.value(row))));
                Ok(())
            }
            DataType::UInt8 => {
                let flags = &self.array.as_primitive::<UInt8Type>().values()[rows];
                values.extend(flags.iter().map(|flag| of_flag(*flag != 0)));
                Ok(())
            }
            DataType::Dictionary(key, _) => self.read_entries(key, rows, values),
            _ => {
                for row in rows {
                    let text = text(&self.array, row);
                    values.push(said(text).ok_or_else(|| self.wrong(row, text))?);
                }
                Ok(())
            }
        }
    }

    fn read_entries(&self, key: &DataType, rows: Range<usize>, values: &mut Vec<Access>) -> Result<(), Wrong> {
        match key {
            DataType::Int8 => self.of_keys::<Int8Type>(rows, values),
            DataType::Int16 => self.of_keys::<Int16Type>(rows, values),
            DataType::Int32 => self.of_keys::<Int32Type>(rows, values),
            DataType::Int64 => self.of_keys::<Int64Type>(rows, values),
            DataType::UInt8 => self.of_keys::<UInt8Type>(rows, values),
            DataType::UInt16 => self.of_keys::<UInt16Type>(rows, values),
            DataType::UInt32 => self.of_keys::<UInt32Type>(rows, values),
            _ => self.of_keys::<UInt64Type>(rows, values),
        }
    }

    fn of_keys<K: ArrowDictionaryKeyType>(&self, rows: Range<usize>, values: &mut Vec<Access>) -> Result<(), Wrong> {
        let dictionary: &DictionaryArray<K> = self.array.as_dictionary();
        for row in rows {
            // No row is null.
            let entry = dictionary.key(row).unwrap_or_default();
            let access = self.entries[entry].ok_or_else(|| self.wrong(row, text(dictionary.values(), entry)))?;
            values.push(access);
        }
        Ok(())
    }

    fn wrong(&self, row: usize, text: &str) -> Wrong {
        Wrong { row, problem: Problem::Word { field: self.name, text: text.to_owned(), must: MUST } }
    }
}

fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// A string of an array of any kind of them.
fn text(array: &ArrayRef, row: usize) -> &str {
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row),
        _ => array.as_string_view().value(row),
    }
}

/// What a word asks for, if it asks for anything.
fn said(word: &str) -> Option<Access> {
    let is = |words: [&str; 2]| words.iter().any(|known| word.eq_ignore_ascii_case(known));
    if is(["read", "r"]) {
        Some(Access::Read)
    } else if is(["write", "w"]) {
        Some(Access::Write)
    } else if is(["trim", "discard"]) {
        Some(Access::Trim)
    } else {
        None
    }
}
