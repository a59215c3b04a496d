//! The fields of a line: numbers, decimal times, words. Times are whole numbers of nanoseconds from the first digit on;
//! no binary fraction ever rounds them.

use super::{Fault, Problem, too_large};
use imbrex_core::block::Access;

/// Bytes of a field that an error shows.
const SHOWN_BYTES: usize = 40;

/// Fields with commas between them.
pub(super) struct Commas<'a> {
    line: &'a [u8],
    rest: Option<&'a [u8]>,
    expected: &'static str,
}

impl<'a> Commas<'a> {
    /// The fields of `line`, of which there must be as many as `expected` says.
    #[inline]
    pub(super) fn of(line: &'a [u8], expected: &'static str) -> Self {
        Self { line, rest: Some(line), expected }
    }

    /// The next field.
    #[inline]
    pub(super) fn next(&mut self) -> Result<&'a [u8], Fault> {
        let Some(rest) = self.rest else { return Err(self.wrong()) };
        match rest.iter().position(|&byte| byte == b',') {
            Some(comma) => {
                self.rest = Some(&rest[comma + 1..]);
                Ok(&rest[..comma])
            }
            None => {
                self.rest = None;
                Ok(rest)
            }
        }
    }

    /// Two fields and the comma between them.
    #[inline]
    pub(super) fn pair(&mut self) -> Result<&'a [u8], Fault> {
        let from = self.rest.unwrap_or_default();
        let first = self.next()?.len();
        let second = self.next()?.len();
        Ok(&from[..first + 1 + second])
    }

    /// There must be no further field.
    #[inline]
    pub(super) fn end(self) -> Result<(), Fault> {
        if self.rest.is_none() { Ok(()) } else { Err(self.wrong()) }
    }

    #[cold]
    fn wrong(&self) -> Fault {
        let found = self.line.split(|&byte| byte == b',').count();
        Problem::Fields { expected: self.expected, found }.into()
    }
}

/// Fields with blanks between them, and any number of blanks around them.
pub(super) struct Blanks<'a> {
    line: &'a [u8],
    rest: &'a [u8],
    expected: &'static str,
}

impl<'a> Blanks<'a> {
    /// The fields of `line`, of which there must be as many as `expected` says.
    #[inline]
    pub(super) fn of(line: &'a [u8], expected: &'static str) -> Self {
        Self { line, rest: line, expected }
    }

    /// The next field, if there is one.
    #[inline]
    pub(super) fn find(&mut self) -> Option<&'a [u8]> {
        let start = self.rest.iter().position(|&byte| !is_blank(byte))?;
        let field = &self.rest[start..];
        let end = field.iter().position(|&byte| is_blank(byte)).unwrap_or(field.len());
        self.rest = &field[end..];
        Some(&field[..end])
    }

    /// The next field.
    #[inline]
    pub(super) fn next(&mut self) -> Result<&'a [u8], Fault> {
        self.find().ok_or_else(|| self.wrong())
    }

    /// There must be no further field.
    #[inline]
    pub(super) fn end(mut self) -> Result<(), Fault> {
        if self.find().is_none() { Ok(()) } else { Err(self.wrong()) }
    }

    #[cold]
    pub(super) fn wrong(&self) -> Fault {
        let found = self.line.split(|&byte| is_blank(byte)).filter(|field| !field.is_empty()).count();
        Problem::Fields { expected: self.expected, found }.into()
    }
}

#[inline]
fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// A whole number.
#[inline]
pub(super) fn number(name: &'static str, digits: &[u8]) -> Result<u64, Fault> {
    let mut value = 0u64;
    let mut wrong = digits.is_empty();
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        wrong |= digit > 9;
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
    }
    // Nineteen digits always fit.
    if wrong || digits.len() > 19 { long_number(name, digits) } else { Ok(value) }
}

#[cold]
fn long_number(name: &'static str, digits: &[u8]) -> Result<u64, Fault> {
    if !is_number(digits) {
        return Err(not_a(name, digits, "a whole number from 0"));
    }
    text(digits).parse().map_err(|_| too_large(name, text(digits)))
}

/// A number with or without a fraction, in units of ten to the power of minus `places`. What stands after that many
/// places is cut off.
#[inline]
pub(super) fn decimal(name: &'static str, field: &[u8], places: usize) -> Result<u64, Fault> {
    let wrong = || not_a(name, field, "a decimal number from 0");
    let point = field.iter().position(|&byte| byte == b'.').unwrap_or(field.len());
    let whole = &field[..point];
    let fraction = field.get(point + 1..).unwrap_or_default();
    if whole.is_empty() || point + 1 == field.len() {
        return Err(wrong());
    }
    let (kept, cut) = fraction.split_at(fraction.len().min(places));
    let scale = 10u64.pow((places - kept.len()) as u32);
    let mut parts = 0;
    for byte in kept {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Err(wrong());
        }
        parts = parts * 10 + u64::from(digit);
    }
    if !cut.iter().all(u8::is_ascii_digit) || !is_number(whole) {
        return Err(wrong());
    }
    let whole = number(name, whole)?.checked_mul(10u64.pow(places as u32));
    whole.and_then(|whole| whole.checked_add(parts * scale)).ok_or_else(|| too_large(name, text(field)))
}

