//! Times that no disk's trace has: mostly those of a file that is read in the wrong unit.

use super::{TraceFormat, TraceInfo};

/// A trace that spans more seconds is implausible: ten years.
const LONG_SECONDS: f64 = 10.0 * YEAR_SECONDS;
const YEAR_SECONDS: f64 = 365.25 * 86_400.0;
/// More seconds between two requests, on average, are implausible: two hours.
const GAP_SECONDS: f64 = 7_200.0;
/// More requests a second are implausible.
const REQUESTS_PER_SECOND: f64 = 10e6;
/// From so many requests on, times say something.
const TELLING_REQUESTS: u64 = 20;

/// What is implausible about the times of a trace of `requests` requests, the last of which arrives after `duration_ns`,
/// and the options that mend it. Generated workloads have the times that they are asked for.
#[must_use]
pub fn doubt(info: &TraceInfo, requests: u64, duration_ns: u64) -> Option<String> {
    let is_recorded = !info.is_synthetic() && !matches!(info.format, TraceFormat::Arrow | TraceFormat::Synthetic);
    if requests < TELLING_REQUESTS || !is_recorded {
        return None;
    }
    let seconds = duration_ns as f64 / 1e9;
    let (gap, rate) = (seconds / (requests - 1) as f64, (requests - 1) as f64 / seconds);
    let format = info.format;
    let unit = format!(
        "if {format} has another unit of time than this file, --trace-format names the right format; --queue-depth 1 \
         ignores the times"
    );
    match () {
        () if duration_ns == 0 => Some(format!(
            "all {requests} requests arrive at once, so latencies say how long the queue is; --queue-depth 1 ignores the \
             times"
        )),
        () if seconds > LONG_SECONDS => {
            Some(format!("it lasts {:.0} years, which is implausible; {unit}", seconds / YEAR_SECONDS))
        }
        () if gap > GAP_SECONDS => {
            Some(format!("{:.1} hours pass between requests on average, which is implausible; {unit}", gap / 3600.0))
        }
        () if rate > REQUESTS_PER_SECOND => {
            Some(format!("{:.0} million requests arrive a second, which is implausible; {unit}", rate / 1e6))
        }
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Compression;

    fn said(format: TraceFormat, synthetic: bool, requests: u64, duration_ns: u64) -> Option<String> {
        let info = TraceInfo { name: "t".into(), format, compression: Compression::None, synthetic };
        doubt(&info, requests, duration_ns)
    }

    #[test]
    fn implausible_times_are_told() {
        const HOUR_NS: u64 = 3_600_000_000_000;
        let recorded = |requests, duration_ns| said(TraceFormat::DiskSim, false, requests, duration_ns);
        for (requests, duration_ns, what) in [
            (1_000_000, 11 * 8_766 * HOUR_NS, "it lasts 11 years"),
            (101, 250 * HOUR_NS, "2.5 hours pass between requests on average"),
            (20_001, 1_000_000, "20 million requests arrive a second"),
            (20, 0, "all 20 requests arrive at once"),
        ] {
            let found = recorded(requests, duration_ns).unwrap();
            assert!(found.starts_with(what) && found.contains("--queue-depth 1"), "{found}");
            assert_eq!(found.contains("--trace-format"), duration_ns > 0, "{found}");
        }
        for (requests, duration_ns) in [
            (1_000_000, 9 * 8_766 * HOUR_NS),
            (101, 199 * HOUR_NS),
            (9_001, 1_000_000),
            // Too few to say anything.
            (19, 0),
            (2, 99 * HOUR_NS),
        ] {
            assert_eq!(recorded(requests, duration_ns), None);
        }
        for (format, synthetic) in
            [(TraceFormat::Msr, true), (TraceFormat::Synthetic, true), (TraceFormat::Arrow, false)]
        {
            assert_eq!(said(format, synthetic, 1000, 0), None);
        }
    }
}
