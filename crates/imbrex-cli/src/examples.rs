//! Examples of commands, for `--help` and the manual pages. The documentation shows each of them too, and says more.

use clap::Command;

/// A command, which may be one of another one, and lines that could be typed.
const EXAMPLES: [(&str, &[&str]); 23] = [
    (
        "compare",
        &[
            "imbrex compare --family all --buffer 4MiB --requests 20k",
            "imbrex compare hm_0 src2_2 --layers fifo-log,loop-back,block-lru,hashed-zones --buffer 16MiB --requests 100k",
            "imbrex compare hm_0 --requests 20000 --buffer 4MiB --html report.html",
        ],
    ),
    ("advise", &["imbrex advise hm_0 --requests 10k --trials 2 --disk exos-x18z --disk st8000as0002"]),
    (
        "replay",
        &[
            "imbrex replay default --layer fifo-log --buffer 128MiB --warm-up 15000 --requests 20000",
            "imbrex replay default --layer fifo-log --set fifo-log.spare_zones=0 --requests 20000 --series series.csv --window 60s",
        ],
    ),
    ("report", &["imbrex report before.json after.json -o change.html"]),
    ("sweep", &["imbrex sweep buffers.toml -o buffers"]),
    ("reproduce", &["imbrex reproduce amphisbaena"]),
    ("trace stat", &["imbrex trace stat zipf hot-cold --requests 20000 --cache 1%,10%"]),
    ("trace convert", &["imbrex trace convert TRACE week.parquet"]),
    ("trace generate", &["imbrex trace generate hm_0 --requests 50000 -o hm_0.parquet"]),
    ("trace prepopulate", &["imbrex trace prepopulate TRACE --share 50% --seed 1 -o aged.parquet"]),
    ("trace record", &["imbrex trace record /dev/sdX -o day.parquet --for 24h"]),
    ("list", &["imbrex list layers", "imbrex list layers tracklace"]),
    ("explore", &["imbrex explore fifo-log --cuts 10000"]),
    ("format", &["imbrex format disk.img --layer fifo-log --drive exos-x18z --capacity 64GiB"]),
    (
        "serve",
        &["imbrex serve disk.img", "imbrex serve disk.img --ublk", "imbrex serve disk.img --vhost-user disk.vhost"],
    ),
    ("status", &["imbrex status disk.img", "imbrex status disk.img --format prometheus"]),
    ("clean", &["imbrex clean disk.img --wait", "imbrex clean disk.img --throttle 25"]),
    ("grow", &["imbrex grow hybrid.img 8GiB"]),
    ("attach", &["imbrex attach flash.img disk.img --layer lru-cache --drive ssd-pore --capacity 256MiB"]),
    ("detach", &["imbrex detach flash.img disk.img"]),
    ("scrub", &["imbrex scrub summed.img --throttle 25"]),
    ("probe", &["imbrex probe --simulated st8000as0002 --write"]),
    ("help", &["imbrex help fifo-log"]),
];

/// The examples of the command that `words` name, without the program's name.
pub fn of(words: &str) -> &'static [&'static str] {
    EXAMPLES.iter().find(|(command, _)| *command == words).map_or(&[], |(_, lines)| *lines)
}

/// `program` with its examples at the end of each command's help.
pub fn shown(program: Command) -> Command {
    program.mut_subcommands(|command| with_examples(command, ""))
}

fn with_examples(command: Command, above: &str) -> Command {
    let words = format!("{above}{}", command.get_name());
    let lines: Vec<_> = of(&words).iter().map(|line| format!("\n  {line}")).collect();
    let command = command.mut_subcommands(|below| with_examples(below, &format!("{words} ")));
    if lines.is_empty() { command } else { command.after_help(format!("Examples:{}", lines.concat())) }
}
