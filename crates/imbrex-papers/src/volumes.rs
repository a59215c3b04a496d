//! The volumes of a paper: a folder's traces where it has them, profiles otherwise.

use std::fs;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use imbrex::trace::Workload;

/// For each of `names` the trace in `folder` that is called so, or else the profile.
pub fn find(names: &[&str], folder: Option<&Path>, requests: Option<NonZeroU64>, seed: u64) -> Result<Vec<Workload>> {
    let files = folder.map_or(Ok(Vec::new()), files)?;
    let mut workloads = Vec::new();
    for name in names {
        let mut workload = match trace(name, &files)? {
            Some(path) => Workload::File(path.to_path_buf().into()),
            None => Workload::named(name)?,
        };
        requests.into_iter().for_each(|requests| workload.set_requests(requests.get()));
        workload.set_seed(seed);
        workloads.push(workload);
    }
    Ok(workloads)
}

/// Lets a workload that is generated have `most` requests at most.
pub fn shorten(workload: &mut Workload, most: u64) {
    if let Workload::Profile(profile) = workload {
        let own = profile.published.requests.or(profile.chosen.requests);
        profile.shortened = own.filter(|own| *own > most).map(|_| most);
    }
}

/// Those of `names` of which `folder` has a trace.
pub fn present(
    names: &[&'static str],
    folder: Option<&Path>,
    requests: Option<NonZeroU64>,
) -> Result<Vec<(&'static str, Workload)>> {
    let files = folder.map_or(Ok(Vec::new()), files)?;
    let mut found = Vec::new();
    for name in names {
        if let Some(path) = trace(name, &files)? {
            let mut workload = Workload::File(path.to_path_buf().into());
            requests.into_iter().for_each(|requests| workload.set_requests(requests.get()));
            found.push((*name, workload));
        }
    }
    Ok(found)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let cannot_read = |cause| anyhow!("cannot read the folder of traces {}: {cause}", folder.display());
    let entries = fs::read_dir(folder).map_err(cannot_read)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>();
    let mut paths = paths.map_err(cannot_read)?;
    paths.retain(|path| path.is_file());
    paths.sort();
    Ok(paths)
}

/// The file called `name` and an extension, such as `hm_0.csv.gz`.
fn trace<'a>(name: &str, files: &'a [PathBuf]) -> Result<Option<&'a Path>> {
    let is_called_so = |path: &&PathBuf| {
        let file = path.file_name().and_then(|file| file.to_str());
        file.and_then(|file| file.split_once('.')).is_some_and(|(stem, _)| stem == name)
    };
    let mut called_so = files.iter().filter(is_called_so);
    match (called_so.next(), called_so.next()) {
        (Some(one), Some(other)) => {
            bail!("{} and {} are both called {name}: leave one of them in the folder", one.display(), other.display())
        }
        (one, _) => Ok(one.map(PathBuf::as_path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_longer_profiles_are_shortened() {
        for (name, most, requests) in [("rsrch_0", 1000, Some(1000)), ("rsrch_0", 1_000_000_000, None)] {
            let mut workload = Workload::named(name).unwrap();
            shorten(&mut workload, most);
            assert!(matches!(&workload, Workload::Profile(profile) if profile.shortened == requests), "{most}");
        }
    }

    #[test]
    fn a_trace_is_taken_where_there_is_one_and_a_profile_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["hm_0.csv.gz", "hm_01.csv", "README.md"] {
            fs::write(folder.path().join(file), "").unwrap();
        }
        let found = find(&["hm_0", "hm_1"], Some(folder.path()), None, 1).unwrap();
        assert!(matches!(&found[0], Workload::File(file) if file.path.ends_with("hm_0.csv.gz")));
        assert!(matches!(&found[1], Workload::Profile(profile) if profile.name == "hm_1"));
        fs::write(folder.path().join("hm_1.parquet"), "").unwrap();
        fs::write(folder.path().join("hm_1.csv"), "").unwrap();
        let twice = find(&["hm_0", "hm_1"], Some(folder.path()), None, 1).unwrap_err().to_string();
        assert!(twice.contains("hm_1.csv and ") && twice.contains("hm_1.parquet are both"), "{twice}");
        let further = present(&["hm_0", "rsrch_1"], Some(folder.path()), None).unwrap();
        assert_eq!(further.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["hm_0"]);
        assert!(present(&["hm_0"], None, None).unwrap().is_empty());
        let none = find(&["hm_0"], Some(&folder.path().join("none")), None, 1).unwrap_err().to_string();
        assert!(none.starts_with("cannot read the folder of traces"), "{none}");
    }
}
