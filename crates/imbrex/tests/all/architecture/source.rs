//! What the modules of a crate define, import and name, as their source says.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

/// A module by the names from the root of its crate on, the crate's name first.
pub type ModulePath = Vec<String>;

/// Every module of some crates.
#[derive(Default)]
pub struct Sources {
    pub modules: BTreeMap<ModulePath, Module>,
}

/// One module.
#[derive(Default)]
pub struct Module {
    /// The file it is in.
    pub file: PathBuf,
    /// The names of the items it defines.
    pub items: BTreeSet<String>,
    /// What it imports, re-exports among it.
    pub imports: Vec<Import>,
    /// The paths of two names and more in its code.
    pub paths: Vec<Named>,
}

/// A name that a `use` brings into a module.
#[derive(Clone)]
pub struct Import {
    /// What it is called here; nothing for all names of a module.
    pub name: Option<String>,
    /// Where it is from.
    pub from: Named,
}

/// A path as it is written somewhere.
#[derive(Clone, Debug)]
pub struct Named {
    pub names: Vec<String>,
    pub line: usize,
}

impl Sources {
    /// Adds the crate called `name` whose sources lie in `folder`.
    pub fn add_crate(&mut self, name: &str, folder: &Path) {
        let root = ["lib.rs", "main.rs"].map(|file| folder.join(file)).into_iter().find(|file| file.exists());
        let root = root.unwrap_or_else(|| panic!("{} has neither lib.rs nor main.rs", folder.display()));
        self.add_file(vec![name.to_owned()], &root, folder);
    }

    /// Adds the module in `file`, whose children lie in `folder`.
    fn add_file(&mut self, path: ModulePath, file: &Path, folder: &Path) {
        let text = fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let children = self.add_text(&path, file, &text);
        for child in children {
            let (flat, nested) = (folder.join(format!("{child}.rs")), folder.join(&child).join("mod.rs"));
            let file = if flat.exists() { flat } else { nested };
            let path = path.iter().cloned().chain([child.clone()]).collect();
            self.add_file(path, &file, &folder.join(child));
        }
    }

    /// Adds the module at `path` with the source `text`, and returns its children that have files of their own.
    pub fn add_text(&mut self, path: &[String], file: &Path, text: &str) -> Vec<String> {
        let parsed = syn::parse_file(text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let mut reader = Reader { sources: self, file, path: path.to_vec(), children: Vec::new() };
        reader.module().file = file.to_owned();
        parsed.items.iter().for_each(|item| reader.visit_item(item));
        reader.children
    }

    /// Whether that is one of the crates.
    pub fn is_crate(&self, name: &str) -> bool {
        self.modules.contains_key([name.to_owned()].as_slice())
    }
}

/// Reads one file, modules inside it included.
struct Reader<'a> {
    sources: &'a mut Sources,
    file: &'a Path,
    path: ModulePath,
    children: Vec<String>,
}

impl Reader<'_> {
    fn module(&mut self) -> &mut Module {
        self.sources.modules.entry(self.path.clone()).or_default()
    }

    fn read_module(&mut self, module: &syn::ItemMod) {
        let name = module.ident.to_string();
        let Some((_, items)) = &module.content else {
            self.children.push(name);
            return;
        };
        self.path.push(name);
        self.module().file = self.file.to_owned();
        items.iter().for_each(|item| self.visit_item(item));
        self.path.pop();
    }

    /// Notes what `tree` imports from below `prefix`.
    fn import(&mut self, prefix: &[String], tree: &syn::UseTree, line: usize) {
        let below = |name: &syn::Ident| -> Vec<String> { prefix.iter().cloned().chain([name.to_string()]).collect() };
        let (name, names) = match tree {
            syn::UseTree::Path(path) => return self.import(&below(&path.ident), &path.tree, line),
            syn::UseTree::Group(group) => return group.items.iter().for_each(|tree| self.import(prefix, tree, line)),
            syn::UseTree::Name(name) if name.ident == "self" => (prefix.last().cloned(), prefix.to_vec()),
            syn::UseTree::Name(name) => (Some(name.ident.to_string()), below(&name.ident)),
            syn::UseTree::Rename(rename) if rename.ident == "self" => {
                (Some(rename.rename.to_string()), prefix.to_vec())
            }
            syn::UseTree::Rename(rename) => (Some(rename.rename.to_string()), below(&rename.ident)),
            syn::UseTree::Glob(_) => (None, prefix.to_vec()),
        };
        self.module().imports.push(Import { name, from: Named { names, line } });
    }

    /// Notes the paths in the arguments of a macro, which are not parsed.
    fn read_tokens(&mut self, tokens: TokenStream) {
        let (mut names, mut line, mut joined): (Vec<String>, usize, usize) = (Vec::new(), 0, 0);
        for token in tokens {
            match &token {
                TokenTree::Ident(ident) if joined == 2 && !names.is_empty() => names.push(ident.to_string()),
                TokenTree::Ident(ident) => {
                    self.name(std::mem::take(&mut names), line);
                    (names, line) = (vec![ident.to_string()], ident.span().start().line);
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => {
                    joined += 1;
                    continue;
                }
                TokenTree::Group(group) => self.read_tokens(group.stream()),
                TokenTree::Punct(_) | TokenTree::Literal(_) => self.name(std::mem::take(&mut names), line),
            }
            joined = 0;
        }
        self.name(names, line);
    }

    fn name(&mut self, names: Vec<String>, line: usize) {
        if names.len() > 1 {
            self.module().paths.push(Named { names, line });
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if is_for_tests(attributes(item)) {
            return;
        }
        if let Some(name) = defined(item) {
            self.module().items.insert(name);
        }
        match item {
            syn::Item::Mod(module) => self.read_module(module),
            item => visit::visit_item(self, item),
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.import(&[], &item.tree, item.use_token.span.start().line);
    }

    fn visit_impl_item(&mut self, item: &'ast syn::ImplItem) {
        match item {
            syn::ImplItem::Fn(method) if is_for_tests(&method.attrs) => {}
            item => visit::visit_impl_item(self, item),
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let line = path.segments.first().map_or(0, |segment| segment.ident.span().start().line);
        self.name(names, line);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        self.visit_path(&mac.path);
        self.read_tokens(mac.tokens.clone());
    }

    /// Attributes name macros and what they take, and links in documentation are no uses.
    fn visit_attribute(&mut self, _attribute: &'ast syn::Attribute) {}
}

/// The name of the item that others can import, but not of a module.
fn defined(item: &syn::Item) -> Option<String> {
    let ident = match item {
        syn::Item::Const(item) => &item.ident,
        syn::Item::Enum(item) => &item.ident,
        syn::Item::Fn(item) => &item.sig.ident,
        syn::Item::Static(item) => &item.ident,
        syn::Item::Struct(item) => &item.ident,
        syn::Item::Trait(item) => &item.ident,
        syn::Item::Type(item) => &item.ident,
        syn::Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Union(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Whether the attributes leave an item to test builds.
fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        _ => false,
    })
}
