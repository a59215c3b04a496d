mod recordings;

use std::sync::Arc;

use ::parquet::basic::{Compression as Codec, Encoding};
use ::parquet::column::writer::ColumnWriter;
use ::parquet::data_type::{ByteArray, Int96};
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::parser::parse_message_type;
use proptest::prelude::*;

use super::*;
use crate::synthetic::Generator;
use crate::write::{self, WriteError, WriteFormat};
use crate::{Compression, TraceInfo, TraceRequest, Workload};
use imbrex_core::block::Access;

/// All requests of a source, which must keep the promises of every source.
fn drain(mut source: Box<dyn TraceSource>, limit: usize) -> Result<Vec<TraceRequest>, TraceError> {
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    loop {
        source.fill(&mut batch, limit)?;
        assert!(batch.len() <= limit);
        if batch.is_empty() {
            assert!(all.is_sorted_by_key(|request: &TraceRequest| request.arrival_ns));
            assert!(all.iter().all(|request| request.bytes > 0 && request.blocks(512).blocks > 0));
            return Ok(all);
        }
        all.append(&mut batch);
    }
}

fn requests(content: Vec<u8>) -> Result<Vec<TraceRequest>, TraceError> {
    drain(read("t", content)?, 100)
}

fn error(content: Vec<u8>) -> String {
    requests(content).expect_err("the file is read without an error").to_string()
}

fn written(info: &TraceInfo, requests: &[TraceRequest]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = write::begin(WriteFormat::Parquet, Compression::None, info, &mut bytes).unwrap();
    requests.chunks(1000).for_each(|chunk| writer.write(chunk).unwrap());
    assert_eq!(writer.finish().unwrap().requests, requests.len() as u64);
    bytes
}

fn generated(requests: u64) -> (TraceInfo, Vec<TraceRequest>) {
    let Ok(Workload::Synthetic(mut spec)) = Workload::named("hot-cold") else { panic!("it is built in") };
    spec.requests = requests;
    let source = Generator::new(&spec).unwrap();
    (source.info().clone(), drain(Box::new(source), 999).unwrap())
}

#[test]
fn what_was_written_is_read() {
    let (info, requests) = generated(GROUP_ROWS as u64 + 5000);
    let bytes = written(&info, &requests);
    assert!(bytes == written(&info, &requests), "the same requests give the same bytes");
    for limit in [1 << 20, 4096, 64] {
        let source = read("t", bytes.clone()).unwrap();
        assert!(source.info().is_synthetic());
        assert!(drain(source, limit).unwrap() == requests);
    }
}

#[test]
fn a_source_knows_how_far_it_is() {
    let (info, requests) = generated(10_000);
    let mut source = read("t", written(&info, &requests)).unwrap();
    let mut batch = Vec::new();
    assert_eq!(source.share_done(), Some(0.0));
    source.fill(&mut batch, 2500).unwrap();
    assert_eq!(source.share_done(), Some(0.25));
}

#[test]
fn a_trace_of_a_disk_does_not_become_synthetic() {
    let (mut info, requests) = generated(10);
    (info.synthetic, info.name) = (false, "/some/where/week.csv".to_owned());
    let bytes = written(&info, &requests);
    assert!(!read("t", bytes.clone()).unwrap().info().is_synthetic());
    let has = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(has("week.csv") && !has("where"), "the name is kept and the folder is not");
}

#[test]
fn what_does_not_fit_is_not_written() {
    let (info, mut requests) = generated(3);
    let mut refused = |change: fn(&mut TraceRequest)| {
        change(&mut requests[2]);
        let mut bytes = Vec::new();
        let mut writer = write::begin(WriteFormat::Parquet, Compression::None, &info, &mut bytes).unwrap();
        writer.write(&requests).unwrap();
        writer.finish().unwrap_err().to_string()
    };
    assert!(refused(|r| r.offset_bytes = 1 << 63).starts_with("offset_bytes 9223372036854775808 of request 2 is more"));
    assert!(refused(|r| r.access = Access::Trim).starts_with("request 2 is a trim"));
    let zstd = write::begin(WriteFormat::Parquet, Compression::Zstd, &info, Vec::new());
    assert!(matches!(zstd, Err(WriteError::Compressed { compression: Compression::Zstd })));
}

