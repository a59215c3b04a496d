//! Short names of files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What files are called in tables: as much of the end of a path as no other of them has.
pub struct Names(BTreeMap<String, String>);

impl Names {
    /// Of these paths, which may repeat.
    pub fn of<'a>(paths: impl IntoIterator<Item = &'a str>) -> Self {
        let mut names: BTreeMap<_, _> = paths.into_iter().map(|path| (path.to_owned(), String::new())).collect();
        let all: Vec<String> = names.keys().cloned().collect();
        for (path, name) in &mut names {
            let is_own = |end: &String| !all.iter().any(|other| other != path && Path::new(other).ends_with(end));
            *name = ends(path).find(is_own).unwrap_or_else(|| path.clone());
        }
        Self(names)
    }

    /// Of one path.
    pub fn name<'a>(&'a self, path: &'a str) -> &'a str {
        self.0.get(path).map_or(path, String::as_str)
    }
}

/// The last part of a path, the last two, and so on.
fn ends(path: &str) -> impl Iterator<Item = String> {
    let parts: Vec<_> = Path::new(path).components().collect();
    let end = move |from: usize| parts[from..].iter().collect::<PathBuf>().display().to_string();
    (0..Path::new(path).components().count()).rev().map(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named<const N: usize>(paths: [&str; N]) -> [String; N] {
        let names = Names::of(paths);
        paths.map(|path| names.name(path).to_owned())
    }

    #[test]
    fn a_path_is_shortened_to_what_tells_it_apart() {
        assert_eq!(named(["/srv/traces/hm_0.csv.gz", "zipf"]), ["hm_0.csv.gz", "zipf"]);
        assert_eq!(named(["/a/2007/hm.csv", "/a/2008/hm.csv"]), ["2007/hm.csv", "2008/hm.csv"]);
        assert_eq!(named(["x.csv", "a/x.csv", "/x.csv"]), ["x.csv", "a/x.csv", "/x.csv"]);
        assert_eq!(named(["a/x.csv", "a/x.csv"]), ["x.csv", "x.csv"]);
        assert_eq!(named(["./x.csv", "x.csv"]), ["./x.csv", "x.csv"]);
        assert_eq!(named(["a//x.csv", "a/x.csv"]), ["a//x.csv", "a/x.csv"]);
    }
}
