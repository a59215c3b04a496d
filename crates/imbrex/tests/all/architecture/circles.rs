//! Circles among siblings: modules of one parent, each with all below it, that use each other.
//!
//! What a parent defines may be used by its children, and the other way round.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::source::Sources;
use super::uses::Use;

/// Siblings each of which uses, directly or not, each of the others.
pub struct Circle {
    /// As `crate::parent: one, other`.
    pub name: String,
    /// A way around it.
    pub uses: Vec<Use>,
}

/// Which sibling uses which, with one example each.
type Siblings<'a> = BTreeMap<&'a String, BTreeMap<&'a String, &'a Use>>;

/// All circles, ordered by name.
pub fn all(uses: &[Use]) -> Vec<Circle> {
    let mut parents: BTreeMap<&[String], Siblings> = BTreeMap::new();
    for one in uses {
        let common = one.by.iter().zip(&one.of).take_while(|(by, of)| by == of).count();
        if let (1.., Some(by), Some(of)) = (common, one.by.get(common), one.of.get(common)) {
            parents.entry(&one.by[..common]).or_default().entry(by).or_default().entry(of).or_insert(one);
        }
    }
    parents.iter().flat_map(|(parent, siblings)| circles_of(parent, siblings)).collect()
}

fn circles_of(parent: &[String], siblings: &Siblings) -> Vec<Circle> {
    let mut seen = BTreeSet::new();
    let mut circles = Vec::new();
    for start in siblings.keys() {
        if seen.contains(start) {
            continue;
        }
        let Some(uses) = way_around(start, siblings) else { continue };
        let ahead = reachable(start, siblings);
        let circle: BTreeSet<_> = ahead.iter().filter(|other| reachable(other, siblings).contains(start)).collect();
        let names: Vec<&str> = circle.iter().map(|name| name.as_str()).collect();
        circles.push(Circle { name: format!("{}: {}", parent.join("::"), names.join(", ")), uses });
        seen.extend(circle.into_iter().copied());
    }
    circles
}

/// What `start` uses, directly or not.
fn reachable<'a>(start: &String, siblings: &Siblings<'a>) -> BTreeSet<&'a String> {
    let mut found = BTreeSet::new();
    let mut waiting: Vec<&String> = siblings.get(start).into_iter().flat_map(|uses| uses.keys().copied()).collect();
    while let Some(next) = waiting.pop() {
        if let Some((name, uses)) = siblings.get_key_value(next)
            && found.insert(*name)
        {
            waiting.extend(uses.keys().copied());
        }
    }
    found
}

/// The shortest way from `start` back to it.
fn way_around(start: &String, siblings: &Siblings) -> Option<Vec<Use>> {
    let mut ways: VecDeque<(&String, Vec<Use>)> = VecDeque::from([(start, Vec::new())]);
    let mut seen = BTreeSet::new();
    while let Some((at, way)) = ways.pop_front() {
        for (next, one) in siblings.get(at).into_iter().flatten() {
            let way: Vec<Use> = way.iter().cloned().chain([(*one).clone()]).collect();
            if *next == start {
                return Some(way);
            }
            if seen.insert(*next) {
                ways.push_back((next, way));
            }
        }
    }
    None
}

impl Circle {
    /// The circle and who uses what in it, a line each.
    pub fn describe(&self, sources: &Sources) -> String {
        let line = |one: &Use| {
            let file = sources.modules.get(&one.by).map_or(String::new(), |module| module.file.display().to_string());
            format!("\n    {file}:{}: {}", one.named.line, one.named.names.join("::"))
        };
        format!("{}{}", self.name, self.uses.iter().map(line).collect::<String>())
    }
}
