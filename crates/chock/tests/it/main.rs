//! The whole program, against a real git, a real kernel and a strict provider.

mod ask;
mod cases;
mod denials;
mod exec;
mod fake;
mod input;
mod json;
mod kill;
mod machine;
mod observe;
mod scenarios;
mod screen;
mod tasks;
mod words;
mod yard;
