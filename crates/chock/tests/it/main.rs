//! The whole program, against a real git, a real kernel and a strict provider.

mod ask;
mod binds;
mod cases;
mod denials;
mod deny;
mod disk;
mod exec;
mod fake;
mod input;
mod json;
mod kill;
mod machine;
mod observe;
mod organisation;
mod policy;
mod rows;
mod scenarios;
mod screen;
mod seals;
mod secrets;
mod shelf;
mod sinks;
mod tasks;
mod words;
mod writes;
mod yard;
