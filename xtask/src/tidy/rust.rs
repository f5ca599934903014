//! A Rust file as the rules see it: its words in order, its functions, and which lines are tests.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// One token, flat, with its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// An identifier, a punctuation character, a bracket or a literal.
    pub(super) text: String,
    /// Its line, counted from 1.
    pub(super) line: usize,
}

/// One function with a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Function {
    /// Its name.
    pub(super) name: String,
    /// Its first line, counted from 1.
    pub(super) line: usize,
    /// How many lines it takes from its signature to its closing brace.
    pub(super) lines: usize,
}

/// A name given to a type or a module.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Named {
    /// The name.
    pub(super) name: String,
    /// Its line, counted from 1.
    pub(super) line: usize,
}

/// One parsed file.
#[derive(Debug)]
pub(super) struct Code {
    /// Whether the whole file is a test, a benchmark or an example.
    pub(super) is_test: bool,
    /// Every token.
    pub(super) words: Vec<Word>,
    /// Every function.
    pub(super) functions: Vec<Function>,
    /// Every type and module defined here.
    pub(super) named: Vec<Named>,
    /// Modules in files of their own that are compiled for tests only.
    pub(super) test_modules: Vec<String>,
    /// Kinds of the items at the top of the file, with their lines.
    pub(super) items: Vec<(ItemKind, usize)>,
    test_lines: Vec<(usize, usize)>,
    lines: usize,
}

/// What an item at the top of a file is, as far as a rule asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemKind {
    /// `mod name;`
    Module,
    /// `use` or `extern crate`.
    Use,
    /// Compiled for tests only.
    Test,
    /// Anything with behaviour or a layout.
    Other,
}

impl Code {
    /// Parses a file's text.
    pub(super) fn parse(path: &str, text: &str) -> syn::Result<Self> {
        let file = syn::parse_file(text)?;
        let mut words = Vec::new();
        flatten(text.parse().map_err(syn::Error::from)?, &mut words);
        let mut found = Found::default();
        found.visit_file(&file);
        Ok(Self {
            is_test: is_test_path(path),
            words,
            functions: found.functions,
            named: found.named,
            test_modules: found.test_modules,
            items: file.items.iter().map(|item| (kind(item), first_line(item))).collect(),
            test_lines: found.test_lines,
            lines: text.lines().count(),
        })
    }

    /// Returns the tokens outside tests.
    pub(super) fn shipped(&self) -> Vec<&Word> {
        self.words.iter().filter(|word| !self.is_test_line(word.line)).collect()
    }

    /// Counts the lines, those of `#[cfg(test)]` items left out.
    pub(super) fn shipped_lines(&self) -> usize {
        if self.is_test {
            return self.lines;
        }
        (1..=self.lines).filter(|line| !self.is_test_line(*line)).count()
    }

    /// Says whether a line belongs to a test.
    pub(super) fn is_test_line(&self, line: usize) -> bool {
        self.is_test || self.test_lines.iter().any(|(first, last)| (*first..=*last).contains(&line))
    }
}

/// Says whether everything in a file of this path is a test, a benchmark or an example.
fn is_test_path(path: &str) -> bool {
    path.split('/').any(|part| matches!(part, "tests" | "benches" | "examples"))
}

fn flatten(stream: TokenStream, words: &mut Vec<Word>) {
    for token in stream {
        let line = token.span().start().line;
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                words.push(Word { text: open.to_owned(), line });
                flatten(group.stream(), words);
                let line = group.span_close().end().line;
                words.push(Word { text: close.to_owned(), line });
            }
            TokenTree::Ident(name) => words.push(Word { text: name.to_string(), line }),
            TokenTree::Punct(mark) => words.push(Word { text: mark.to_string(), line }),
            TokenTree::Literal(value) => words.push(Word { text: value.to_string(), line }),
        }
    }
}

