//! A member of the struct: a field with what is said of it, or a group of fields.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, ExprLit, Ident, Lit, Meta, Token, Type, bracketed, parenthesized};

use crate::text::Value;

pub struct Member {
    pub name: Ident,
    pub kind: Kind,
}

pub enum Kind {
    /// A field, whose default is the first value.
    Field { key: String, default: Value, meaning: String, samples: Vec<Value> },
    /// A group, of which the fields `without` are left out.
    Group { of: Type, without: Vec<String> },
}

/// What the attribute says.
#[derive(Default)]
struct Said {
    default: Option<Value>,
    samples: Option<Vec<Value>>,
    without: Option<Vec<String>>,
    is_group: bool,
}

impl Member {
    pub fn of(field: &syn::Field) -> syn::Result<Self> {
        let Some(name) = field.ident.clone() else { unreachable!("the fields have names") };
        let wrong = |reason: &str| Err(syn::Error::new(name.span(), reason));
        let kind = match Said::of(&field.attrs)? {
            Said { is_group: true, default: None, samples: None, without } => {
                Kind::Group { of: field.ty.clone(), without: without.unwrap_or_default() }
            }
            Said { is_group: true, .. } => return wrong("flatten beside a default or samples"),
            Said { without: Some(_), .. } => return wrong("without(...) is said of a group, and here without flatten"),
            Said { default: None, .. } => return wrong("a field has a default: #[field(default = ...)]"),
            Said { default: Some(default), samples, .. } => {
                let (key, meaning) = (name.unraw().to_string(), meaning(&field.attrs));
                if meaning.is_empty() {
                    return wrong("the doc comment of a field is its meaning, and is missing");
                }
                Kind::Field { key, default, meaning, samples: samples.unwrap_or_default() }
            }
        };
        Ok(Self { name, kind })
    }

    /// Its part of the table.
    pub fn part(&self) -> TokenStream {
        match &self.kind {
            Kind::Field { key, default, meaning, samples } => quote! {
                ::imbrex::config::derived::Part::Field(::imbrex::config::Field {
                    key: #key,
                    default: #default,
                    meaning: #meaning,
                    samples: &[#(#samples),*],
                })
            },
            Kind::Group { of, without } => quote! {
                ::imbrex::config::derived::Part::Group {
                    fields: <#of as ::imbrex::config::Configuration>::FIELDS,
                    without: &[#(#without),*],
                }
            },
        }
    }

    /// It by default.
    pub fn default(&self) -> TokenStream {
        let Self { name, kind } = self;
        match kind {
            Kind::Field { default, .. } => {
                let default = default.expression();
                quote!(#name: #default)
            }
            Kind::Group { .. } => quote!(#name: ::core::default::Default::default()),
        }
    }
}

impl Said {
    fn of(attributes: &[Attribute]) -> syn::Result<Self> {
        let mut said = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("field")) {
            attribute.parse_nested_meta(|meta| said.add(&meta))?;
        }
        Ok(said)
    }

    fn add(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        let is_new = if meta.path.is_ident("default") {
            self.default.replace(meta.value()?.parse()?).is_none()
        } else if meta.path.is_ident("samples") {
            let list;
            let input = meta.value()?;
            bracketed!(list in input);
            let samples = Punctuated::<Value, Token![,]>::parse_terminated(&list)?;
            self.samples.replace(samples.into_iter().collect()).is_none()
        } else if meta.path.is_ident("without") {
            let list;
            parenthesized!(list in meta.input);
            let keys = Punctuated::<Ident, Token![,]>::parse_terminated(&list)?;
            self.without.replace(keys.iter().map(|key| key.unraw().to_string()).collect()).is_none()
        } else if meta.path.is_ident("flatten") {
            !std::mem::replace(&mut self.is_group, true)
        } else {
            return Err(meta.error("expected default, samples, flatten or without"));
        };
        if is_new { Ok(()) } else { Err(meta.error("said twice")) }
    }
}

/// The doc comment on one line.
fn meaning(attributes: &[Attribute]) -> String {
    let line = |attribute: &Attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(line), .. }) => Some(line.value().trim().to_owned()),
            _ => None,
        },
        _ => None,
    };
    attributes.iter().filter_map(line).collect::<Vec<_>>().join(" ")
}
