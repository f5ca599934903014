//! Cargo: a crate with a vendored dependency, a build script and a macro of its own.

use crate::job::Job;

fn a_crate(name: &'static str) -> Job {
    Job::new(name)
        .needs_that("cargo --version")
        .file(".gitignore", "target/\n")
        .file(
            "Cargo.toml",
            "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n\
             [dependencies]\ntiny = \"1\"\nmade = { path = \"made\" }\n",
        )
        .file(
            ".cargo/config.toml",
            "[source.crates-io]\nreplace-with = \"vendored\"\n\n\
             [source.vendored]\ndirectory = \"vendor\"\n",
        )
        .file("vendor/tiny/Cargo.toml", "[package]\nname = \"tiny\"\nversion = \"1.2.3\"\nedition = \"2021\"\n")
        .file("vendor/tiny/src/lib.rs", "pub fn double(n: u32) -> u32 {\n    n * 2\n}\n")
        .file("vendor/tiny/.cargo-checksum.json", "{\"files\":{}}")
        .file(
            "made/Cargo.toml",
            "[package]\nname = \"made\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[lib]\nproc-macro = true\n",
        )
        .file(
            "made/src/lib.rs",
            "use proc_macro::TokenStream;\n\n#[proc_macro]\npub fn twenty(_: TokenStream) -> TokenStream {\n    \
             \"20\".parse().expect(\"a number\")\n}\n",
        )
        .file(
            "build.rs",
            "fn main() {\n    let out = std::env::var(\"OUT_DIR\").expect(\"a directory\");\n    \
             std::fs::write(format!(\"{out}/one.rs\"), \"1\").expect(\"a file\");\n}\n",
        )
        .file(
            "src/main.rs",
            "use std::thread;\n\nfn answer() -> u32 {\n    \
             let part = thread::spawn(|| tiny::double(made::twenty!()));\n    \
             part.join().expect(\"a thread\") + include!(concat!(env!(\"OUT_DIR\"), \"/one.rs\")) + 1\n}\n\n\
             fn main() {\n    println!(\"the answer is {}\", answer());\n}\n\n\
             #[cfg(test)]\nmod tests {\n    #[test]\n    fn the_answer_is_known() {\n        \
             assert_eq!(super::answer(), 42);\n    }\n}\n",
        )
}

#[test]
fn cargo_builds_tests_and_runs_a_crate_with_vendored_dependencies() {
    a_crate("cargo").runs("cargo build -q && cargo test -q && cargo run -q", "the answer is 42");
}

#[test]
fn clippy_checks_a_crate() {
    a_crate("cargo clippy")
        .needs_that("cargo clippy --version")
        .runs("cargo clippy -q -- -D warnings && echo clean", "clean");
}