/// Damage is an error, or changes nothing.
fn is_noticed(damaged: Vec<u8>, requests_before: &[TraceRequest]) -> bool {
    let Ok(source) = read("t", damaged) else { return true };
    let synthetic = source.info().is_synthetic();
    drain(source, 64).map_or(true, |requests| requests == requests_before && synthetic)
}

#[test]
fn every_flipped_bit_and_every_cut_is_noticed() {
    let (info, requests) = generated(150);
    let bytes = written(&info, &requests);
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            assert!(is_noticed(damaged, &requests), "bit {bit} of byte {at} of {}", bytes.len());
        }
        assert!(read("t", bytes[..at].to_vec()).is_err(), "cut at {at}");
    }
}

/// A column of a file of another writer. `None` is null.
enum Values {
    Int32(Vec<i32>),
    Int64(Vec<Option<i64>>),
    Flag(Vec<bool>),
    Text(Vec<&'static str>),
    Old(Vec<[u32; 3]>),
}

fn int64(values: &[i64]) -> Values {
    Values::Int64(values.iter().copied().map(Some).collect())
}

/// A file as other programs write it.
fn foreign(schema: &str, properties: WriterPropertiesBuilder, columns: &[Values]) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(&format!("message other {{ {schema} }}")).unwrap());
    let mut bytes = Vec::new();
    let mut file = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties.build())).unwrap();
    let mut group = file.next_row_group().unwrap();
    for values in columns {
        let mut column = group.next_column().unwrap().unwrap();
        match (column.untyped(), values) {
            (ColumnWriter::Int32ColumnWriter(to), Values::Int32(values)) => to.write_batch(values, None, None),
            (ColumnWriter::Int64ColumnWriter(to), Values::Int64(values)) => {
                let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
                let values: Vec<i64> = values.iter().copied().flatten().collect();
                to.write_batch(&values, Some(&levels), None)
            }
            (ColumnWriter::BoolColumnWriter(to), Values::Flag(values)) => to.write_batch(values, None, None),
            (ColumnWriter::ByteArrayColumnWriter(to), Values::Text(values)) => {
                to.write_batch(&values.iter().map(|&text| ByteArray::from(text)).collect::<Vec<_>>(), None, None)
            }
            (ColumnWriter::Int96ColumnWriter(to), Values::Old(values)) => {
                to.write_batch(&values.iter().map(|&words| Int96::from(words.to_vec())).collect::<Vec<_>>(), None, None)
            }
            _ => panic!("a column is not of the type of its values"),
        }
        .unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    file.close().unwrap();
    bytes
}

fn plain() -> WriterPropertiesBuilder {
    WriterProperties::builder()
}

const ALL: &str =
    "optional int64 arrival_ns; optional int64 offset_bytes; optional int64 bytes; required boolean write;";

fn rows(arrivals: &[i64], offsets: &[i64], sizes: &[i64]) -> Vec<Values> {
    let writes = (0..arrivals.len()).map(|i| i % 2 == 1).collect();
    vec![int64(arrivals), int64(offsets), int64(sizes), Values::Flag(writes)]
}

fn expected() -> [TraceRequest; 3] {
    [(0, 4096, Access::Read), (7, 0, Access::Write), (7, 512, Access::Read)]
        .map(|(arrival_ns, offset_bytes, access)| TraceRequest { arrival_ns, offset_bytes, bytes: 512, access })
}

