//! A member of the struct: a field with what is said of it, or a group of fields.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, ExprLit, Ident, Lit, Meta, Token, Type, bracketed, parenthesized, token};

use crate::text::Value;

pub struct Member {
    pub name: Ident,
    pub kind: Kind,
}

pub enum Kind {
    /// A field, whose default is the first value.
    Field { key: String, default: Value, meaning: String, samples: Vec<Value>, paper: Option<Value> },
    /// A group, of which the fields `without` are left out, and of some of which the paper has other values.
    Group { of: Type, without: Vec<String>, paper: Vec<(String, Value)> },
}

/// What the attribute says.
#[derive(Default)]
struct Said {
    default: Option<Value>,
    samples: Option<Vec<Value>>,
    without: Option<Vec<String>>,
    /// The value of a field, or those of a group.
    paper: Option<Value>,
    papers: Option<Vec<(String, Value)>>,
    is_group: bool,
}

impl Member {
    pub fn of(field: &syn::Field) -> syn::Result<Self> {
        let Some(name) = field.ident.clone() else { unreachable!("the fields have names") };
        let wrong = |reason: &str| Err(syn::Error::new(name.span(), reason));
        let kind = match Said::of(&field.attrs)? {
            Said { is_group: true, default: None, samples: None, paper: None, without, papers } => {
                let (without, paper) = (without.unwrap_or_default(), papers.unwrap_or_default());
                Kind::Group { of: field.ty.clone(), without, paper }
            }
            Said { is_group: true, .. } => return wrong("flatten beside a default, samples or a value of the paper"),
            Said { papers: Some(_), .. } => return wrong("paper(...) is said of a group, and here without flatten"),
            Said { without: Some(_), .. } => return wrong("without(...) is said of a group, and here without flatten"),
            Said { default: None, .. } => return wrong("a field has a default: #[field(default = ...)]"),
            Said { default: Some(default), samples, paper, .. } => {
                let (key, meaning) = (name.unraw().to_string(), meaning(&field.attrs));
                if meaning.is_empty() {
                    return wrong("the doc comment of a field is its meaning, and is missing");
                }
                Kind::Field { key, default, meaning, samples: samples.unwrap_or_default(), paper }
            }
        };
        Ok(Self { name, kind })
    }

    /// Its part of the table.
    pub fn part(&self) -> TokenStream {
        match &self.kind {
            Kind::Field { key, default, meaning, samples, paper } => {
                let paper = paper.as_ref().map_or_else(
                    || quote!(::core::option::Option::None),
                    |value| quote!(::core::option::Option::Some(#value)),
                );
                quote! {
                    ::imbrex::config::derived::Part::Field(::imbrex::config::Field {
                        key: #key,
                        default: #default,
                        meaning: #meaning,
                        samples: &[#(#samples),*],
                        paper: #paper,
                    })
                }
            }
            Kind::Group { of, without, paper } => {
                let paper = paper.iter().map(|(key, value)| quote!((#key, #value)));
                quote! {
                    ::imbrex::config::derived::Part::Group {
                        fields: <#of as ::imbrex::config::Configuration>::FIELDS,
                        without: &[#(#without),*],
                        paper: &[#(#paper),*],
                    }
                }
            }
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
        } else if meta.path.is_ident("paper") && meta.input.peek(token::Paren) {
            let list;
            parenthesized!(list in meta.input);
            let values = Punctuated::<Valued, Token![,]>::parse_terminated(&list)?;
            self.papers.replace(values.into_iter().map(|Valued(key, value)| (key, value)).collect()).is_none()
        } else if meta.path.is_ident("paper") {
            self.paper.replace(meta.value()?.parse()?).is_none()
        } else if meta.path.is_ident("flatten") {
            !std::mem::replace(&mut self.is_group, true)
        } else {
            return Err(meta.error("expected default, samples, paper, flatten or without"));
        };
        if is_new { Ok(()) } else { Err(meta.error("said twice")) }
    }
}

/// A key and its value.
struct Valued(String, Value);

impl Parse for Valued {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let key = input.call(Ident::parse_any)?.unraw().to_string();
        input.parse::<Token![=]>()?;
        Ok(Self(key, input.parse()?))
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
