use imbrex::layers;

use super::*;

/// Rounds of a layer that were counted one after the other, until they were enough.
fn counted(layer: &str, most: u32, room: u64, passes: impl Iterator<Item = Sums>) -> Steady {
    let is_over = AtomicBool::new(false);
    let mut rounds = Rounds::new(layers::find(layer).unwrap(), most, room, &is_over);
    for pass in passes {
        rounds.pass(pass);
        if is_over.load(Ordering::Relaxed) {
            return rounds.found(10);
        }
    }
    panic!("it went on");
}

/// A pass in which 1000 blocks of the host become so many on the media.
fn pass(media_blocks: u64) -> Sums {
    Sums { host_blocks: 1000, media_blocks, rewrites: 0, cleaned_blocks: media_blocks - 1000 }
}

#[test]
fn five_rounds_are_steady_that_vary_little_and_go_nowhere() {
    // The range is 20 % of the average and the line is level; then a little more; then the line rises by 10 %; then more.
    for (values, is_steady) in [
        ([0.9, 1.1, 1.0, 1.1, 0.9], true),
        ([0.89, 1.1, 1.0, 1.1, 0.9], false),
        ([0.95, 0.975, 1.0, 1.025, 1.05], true),
        ([0.94, 0.97, 1.0, 1.03, 1.06], false),
    ] {
        let Spread { range, slope } = Spread::of(&values);
        let is = range <= MOST_RANGE + 1e-9 && slope <= MOST_SLOPE + 1e-9;
        assert_eq!(is, is_steady, "{values:?}: {range} and {slope}");
    }
}

#[test]
fn a_layer_is_steady_when_it_has_cleaned_and_stands_still() {
    let rising = [1000, 1000, 1400, 1800, 2000, 2100].into_iter().chain(std::iter::repeat(2100));
    let steady = counted("log-greedy", 25, 2000, rising.map(pass));
    // Two passes fill the room, so they are a round: 1.0, 1.6, 2.05, 2.1 and so on.
    assert_eq!((steady.is_steady, steady.round_passes, steady.rounds), (true, 2, 7));
    assert_eq!((steady.requests, steady.host_write_blocks), (140, 14_000));
    assert_eq!((steady.warm_up(), steady.measure), (WarmUp::Requests(40), Measure::WriteAmplification));
    assert_eq!(steady.values.len(), 5);
}

#[test]
fn nothing_counts_before_the_room_is_full() {
    let steady = counted("log-greedy", 25, 6000, std::iter::repeat_with(|| pass(1000)));
    assert_eq!(
        (steady.is_steady, steady.round_passes, steady.rounds),
        (true, 6, 6),
        "what never cleans is steady then"
    );
    // 8 passes a round do not fill it in 20 rounds: so much is known after five.
    let steady = counted("log-greedy", 25, 160_001, std::iter::repeat_with(|| pass(1000)));
    assert_eq!((steady.is_steady, steady.rounds), (false, 5));
    let steady = counted("log-greedy", 25, 160_000, std::iter::repeat_with(|| pass(1000)));
    assert_eq!((steady.is_steady, steady.rounds), (true, 25));
    let steady = counted("conventional", 25, 0, std::iter::repeat_with(|| pass(1000)));
    assert_eq!((steady.is_steady, steady.rounds), (true, 5));
}

#[test]
fn what_does_not_stand_still_ends_at_the_limit() {
    let steady = counted("log-greedy", 9, 0, (0..).map(|at| pass(1000 + at % 2 * 1000)));
    assert_eq!((steady.is_steady, steady.rounds), (false, 9));
    assert_eq!(steady.values, [1.0, 2.0, 1.0, 2.0, 1.0]);
}

#[test]
fn rewrites_count_where_zones_are_rewritten() {
    // Blocks for each of the host stand still, and rewrites do not.
    let pass = |at: u64| Sums { rewrites: 10 + at.min(8), ..pass(3000) };
    let steady = counted("fifo-log", 25, 0, (0..).map(pass));
    assert_eq!((steady.is_steady, steady.measure), (true, Measure::Rewrites));
    assert!(steady.rounds > 6, "{steady:?}");
    assert_eq!(counted("log-greedy", 25, 0, (0..).map(pass)).measure, Measure::WriteAmplification);
}