#[test]
fn files_of_other_writers_are_read() {
    let three = || rows(&[1_000, 1_007, 1_007], &[4096, 0, 512], &[512; 3]);
    for codec in [Codec::UNCOMPRESSED, Codec::SNAPPY, Codec::ZSTD(Default::default())] {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            for dictionary in [false, true] {
                let properties = plain()
                    .set_compression(codec)
                    .set_writer_version(version)
                    .set_dictionary_enabled(dictionary)
                    .set_data_page_row_count_limit(2);
                assert_eq!(requests(foreign(ALL, properties, &three())).unwrap(), expected());
            }
        }
    }
    let split = plain().set_dictionary_enabled(false).set_column_encoding("bytes".into(), Encoding::BYTE_STREAM_SPLIT);
    assert_eq!(requests(foreign(ALL, split, &three())).unwrap(), expected());
}

#[test]
fn columns_may_stand_anywhere_and_be_of_any_integer_type() {
    let schema = "required binary note (UTF8); required boolean write; required int32 bytes (UINT_16); \
                  optional int64 offset_bytes (INTEGER(64,false)); optional int64 arrival_ns (TIMESTAMP(NANOS,true)); \
                  required int96 stamp;";
    let columns = [
        Values::Text(vec!["a", "b", "c"]),
        Values::Flag(vec![false, true, false]),
        Values::Int32(vec![512; 3]),
        int64(&[4096, 0, 512]),
        int64(&[1_700_000_000_000_000_000, 1_700_000_000_000_000_007, 1_700_000_000_000_000_007]),
        Values::Old(vec![[1, 2, 3]; 3]),
    ];
    assert_eq!(requests(foreign(schema, plain(), &columns)).unwrap(), expected());
    let unsigned = ALL.replace("offset_bytes", "offset_bytes (INTEGER(64,false))");
    let far = foreign(&unsigned, plain(), &rows(&[0], &[-4096], &[512]));
    assert_eq!(requests(far).unwrap()[0].offset_bytes, u64::MAX - 4095);
}

#[test]
fn requests_of_no_bytes_are_left_out() {
    let mut source = read("t", foreign(ALL, plain(), &rows(&[5, 6, 7], &[0; 3], &[0, 512, 0]))).unwrap();
    let mut batch = Vec::new();
    source.fill(&mut batch, 9).unwrap();
    assert_eq!((batch.len(), batch[0].arrival_ns, source.irregularities().zero_size), (1, 1, 2));
    let none = "t holds no requests; name a trace that has some";
    assert_eq!(error(foreign(ALL, plain(), &rows(&[], &[], &[]))), none);
    assert_eq!(error(foreign(ALL, plain(), &rows(&[1], &[1], &[0]))), none);
}

#[test]
fn a_wrong_column_is_named() {
    let values = || rows(&[0], &[0], &[512]);
    let wrong = |from: &str, to: &str, columns: Vec<Values>| {
        assert!(ALL.contains(from));
        error(foreign(&ALL.replacen(from, to, 1), plain(), &columns))
    };
    assert_eq!(
        wrong("offset_bytes", "offset", values()),
        "t: column offset_bytes is missing; rename the one that holds it, among arrival_ns, offset, bytes, write"
    );
    let message = wrong("int64 bytes", "int64 bytes (TIMESTAMP(NANOS,true))", values());
    assert!(message.starts_with("t: column bytes is of type INT64 (Timestamp"), "{message}");
    let message = wrong("arrival_ns", "arrival_ns (TIMESTAMP(MICROS,true))", values());
    assert!(message.ends_with("cast it to INT64 or INT32, or to timestamps in nanoseconds"), "{message}");
    let mut text = values();
    text[3] = Values::Text(vec!["W"]);
    let message = wrong("boolean write", "binary write", text);
    assert_eq!(message, "t: column write is of type BYTE_ARRAY; cast it to BOOLEAN");
}

