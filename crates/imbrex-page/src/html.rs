//! A page's file: what lies in it, and what its policy lets a browser do.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};

/// The library that draws charts, as it is published, under its licence beside it.
const ECHARTS: &str = include_str!("../assets/vendor/echarts.common.min.js");
const STYLE: &str = include_str!("../assets/page/page.css");
const BASE: &str = include_str!("../assets/page/base.js");
const FIGURE: &str = include_str!("../assets/page/figure.js");
const UNITS: &str = include_str!("../assets/page/units.js");
const REPORT: [&str; 13] = [
    include_str!("../assets/page/axes.js"),
    include_str!("../assets/page/runs.js"),
    include_str!("../assets/page/answer.js"),
    include_str!("../assets/page/comparison.js"),
    include_str!("../assets/page/differences.js"),
    include_str!("../assets/page/legend.js"),
    include_str!("../assets/page/series.js"),
    include_str!("../assets/page/stage.js"),
    include_str!("../assets/page/steps.js"),
    UNITS,
    include_str!("../assets/page/sheets.js"),
    include_str!("../assets/page/numbers.js"),
    include_str!("../assets/page/report.js"),
];
const LIVE: [&str; 6] = [
    UNITS,
    include_str!("../assets/page/live-charts.js"),
    include_str!("../assets/page/live-cards.js"),
    include_str!("../assets/page/live-events.js"),
    include_str!("../assets/page/live-places.js"),
    include_str!("../assets/page/live.js"),
];

/// A report of `data`, which is compressed, and `table`, which is for browsers without JavaScript.
pub(crate) fn report(title: &str, constants: &str, data: &[u8], table: &str) -> String {
    let script = format!("\"use strict\";\n{constants}{BASE}{FIGURE}{}", REPORT.concat());
    let data =
        format!("<script type=\"application/octet-stream\" id=\"data\">{}</script>", BASE64_STANDARD.encode(data));
    page(title, &script, &data, table, "connect-src 'none'")
}

/// The page of a volume that is served, which asks the server that it comes from how the volume stands.
#[must_use]
pub fn live() -> String {
    let script = format!("\"use strict\";\n{BASE}{FIGURE}{}", LIVE.concat());
    page("Imbrex volume", &script, "", "", "connect-src 'self'")
}

/// A page of one script, which finds `data` in it and connects to what `connects` says. Without JavaScript it shows `table`.
fn page(title: &str, script: &str, data: &str, table: &str, connects: &str) -> String {
    let [library, script] = [ECHARTS, script].map(without_ends);
    let policy = format!(
        "default-src 'none'; script-src {} {}; style-src {}; img-src data:; {connects}; base-uri 'none'; form-action 'none'",
        hash(&library),
        hash(&script),
        hash(STYLE)
    );
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{0}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">To the content</a>\n<main id=\"main\"><noscript><h1>{0}</h1>\
         <p>This page needs JavaScript to draw its charts.</p>{table}</noscript></main>\n{data}\n\
         <script>{library}</script>\n<script>{script}</script>\n</body>\n</html>\n",
        escaped(title)
    )
}

/// What a policy calls a script or a style that lies in the page.
fn hash(content: &str) -> String {
    format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(content)))
}

/// A script that does not end its element too early.
fn without_ends(script: &str) -> String {
    script.replace("</script", "<\\/script")
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_text() {
        let page = report("<b>\"&", "", b"", "");
        assert!(page.contains("<title>&lt;b&gt;&quot;&amp;</title>"));
    }

    #[test]
    fn nothing_ends_a_script_but_its_end() {
        assert_eq!(without_ends("'</script>'"), "'<\\/script>'");
        assert_eq!(report("", "", b"", "").matches("</script").count(), 3, "data, library, script");
    }
}
