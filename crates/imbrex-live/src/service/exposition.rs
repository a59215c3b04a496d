//! Prometheus' text format, version 0.0.4.

use std::fmt::{Display, Write};

/// Metrics as text. A name's prefix, and a counter's suffix, are added.
#[derive(Default)]
pub(super) struct Exposition(String);

/// What a metric is.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

/// A metric with a label, of which there are several values.
pub(super) struct Family<'a> {
    pub name: &'a str,
    pub help: &'a str,
    pub kind: MetricKind,
    /// What tells its values apart.
    pub label: &'a str,
}

/// Times of one kind: their sum in seconds, and how many are not longer than the bound of each bucket.
pub(super) struct Times {
    pub sum: f64,
    pub count: u64,
    pub buckets: Vec<Bucket>,
}

/// How many times are not longer than a bound.
pub(super) struct Bucket {
    /// The bound, in seconds.
    pub bound: f64,
    pub count: u64,
}

impl Exposition {
    /// The text.
    pub fn into_text(self) -> String {
        self.0
    }

    /// A counter without labels.
    pub fn counter(&mut self, name: &str, help: &str, value: u64) {
        let name = self.family(name, help, MetricKind::Counter);
        self.sample(&name, "", value);
    }

    /// A gauge without labels.
    pub fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        let name = self.family(name, help, MetricKind::Gauge);
        self.sample(&name, "", value);
    }

    /// A counter or a gauge with a label: the label's values, each with the number that it has.
    pub fn labelled(&mut self, family: &Family<'_>, values: impl IntoIterator<Item = (String, u64)>) {
        let name = self.family(family.name, family.help, family.kind);
        for (of, value) in values {
            self.sample(&name, &labels(&[(family.label, &of)]), value);
        }
    }

    /// Histograms with a label: the label's values, each with its times.
    pub fn histograms<'a>(&mut self, family: &Family<'_>, values: impl IntoIterator<Item = (&'a str, Times)>) {
        let (name, label) = (self.family(family.name, family.help, family.kind), family.label);
        for (of, times) in values {
            let buckets = times.buckets.iter().map(|bucket| (bucket.bound.to_string(), bucket.count));
            for (bound, count) in buckets.chain([("+Inf".to_owned(), times.count)]) {
                self.sample(&format!("{name}_bucket"), &labels(&[(label, of), ("le", &bound)]), count);
            }
            self.sample(&format!("{name}_sum"), &labels(&[(label, of)]), times.sum);
            self.sample(&format!("{name}_count"), &labels(&[(label, of)]), times.count);
        }
    }

    /// Begins a metric: its whole name.
    fn family(&mut self, name: &str, help: &str, kind: MetricKind) -> String {
        let (suffix, kind) = match kind {
            MetricKind::Counter => ("_total", "counter"),
            MetricKind::Gauge => ("", "gauge"),
            MetricKind::Histogram => ("", "histogram"),
        };
        let name = format!("imbrex_{name}{suffix}");
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
        name
    }

    fn sample(&mut self, name: &str, labels: &str, value: impl Display) {
        // A String takes whatever is written to it.
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }
}

/// Labels, none of whose values has a character that would have to be escaped.
fn labels(labels: &[(&str, &str)]) -> String {
    let pairs: Vec<String> = labels.iter().map(|(label, value)| format!("{label}=\"{value}\"")).collect();
    format!("{{{}}}", pairs.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_have_a_type_and_every_sample_its_labels() {
        let mut told = Exposition::default();
        told.counter("host_read_bytes", "Bytes", 7);
        told.gauge("limit_seconds", "Time", 0.1);
        let events = Family { name: "events", help: "What happened", kind: MetricKind::Counter, label: "event" };
        told.labelled(&events, [("rmw".to_owned(), 2)]);
        let buckets = vec![Bucket { bound: 0.25, count: 1 }, Bucket { bound: 1.0, count: 2 }];
        let times = Times { sum: 1.5, count: 3, buckets };
        let requests = Family { name: "request_seconds", help: "How long", kind: MetricKind::Histogram, label: "kind" };
        told.histograms(&requests, [("read", times)]);
        let expected = "\
# HELP imbrex_host_read_bytes_total Bytes
# TYPE imbrex_host_read_bytes_total counter
imbrex_host_read_bytes_total 7
# HELP imbrex_limit_seconds Time
# TYPE imbrex_limit_seconds gauge
imbrex_limit_seconds 0.1
# HELP imbrex_events_total What happened
# TYPE imbrex_events_total counter
imbrex_events_total{event=\"rmw\"} 2
# HELP imbrex_request_seconds How long
# TYPE imbrex_request_seconds histogram
imbrex_request_seconds_bucket{kind=\"read\",le=\"0.25\"} 1
imbrex_request_seconds_bucket{kind=\"read\",le=\"1\"} 2
imbrex_request_seconds_bucket{kind=\"read\",le=\"+Inf\"} 3
imbrex_request_seconds_sum{kind=\"read\"} 1.5
imbrex_request_seconds_count{kind=\"read\"} 3
";
        assert_eq!(told.into_text(), expected);
    }
}