#[test]
fn a_wrong_value_is_named_by_its_row() {
    // Beyond the first batch of rows that are decoded together, and in the third row of the next.
    let wrong = |change: fn(&mut [Vec<Option<i64>>; 3])| {
        let row = 2 * 4096 + 2;
        let mut columns = [0, 4096, 512].map(|value| vec![Some(value); row + 9]);
        let mut parts = columns.each_mut().map(|column| column.split_off(row));
        change(&mut parts);
        columns.iter_mut().zip(parts).for_each(|(column, part)| column.extend(part));
        let writes = vec![true; row + 9];
        let mut values: Vec<_> = columns.into_iter().map(Values::Int64).collect();
        values.push(Values::Flag(writes));
        error(foreign(ALL, plain(), &values))
    };
    for (change, message) in [
        ((|c| c[1][0] = None) as fn(&mut [Vec<_>; 3]), "offset_bytes is null; fill it in or drop the row"),
        (|c| c[0][0] = Some(-7), "arrival_ns is -7; correct the value, which cannot be below 0, or drop the row"),
        (|c| c[2][0] = Some(1 << 32), "bytes 4294967296 is too large; correct or delete this request"),
    ] {
        assert_eq!(wrong(change), format!("t, row 8194: {message}"));
    }
    let message = wrong(|c| c[0][0] = Some(9));
    let next = "t, row 8195: arrival_ns is 0 after 9 in the row before; sort the rows by arrival_ns";
    assert_eq!(message, next);
    let unsigned = ALL.replace("offset_bytes", "offset_bytes (INTEGER(64,false))");
    let message = error(foreign(&unsigned, plain(), &rows(&[0], &[-1], &[512])));
    assert!(message.starts_with("t, row 0: offset_bytes + bytes 18446744073709551615 + 512 is too large"), "{message}");
}

#[test]
fn the_label_survives_programs_that_keep_metadata() {
    // Such a program may have dropped rows: the checksum it kept means nothing.
    let keys = |synthetic: &str| {
        let pair = |key: &str, value: &str| KeyValue::new(key.to_owned(), value.to_owned());
        plain().set_key_value_metadata(Some(vec![
            pair("imbrex.synthetic", synthetic),
            pair("imbrex.checksum", "0123456789abcdef"),
        ]))
    };
    for (synthetic, is) in [("true", true), ("false", false), ("tru", true)] {
        let bytes = foreign(ALL, keys(synthetic), &rows(&[0], &[0], &[512]));
        let source = read("t", bytes).unwrap();
        assert_eq!(source.info().is_synthetic(), is);
        assert_eq!(drain(source, 1).unwrap().len(), 1);
    }
}

fn damage(content: &[u8], changes: &[(prop::sample::Index, u8)]) -> Vec<u8> {
    let mut content = content.to_vec();
    for (at, byte) in changes {
        let at = at.index(content.len());
        content[at] = *byte;
    }
    content
}

proptest! {
    #[test]
    fn damaged_files_are_noticed(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let (info, requests) = generated(150);
        prop_assert!(is_noticed(damage(&written(&info, &requests), &changes), &requests));
    }

    #[test]
    fn damaged_files_of_other_writers_end_nothing(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        dictionary: bool,
        split: bool,
        new: bool,
        encoding in prop::sample::select(vec![
            Encoding::PLAIN, Encoding::DELTA_BINARY_PACKED, Encoding::BYTE_STREAM_SPLIT,
        ]),
    ) {
        let codec = if split { Codec::UNCOMPRESSED } else { Codec::SNAPPY };
        let version = if new { WriterVersion::PARQUET_2_0 } else { WriterVersion::PARQUET_1_0 };
        let properties = plain().set_compression(codec).set_writer_version(version).set_dictionary_enabled(dictionary);
        let properties = ["arrival_ns", "offset_bytes", "bytes"]
            .iter()
            .fold(properties, |properties, &name| properties.set_column_encoding(name.into(), encoding));
        let arrivals: Vec<i64> = (0..200).map(|i| i * i).collect();
        let columns = rows(&arrivals, &arrivals, &[512; 200]);
        // What comes out may be wrong, without a checksum; `drain` looks at its promises.
        let _ = requests(damage(&foreign(ALL, properties, &columns), &changes));
    }
}
