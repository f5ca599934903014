//! The attacks by name.

mod files;
mod ipc;
mod kernel;
mod leaks;
mod network;
mod processes;
mod set_id;

use std::io;
use std::process::ExitCode;

/// How an attack ends: it got through, it was refused with these words, or it could not be tried.
#[derive(Debug)]
pub(crate) enum End {
    Through(String),
    Refused(String),
    Untried(String),
}

/// An attack takes its words and says how it ended.
pub(crate) type Attack = fn(&[String]) -> End;

const ALL: [&[(&str, Attack)]; 7] = [
    files::ATTACKS,
    ipc::ATTACKS,
    kernel::ATTACKS,
    leaks::ATTACKS,
    network::ATTACKS,
    processes::ATTACKS,
    set_id::ATTACKS,
];

pub(crate) fn attempt(words: &[String]) -> ExitCode {
    let (code, answer) = answer(words);
    println!("{answer}");
    ExitCode::from(code)
}

/// Attacks, and says the exit code and the last line.
pub(crate) fn answer(words: &[String]) -> (u8, String) {
    let Some((name, rest)) = words.split_first() else { return (4, "no attempt".to_owned()) };
    let known = ALL.into_iter().flatten().find(|(known, _)| known == name);
    let Some((_, attack)) = known else { return (4, format!("no attempt `{name}`")) };
    let sibling = Sibling::wanted_by(rest);
    let rest: Vec<String> = rest.iter().map(|word| sibling.name(word)).collect();
    match attack(&rest) {
        End::Through(words) => (0, format!("through: {words}")),
        End::Refused(words) => (3, format!("refused: {words}")),
        End::Untried(words) => (4, format!("untried: {words}")),
    }
}

/// What the standard library answers, as an end.
fn end<T>(result: io::Result<T>) -> End {
    match result {
        Ok(_) => End::Through("done".to_owned()),
        Err(error) => End::Refused(error.to_string()),
    }
}

/// What a raw call answers, as an end; some errors mean that the door was open.
fn end_of_call(answer: crate::sys::Answer, through: &[i32]) -> End {
    match answer {
        Ok(value) => End::Through(format!("value {value}")),
        Err(errno) if through.contains(&errno) => {
            End::Through(format!("{}", io::Error::from_raw_os_error(errno)))
        }
        Err(errno) => End::Refused(format!("{}", io::Error::from_raw_os_error(errno))),
    }
}

/// Another process of the same user, for words that speak of `@sibling`.
struct Sibling(Option<std::process::Child>);

impl Sibling {
    fn wanted_by(words: &[String]) -> Self {
        let wanted = words.iter().any(|word| word.contains("@sibling"));
        Self(wanted.then(|| {
            std::process::Command::new("sleep").arg("60").spawn().expect("another process")
        }))
    }

    fn name(&self, word: &str) -> String {
        let id = self.0.as_ref().map_or(0, std::process::Child::id);
        word.replace("@sibling", &id.to_string())
    }
}

impl Drop for Sibling {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