fn kind(item: &syn::Item) -> ItemKind {
    if is_for_tests(attributes(item)) {
        return ItemKind::Test;
    }
    match item {
        syn::Item::Mod(module) if module.content.is_none() => ItemKind::Module,
        syn::Item::Use(_) | syn::Item::ExternCrate(_) => ItemKind::Use,
        _ => ItemKind::Other,
    }
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::ExternCrate(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::ForeignMod(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::TraitAlias(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Union(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Says whether a `cfg` among the attributes asks for `test`.
fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let syn::Meta::List(list) = &attribute.meta else { return false };
        let words: Vec<String> =
            list.tokens.clone().into_iter().map(|token| token.to_string()).collect();
        list.path.is_ident("cfg")
            && (words == ["test"]
                || (words.first().is_some_and(|word| word == "all")
                    && list.tokens.to_string().contains("test")
                    && !list.tokens.to_string().contains("not (test")))
    })
}

fn first_line(spanned: &impl Spanned) -> usize {
    spanned.span().start().line
}

/// Walks one file.
#[derive(Default)]
struct Found {
    functions: Vec<Function>,
    named: Vec<Named>,
    test_modules: Vec<String>,
    test_lines: Vec<(usize, usize)>,
}

impl Found {
    fn name(&mut self, name: &syn::Ident) {
        self.named.push(Named { name: name.to_string(), line: name.span().start().line });
    }

    fn function(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let line = first_line(signature);
        let lines = body.brace_token.span.close().end().line + 1 - line;
        self.functions.push(Function { name: signature.ident.to_string(), line, lines });
    }

    fn test(&mut self, spanned: &impl Spanned) {
        let span = spanned.span();
        self.test_lines.push((span.start().line, span.end().line));
    }
}

impl<'ast> Visit<'ast> for Found {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if is_for_tests(attributes(item)) {
            self.test(item);
            if let syn::Item::Mod(module) = item
                && module.content.is_none()
            {
                self.test_modules.push(module.ident.to_string());
            }
        }
        visit::visit_item(self, item);
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if is_for_tests(&item.attrs) {
            self.test(item);
        }
        self.function(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.function(&item.sig, body);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.name(&item.ident);
        visit::visit_item_mod(self, item);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.name(&item.ident);
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.name(&item.ident);
        visit::visit_item_enum(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.name(&item.ident);
        visit::visit_item_trait(self, item);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.name(&item.ident);
        visit::visit_item_type(self, item);
    }

    fn visit_item_union(&mut self, item: &'ast syn::ItemUnion) {
        self.name(&item.ident);
        visit::visit_item_union(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Code {
        Code::parse("crates/x/src/a.rs", text).expect("the sample is Rust")
    }

    #[test]
    fn lines_of_tests_do_not_count() {
        let code = parse("//! A.\nfn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n");
        assert_eq!(code.shipped_lines(), 3);
        assert!(code.is_test_line(6) && !code.is_test_line(2));
        let words: Vec<&str> = code.shipped().iter().map(|word| word.text.as_str()).collect();
        assert!(words.contains(&"a") && !words.contains(&"b"));
    }

    #[test]
    fn only_a_cfg_that_asks_for_tests_makes_a_test() {
        let cases = [
            ("#[cfg(test)]", true),
            ("#[cfg(all(test, unix))]", true),
            ("#[cfg(not(test))]", false),
            ("#[cfg(all(unix, not(test)))]", false),
            ("#[cfg(any(test, unix))]", false),
            ("#[cfg(feature = \"test\")]", false),
        ];
        for (attribute, expected) in cases {
            let code = parse(&format!("{attribute}\nfn a() {{}}"));
            assert_eq!(code.is_test_line(2), expected, "{attribute}");
        }
    }

    #[test]
    fn a_function_is_as_long_as_from_signature_to_brace() {
        let code = parse("/// Says.\n#[inline]\nfn a(\n    b: u8,\n) {\n    drop(b);\n}\n");
        assert_eq!(code.functions, [Function { name: "a".to_owned(), line: 3, lines: 5 }]);
    }

    #[test]
    fn methods_and_defaults_count_and_declarations_do_not() {
        let code = parse("trait T { fn a(); fn b() {} }\nimpl S { fn c() {} }");
        let names: Vec<&str> = code.functions.iter().map(|found| found.name.as_str()).collect();
        assert_eq!(names, ["b", "c"]);
    }
}
