//! Values in attributes, and the text of TOML that they stand for.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream};
use syn::{Ident, Lit, Token, braced, token};

/// A number, a truth value, a text, `inf`, or an empty table.
pub struct Value {
    /// The value as it would be written in TOML.
    pub text: String,
    /// What is one in Rust too.
    literal: Option<TokenStream>,
}

impl Value {
    /// The expression of this value. The compiler holds a number or a truth value to the type of the field; what is a
    /// text in TOML may be of any type, and is read as it would be from a file.
    pub fn expression(&self) -> TokenStream {
        let text = &self.text;
        self.literal.clone().unwrap_or_else(|| quote!(::imbrex::config::derived::default(#text)))
    }
}

impl Parse for Value {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.peek(token::Brace) {
            let content;
            braced!(content in input);
            return if content.is_empty() { Ok(text("{}")) } else { Err(content.error("only an empty table")) };
        }
        if input.peek(Ident) {
            let name: Ident = input.parse()?;
            let is_infinite = name == "inf";
            return is_infinite.then(|| text("inf")).ok_or_else(|| syn::Error::new(name.span(), WANTED));
        }
        let sign: Option<Token![-]> = input.parse()?;
        let literal: Lit = input.parse()?;
        let (digits, suffix) = match &literal {
            Lit::Int(number) => (number.base10_digits().to_owned(), number.suffix()),
            Lit::Float(number) => (number.base10_digits().to_owned(), number.suffix()),
            Lit::Bool(is) if sign.is_none() => (is.value.to_string(), ""),
            Lit::Str(string) if sign.is_none() => {
                let string = string.value();
                if string.contains(['"', '\\']) || string.contains(char::is_control) {
                    return Err(syn::Error::new_spanned(literal, "a text here has no quotes and nothing to escape"));
                }
                return Ok(text(&format!("\"{string}\"")));
            }
            _ => return Err(syn::Error::new_spanned(literal, WANTED)),
        };
        if !suffix.is_empty() {
            return Err(syn::Error::new_spanned(literal, "a number here is written without a suffix, as in TOML"));
        }
        let minus = if sign.is_some() { "-" } else { "" };
        Ok(Self { text: format!("{minus}{digits}"), literal: Some(quote!(#sign #literal)) })
    }
}

const WANTED: &str = "a value as TOML has it: a number, true or false, a text, inf, or {}";

fn text(text: &str) -> Value {
    Value { text: text.to_owned(), literal: None }
}

impl ToTokens for Value {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.text.to_tokens(tokens);
    }
}
