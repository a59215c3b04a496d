//! What is said of wrong lines.

use super::*;

/// A wrong line, and what is said of it.
type Wrong = (&'static str, &'static str);

/// Lines that many are needed of to tell their format.
const NANOSECONDS: &str = "0 0 0 1 0\n99999 0 0 1 0\n199999 0 0 1 0\n299999 0 0 1 0\n399999 0 0 1 0\n499999 0 0 1 0\n\
                           599999 0 0 1 0\n699999 0 0 1 0\n799999 0 0 1 0\n899999 0 0 1 0";
const BLOCKS: &str = "0 0 1\n1 0 2\n1 0 3\n1 0 4\n1 0 5\n1 0 6\n1 0 7\n1 0 8\n1 0 9\n1 0 9";

/// A good first line of each format, or as many as tell it, and wrong lines after it.
const WRONG: &[(TraceFormat, &str, &[Wrong])] = &[
    (
        TraceFormat::DiskSim,
        "1.0 0 0 1 0",
        &[
            ("2.0 0 0 1", "expected 5 blank-separated fields, found 4; restore or delete the line"),
            ("2.0 0 0 1 0 7", "expected 5 blank-separated fields, found 6; restore or delete the line"),
            ("-2.0 0 0 1 0", "time is \"-2.0\", not a decimal number from 0; correct or delete the line"),
            ("2.0 x 0 1 0", "device is \"x\", not a whole number from 0; correct or delete the line"),
            ("2.0 0 -1 1 0", "sector is \"-1\", not a whole number from 0; correct or delete the line"),
            ("2.0 0 0 1.5 0", "sectors is \"1.5\", not a whole number from 0; correct or delete the line"),
            ("2.0 0 0 8388608 0", "size 4294967296 is too large; correct or delete this request"),
            ("2.0 0 36028797018963968 1 0", "sector 36028797018963968 is too large; correct or delete this request"),
            ("2.0 0 36028797018963967 2 0", "offset + size 18446744073709551104 + 1024 is too large"),
            ("2.0 0 0 1 g", "flags is \"g\", not a hexadecimal number of up to 8 digits; correct or delete the line"),
            ("99999999999999.0 0 0 1 0", "time 99999999999999.0 is too large; correct or delete this request"),
        ],
    ),
    (
        TraceFormat::SsdSim,
        NANOSECONDS,
        &[
            ("2000 0 0 1", "expected 5 blank-separated fields, found 4; restore or delete the line"),
            ("2000 0 0 1 0 7", "expected 5 blank-separated fields, found 6; restore or delete the line"),
            ("2.5 0 0 1 0", "time is \"2.5\", not a whole number from 0; correct or delete the line"),
            ("2000 x 0 1 0", "device is \"x\", not a whole number from 0; correct or delete the line"),
            ("2000 0 -1 1 0", "sector is \"-1\", not a whole number from 0; correct or delete the line"),
            ("2000 0 0 8388608 0", "size 4294967296 is too large; correct or delete this request"),
            ("2000 0 0 1 2", "operation is \"2\", neither 0 (write) nor 1 (read); correct or delete the line"),
        ],
    ),
    (
        TraceFormat::Sac,
        BLOCKS,
        &[
            ("0 0", "expected 3 blank-separated fields, found 2; restore or delete the line"),
            ("0 0 1 2", "expected 3 blank-separated fields, found 4; restore or delete the line"),
            ("2 0 1", "action is \"2\", neither 0 (read) nor 1 (write); correct or delete the line"),
            ("1 0 x", "block is \"x\", not a whole number from 0; correct or delete the line"),
            ("1 0 4503599627370496", "block 4503599627370496 is too large; correct or delete this request"),
        ],
    ),
    (
        TraceFormat::Fiu,
        "1 2 gzip 16 8 W 6 0 56f1",
        &[
            ("1 2 gzip 16 8 W 6", "expected at least 8 blank-separated fields, found 7; restore or delete the line"),
            ("x 2 gzip 16 8 W 6 0 56f1", "time is \"x\", not a whole number from 0; correct or delete the line"),
            ("1 2 gzip y 8 W 6 0 56f1", "lba is \"y\", not a whole number from 0; correct or delete the line"),
            ("1 2 gzip 16 8 D 6 0 56f1", "type is \"D\", neither R nor W; correct or delete the line"),
            ("1 2 gzip 16 8 W z 0 56f1", "device is \"z\", not a major and a minor number; correct or delete"),
            ("1 2 gzip 16 8388608 W 6 0 56f1", "size 4294967296 is too large; correct or delete this request"),
        ],
    ),
    (
        TraceFormat::Spc,
        "0,0,512,w,0.5",
        &[
            ("0,0,512,w", "expected at least 5 comma-separated fields, found 4; restore or delete the line"),
            ("x,0,512,w,1", "ASU is \"x\", not a whole number from 0; correct or delete the line"),
            ("0,,512,w,1", "LBA is \"\", not a whole number from 0; correct or delete the line"),
            ("0,0,4294967296,w,1", "size 4294967296 is too large; correct or delete this request"),
            ("0,0,1e3,w,1", "size is \"1e3\", not a whole number from 0; correct or delete the line"),
            ("0,0,512,write,1", "opcode is \"write\", neither R nor W; correct or delete the line"),
            ("0,0,512,w,1e-3", "timestamp is \"1e-3\", not a decimal number from 0; correct or delete the line"),
        ],
    ),
    (
        TraceFormat::Blkparse,
        "8,16 5 2 0.000001850 18615 Q R 144 + 256 [java]",
        &[
            (
                "hello",
                "device is \"hello\", not MAJOR,MINOR as blkparse prints it by default; correct or delete the line",
            ),
            ("8,16 5 2 0.000001850 18615 Q", "expected at least 7 blank-separated fields, found 6"),
            ("8,16 5 2 0.000001850 18615 Q R", "expected at least 7 blank-separated fields, found 7"),
            ("8,16 5 2 now 1 Q R 144 + 256 [java]", "time is \"now\", not a decimal number from 0"),
            ("8,16 5 2 0.1 1 Q r 144 + 256 [java]", "RWBS is \"r\", not the letters of a command"),
            ("8,16 5 2 0.1 1 Q R x + 256 [java]", "sector is \"x\", not a whole number from 0"),
            ("8,16 5 2 0.1 1 Q R 144 / 256 [java]", "what follows the sector is \"/\", not + and a number of sectors"),
            ("8,16 5 2 0.1 1 Q R 144 + y [java]", "sectors is \"y\", not a whole number from 0"),
            ("8,16 5 2 0.1 1 Q R 144 + 8388608 [java]", "size 4294967296 is too large"),
        ],
    ),
    (
        TraceFormat::Systor17,
        "1.5,0.1,R,0,0,512",
        &[
            ("1.5,0.1,R,0,0", "expected 6 comma-separated fields, found 5; restore or delete the line"),
            ("1.5,0.1,R,0,0,512,7", "expected 6 comma-separated fields, found 7; restore or delete the line"),
            ("1.,0.1,R,0,0,512", "timestamp is \"1.\", not a decimal number from 0; correct or delete the line"),
            ("1.5,0.1,,0,0,512", "type is \"\", neither R nor W; correct or delete the line"),
            ("1.5,0.1,R,a,0,512", "LUN is \"a\", not a whole number from 0; correct or delete the line"),
            ("1.5,0.1,R,0,0.5,512", "offset is \"0.5\", not a whole number from 0; correct or delete the line"),
            ("1.5,0.1,R,0,0,99999999999", "size 99999999999 is too large; correct or delete this request"),
        ],
    ),
    (
        TraceFormat::Alibaba,
        "419,W,0,512,1577808144360767",
        &[
            ("419,W,0,512", "expected 5 comma-separated fields, found 4; restore or delete the line"),
            ("d,W,0,512,1", "device_id is \"d\", not a whole number from 0; correct or delete the line"),
            ("419,X,0,512,1", "opcode is \"X\", neither R nor W; correct or delete the line"),
            ("419,W,z,512,1", "offset is \"z\", not a whole number from 0; correct or delete the line"),
            ("419,W,0,4294967296,1", "size 4294967296 is too large; correct or delete this request"),
            ("419,W,0,512,1.5", "timestamp is \"1.5\", not a whole number from 0; correct or delete the line"),
            ("419,W,0,512,18446744073709551615", "timestamp 18446744073709551615 is too large"),
        ],
    ),
    (
        TraceFormat::Tencent,
        "1538323200,0,1,1,7",
        &[
            ("1538323200,0,1,1", "expected 5 comma-separated fields, found 4; restore or delete the line"),
            ("1538323200,0,1,2,7", "type is \"2\", neither 0 (read) nor 1 (write); correct or delete the line"),
            ("1538323200,0,1,1,v", "volume is \"v\", not a whole number from 0; correct or delete the line"),
            ("15383232.5,0,1,1,7", "timestamp is \"15383232.5\", not a whole number from 0"),
            ("1538323200,99999999999999999,1,1,7", "offset 99999999999999999 is too large"),
            ("99999999999999,0,1,1,7", "timestamp 99999999999999 is too large; correct or delete this request"),
        ],
    ),
    (
        TraceFormat::Fio,
        "fio version 2 iolog\na write 0 512",
        &[
            ("a", "expected 4 blank-separated fields, found 1; restore or delete the line"),
            ("a write 0", "expected 4 blank-separated fields, found 3; restore or delete the line"),
            ("a write 0 512 7", "expected 4 blank-separated fields, found 5; restore or delete the line"),
            ("a erase 0 512", "action is \"erase\", none that fio writes; correct or delete the line"),
            ("a write z 512", "offset is \"z\", not a whole number from 0; correct or delete the line"),
            ("a write 0 4294967296", "size 4294967296 is too large; correct or delete this request"),
            ("a wait long", "wait is \"long\", not a whole number from 0; correct or delete the line"),
            ("a wait 18446744073709551615\na wait 100", "wait 100 is too large; correct or delete this request"),
        ],
    ),
    (
        TraceFormat::Fio,
        "fio version 3 iolog\n1 a write 0 512",
        &[
            ("a write 0 512", "time is \"a\", not a whole number from 0; correct or delete the line"),
            ("2 a write 0", "expected 5 blank-separated fields, found 4; restore or delete the line"),
            ("2 a wait 0 0", "action is \"wait\", which version 3 does not have; correct or delete the line"),
        ],
    ),
];

#[test]
fn a_wrong_line_of_any_format_is_named() {
    for (format, good, wrong) in WRONG {
        assert_eq!(recognise::recognise(good.as_bytes()), Told::Format(*format));
        for (line, message) in *wrong {
            // Nothing can be told by lines of which one is wrong.
            let options = FileOptions { format: Some(*format), ..FileOptions::default() };
            let found = error_with(format!("{good}\n\n{line}\n{good}\n"), &options);
            let at = format!("{good}\n\n{line}").lines().count();
            assert!(found.starts_with(&format!("t, line {at}: {message}")), "{format}, {line}: {found}");
        }
    }
    let message = error("fio version 1 iolog\n");
    assert!(
        message.starts_with("t, line 1: the first line is \"fio version 1 iolog\", not 'fio version 2"),
        "{message}"
    );
}
