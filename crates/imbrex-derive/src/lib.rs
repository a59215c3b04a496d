//! `#[derive(Configuration)]`: what a layer can be set to, stated once, in the struct that holds it. It makes the table
//! of fields, the defaults and the parser. The trait, in `imbrex::config`, says how it is used.
//!
//! What it generates names `::imbrex`, so a crate that uses it has to know Imbrex by that name.
#![forbid(unsafe_code)]

mod field;
mod text;

use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Fields, parse_macro_input};

use field::{Kind, Member};

/// Implements `Configuration` and `Default` for a struct whose members are fields or groups of them.
#[proc_macro_derive(Configuration, attributes(field))]
pub fn configuration(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    implementation(&input).unwrap_or_else(|e| e.to_compile_error()).into()
}

fn implementation(input: &DeriveInput) -> syn::Result<TokenStream> {
    let members = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => fields.named.iter().map(Member::of).collect::<syn::Result<Vec<_>>>()?,
            other => return Err(syn::Error::new(other.span(), "a configuration names its fields")),
        },
        _ => return Err(syn::Error::new(input.ident.span(), "a configuration is a struct")),
    };
    if !input.generics.params.is_empty() {
        return Err(syn::Error::new(input.generics.span(), "a configuration has no parameters"));
    }
    let (name, defaults) = (&input.ident, members.iter().map(Member::default));
    let (table, parser) = (table(&members), parser(&members));
    Ok(quote! {
        #[automatically_derived]
        impl ::core::default::Default for #name {
            fn default() -> Self {
                Self { #(#defaults),* }
            }
        }

        #[automatically_derived]
        impl ::imbrex::config::Configuration for #name {
            #table
            #parser
        }
    })
}

/// The table, with those of the groups where these stand.
fn table(members: &[Member]) -> TokenStream {
    let parts = members.iter().map(Member::part);
    quote! {
        const FIELDS: &'static [::imbrex::config::Field] = {
            const PARTS: &[::imbrex::config::derived::Part] = &[#(#parts),*];
            &::imbrex::config::derived::joined::<{ ::imbrex::config::derived::count(PARTS) }>(PARTS)
        };
    }
}

/// What sets a field by its key, here or in a group.
fn parser(members: &[Member]) -> TokenStream {
    let set = members.iter().map(|Member { name, kind }| match kind {
        Kind::Field { key, .. } => quote! {
            if key == #key {
                self.#name = ::imbrex::config::derived::read(value)?;
                return ::core::result::Result::Ok(true);
            }
        },
        Kind::Group { without, .. } => quote! {
            if #(key != #without &&)* ::imbrex::config::Configuration::set(&mut self.#name, key, value)? {
                return ::core::result::Result::Ok(true);
            }
        },
    });
    quote! {
        fn set(&mut self, key: &str, value: &::imbrex::config::derived::Value)
            -> ::core::result::Result<bool, ::imbrex::config::derived::Wrong> {
            #(#set)*
            ::core::result::Result::Ok(false)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(input: &str) -> String {
        implementation(&syn::parse_str(input).unwrap()).unwrap_err().to_string()
    }

    #[test]
    fn what_is_missing_or_meaningless_is_told() {
        for (body, reason) in [
            ("#[field(default = 1)] size: u32", "the doc comment"),
            ("/// blocks\n size: u32", "has a default"),
            ("/// blocks\n #[field(samples = [1])] size: u32", "has a default"),
            ("/// blocks\n #[field(default = 1u32)] size: u32", "without a suffix"),
            ("/// blocks\n #[field(default = many)] size: u32", "a value as TOML has it"),
            ("/// blocks\n #[field(default = \"a\\\"b\")] size: String", "no quotes"),
            ("/// blocks\n #[field(default = 1, default = 2)] size: u32", "said twice"),
            ("/// blocks\n #[field(default = 1, sample = [1])] size: u32", "expected"),
            ("/// blocks\n #[field(default = 1, without(a))] size: u32", "without flatten"),
            ("/// blocks\n #[field(default = 1, paper(a = 1))] size: u32", "without flatten"),
            ("/// blocks\n #[field(default = 1, paper = many)] size: u32", "a value as TOML has it"),
            ("#[field(flatten, default = 1)] sizes: Sizes", "flatten beside"),
            ("#[field(flatten, paper = 1)] sizes: Sizes", "flatten beside"),
            ("#[field(flatten, samples = [1])] sizes: Sizes", "flatten beside"),
        ] {
            let said = refused(&format!("struct Config {{ {body} }}"));
            assert!(said.contains(reason), "{body}: {said}");
        }
        for (input, reason) in [
            ("enum Config { A }", "is a struct"),
            ("struct Config(u32);", "names its fields"),
            ("struct Config;", "names its fields"),
            ("struct Config<T> {}", "no parameters"),
        ] {
            assert!(refused(input).contains(reason), "{input}");
        }
    }

    #[test]
    fn what_is_right_is_taken() {
        let input = "struct Config {
            /// blocks
            #[field(default = 250_000, samples = [1, 0.5, -2, inf, true, \"a\", {}], paper = 7_000)]
            r#type: u32,
            #[field(flatten, without(a, b), paper(c = \"c\", type = 3))]
            sizes: Sizes,
        }";
        let made = implementation(&syn::parse_str(input).unwrap()).unwrap().to_string();
        assert!(made.contains("paper : & [(\"c\" , \"\\\"c\\\"\") , (\"type\" , \"3\")]"), "{made}");
        for part in [
            "Some (\"7000\")",
            "key : \"type\"",
            "default : \"250000\"",
            "\"-2\" , \"inf\" , \"true\" , \"\\\"a\\\"\" , \"{}\"",
        ] {
            assert!(made.contains(part), "{part}: {made}");
        }
    }
}
