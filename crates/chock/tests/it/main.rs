//! The whole program, against a real git, a real kernel and a strict provider.

mod cases;
mod fake;
mod input;
mod kill;
mod scenarios;
mod yard;