/// Whether `field` is a whole number.
#[inline]
pub(super) fn is_number(field: &[u8]) -> bool {
    !field.is_empty() && field.iter().all(u8::is_ascii_digit)
}

/// Whether `field` is a number with or, if it need not have one, without a fraction.
pub(super) fn is_decimal(field: &[u8], needs_point: bool) -> bool {
    let mut parts = field.splitn(2, |&byte| byte == b'.');
    let whole = parts.next().is_some_and(is_number);
    whole && parts.next().map_or(!needs_point, is_number)
}

/// Whether `field` is one of the letters for a read or a write, in either case.
pub(super) fn is_letter(field: &[u8]) -> bool {
    matches!(field, b"R" | b"W" | b"r" | b"w")
}

/// A read or a write by its letter, in either case.
#[inline]
pub(super) fn access_letter(name: &'static str, field: &[u8]) -> Result<Access, Fault> {
    match field {
        b"R" | b"r" => Ok(Access::Read),
        b"W" | b"w" => Ok(Access::Write),
        _ => Err(wrong_word(name, field, "neither R nor W")),
    }
}

/// The byte address of a 512-byte sector, or the bytes of a number of sectors.
#[inline]
pub(super) fn sectors(name: &'static str, field: &[u8]) -> Result<u64, Fault> {
    const SECTOR_BYTES: u64 = 512;
    let sectors = number(name, field)?;
    sectors.checked_mul(SECTOR_BYTES).ok_or_else(|| too_large(name, sectors))
}

#[cold]
fn not_a(field: &'static str, found: &[u8], must: &'static str) -> Fault {
    Problem::Number { field, text: text(found), must }.into()
}

#[cold]
pub(super) fn wrong_word(field: &'static str, found: &[u8], must: &'static str) -> Fault {
    Problem::Word { field, text: text(found), must }.into()
}

/// Bytes as they are shown in an error: the beginning of them.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_BYTES)]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message<T>(result: Result<T, Fault>) -> String {
        match result {
            Err(Fault::Problem(problem)) => problem.to_string(),
            _ => panic!("no problem was found"),
        }
    }

    #[test]
    fn times_keep_every_digit() {
        for (field, places, expected) in [
            ("0", 9, 0),
            ("1456095145.133076000", 9, 1_456_095_145_133_076_000),
            ("0.000000001", 9, 1),
            ("0.1", 9, 100_000_000),
            ("0.9999999999999999999999999", 9, 999_999_999),
            ("26.214000", 6, 26_214_000),
            ("18446744073.709551615", 9, u64::MAX),
        ] {
            assert!(decimal("time", field.as_bytes(), places).is_ok_and(|ns| ns == expected), "{field}");
        }
        for field in ["", ".", "1.", ".5", "-1", "1e-3", "1.5.2", "0x1", "1.0000000000x", "1,5"] {
            let expected = format!("time is {field:?}, not a decimal number from 0; correct or delete the line");
            assert_eq!(message(decimal("time", field.as_bytes(), 9)), expected);
        }
        for field in ["18446744073.709551616", "99999999999999999999.0"] {
            assert!(message(decimal("time", field.as_bytes(), 9)).contains("too large"), "{field}");
        }
    }

    #[test]
    fn fields_between_blanks() {
        let mut fields = Blanks::of(b"  a\t bc ", "2 blank-separated");
        assert_eq!([fields.find(), fields.find(), fields.find()], [Some(&b"a"[..]), Some(b"bc"), None]);
        assert_eq!(message(fields.next()), "expected 2 blank-separated fields, found 2; restore or delete the line");
    }

    #[test]
    fn fields_between_commas() {
        let mut fields = Commas::of(b"a,,bc", "4 comma-separated");
        assert!(fields.pair().is_ok_and(|pair| pair == b"a,"));
        assert!(fields.next().is_ok_and(|field| field == b"bc"));
        assert_eq!(message(fields.next()), "expected 4 comma-separated fields, found 3; restore or delete the line");
        assert!(message(Commas::of(b"a,b", "1 comma-separated").end()).starts_with("expected 1"));
    }
}
