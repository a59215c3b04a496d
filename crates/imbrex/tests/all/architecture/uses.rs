//! Which module uses which: every import and path followed to the module that defines what it names.

use super::source::{Import, ModulePath, Named, Sources};

/// A module uses what another one defines.
#[derive(Clone, Debug)]
pub struct Use {
    pub by: ModulePath,
    pub of: ModulePath,
    /// The path as it is written, and where.
    pub named: Named,
}

/// Every use among the modules of `sources`, except of a module's own items.
pub fn all(sources: &Sources) -> Vec<Use> {
    let mut uses = Vec::new();
    for (by, module) in &sources.modules {
        let imports = module.imports.iter().map(|import| (&import.from, Some(import)));
        let paths = module.paths.iter().map(|path| (path, None));
        for (named, import) in imports.chain(paths) {
            let origin = Search { sources, imports: import.into_iter().collect() }.origin(by, &named.names);
            if let Some(of) = origin.filter(|of| of != by) {
                uses.push(Use { by: by.clone(), of, named: named.clone() });
            }
        }
    }
    uses
}

/// A path being followed.
struct Search<'a> {
    sources: &'a Sources,
    /// The imports that it is being followed through, so that none leads to itself.
    imports: Vec<&'a Import>,
}

impl<'a> Search<'a> {
    /// The module that defines what `names` are in the module `at`; nothing if that is in none of the crates.
    fn origin(&mut self, at: &[String], names: &[String]) -> Option<ModulePath> {
        let (first, rest) = names.split_first()?;
        match first.as_str() {
            "crate" => self.within(at[..1].to_vec(), rest),
            "self" => self.within(at.to_vec(), rest),
            "super" => self.origin_above(at.split_last()?.1, rest),
            name if self.has_child(at, name) => self.within(child(at, name), rest),
            name => match self.imported(at, name, rest) {
                None if self.sources.is_crate(name) => self.within(vec![name.to_owned()], rest),
                origin => origin,
            },
        }
    }

    fn origin_above(&mut self, at: &[String], names: &[String]) -> Option<ModulePath> {
        match names.split_first() {
            Some((first, rest)) if first == "super" => self.origin_above(at.split_last()?.1, rest),
            _ => self.within(at.to_vec(), names),
        }
    }

    /// The same, if `names` begins with something in the module `at`.
    fn within(&mut self, at: ModulePath, names: &[String]) -> Option<ModulePath> {
        let Some((first, rest)) = names.split_first() else { return Some(at) };
        if self.has_child(&at, first) {
            return self.within(child(&at, first), rest);
        }
        if self.sources.modules.get(&at)?.items.contains(first) {
            return Some(at);
        }
        self.imported(&at, first, rest).or(Some(at))
    }

    /// The module that defines what `name` is, if the module `at` imports it.
    fn imported(&mut self, at: &[String], name: &str, rest: &[String]) -> Option<ModulePath> {
        let imports = &self.sources.modules.get(at)?.imports;
        let by_name = imports.iter().filter(|import| import.name.as_deref() == Some(name));
        let globs = imports.iter().filter(|import| import.name.is_none());
        for import in by_name.chain(globs) {
            if self.imports.iter().any(|other| std::ptr::eq(*other, import)) {
                continue;
            }
            let names = match &import.name {
                Some(_) => [&import.from.names, rest].concat(),
                None => [&import.from.names, &[name.to_owned()][..], rest].concat(),
            };
            self.imports.push(import);
            let origin = self.origin(at, &names);
            self.imports.pop();
            match origin {
                // All names of a module were imported, and this is none of them.
                Some(of) if import.name.is_none() && !self.defines(&of, &names) => {}
                Some(of) => return Some(of),
                None => {}
            }
        }
        None
    }

    fn defines(&self, module: &[String], names: &[String]) -> bool {
        let items = self.sources.modules.get(module).map(|module| &module.items);
        items.is_some_and(|items| names.iter().any(|name| items.contains(name)))
    }

    fn has_child(&self, at: &[String], name: &str) -> bool {
        self.sources.modules.contains_key(&child(at, name))
    }
}

fn child(at: &[String], name: &str) -> ModulePath {
    at.iter().cloned().chain([name.to_owned()]).collect()
}
