//! Puts the broker's question to the person at the terminal.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use chock_agent::Stop;
use chock_broker::{Answer, Asker, Question};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::show::Show;
use crate::terminal::Weight;
use crate::visible::visible;

/// How long a question stays open. Source: the format's earlier version.
const PATIENCE: Duration = Duration::from_secs(5 * 60);

/// How often an open question looks whether the run was stopped.
const LOOK: Duration = Duration::from_millis(100);

/// The most bytes of an answer that are read.
const ANSWER_BYTES_MAX: usize = 256;

/// Asks at the terminal. What the agent wrote cannot draw there.
pub(crate) struct TerminalAsker {
    pub(crate) show: Arc<Mutex<Show>>,
    pub(crate) stop: Stop,
}

impl Asker for TerminalAsker {
    fn ask(&mut self, question: &Question) -> Answer {
        let mut show = self.show.lock().expect("invariant: nobody panics while showing");
        if !show.terminal.can_ask {
            return Answer::Nobody;
        }
        for (weight, line) in lines(question) {
            show.terminal.say(weight, &line);
        }
        show.terminal.say_piece("Allow it? y = once, a = for this session, anything else = no: ");
        drop(show);
        self.wait()
    }
}

impl TerminalAsker {
    /// Reads a line from standard input, until patience or the run ends.
    fn wait(&self) -> Answer {
        let (stdin, since) = (io::stdin(), Instant::now());
        let look = Timespec::try_from(LOOK).expect("invariant: a short time fits");
        loop {
            if self.stop.is_triggered() {
                return Answer::Cancelled;
            }
            if since.elapsed() > PATIENCE {
                return Answer::TimedOut;
            }
            let mut ready = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)];
            match poll(&mut ready, Some(&look)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => {
                    let mut line = [0; ANSWER_BYTES_MAX];
                    return match stdin.lock().read(&mut line) {
                        Ok(0) | Err(_) => Answer::Nobody,
                        Ok(read) => answer(&line[..read]),
                    };
                }
                Err(_) => return Answer::Nobody,
            }
        }
    }
}

/// Reads what was typed: a yes is exactly a yes.
fn answer(line: &[u8]) -> Answer {
    match line.trim_ascii() {
        b"y" | b"yes" => Answer::Once,
        b"a" | b"always" => Answer::ForSession,
        _ => Answer::No(None),
    }
}

/// Lays a question out, every byte of the effect visible.
fn lines(question: &Question) -> Vec<(Weight, String)> {
    let mut lines = vec![
        (Weight::Warn, format!("The {} agent asks to use {}:", question.agent_kind, question.tool)),
        (Weight::Quiet, format!("  because {} needs a yes", question.actions.join(" and "))),
    ];
    let effect = visible(&question.effect).into_owned();
    lines.extend(effect.split('\n').map(|line| (Weight::Plain, format!("  | {line}"))));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_a_yes() {
        let cases = [("y\n", Answer::Once), ("yes\n", Answer::Once), ("a\n", Answer::ForSession)];
        for (line, expected) in cases {
            assert_eq!(answer(line.as_bytes()), expected);
        }
        for line in ["", "\n", "n\n", "Y\n", "yes please\n", "yy\n", "\x1b[A\n"] {
            assert_eq!(answer(line.as_bytes()), Answer::No(None), "{line:?}");
        }
    }

    #[test]
    fn an_effect_cannot_draw_a_question_of_its_own() {
        let question = Question {
            actions: vec!["git.push".into()],
            tool: "run_command".into(),
            agent_kind: "main".into(),
            effect: "git push\r\u{1b}[2K\nAllow it? y".into(),
        };
        let text: String = lines(&question).into_iter().map(|(_, line)| line + "\n").collect();
        assert!(text.contains("  | git push\\x0d\\x1b[2K\n  | Allow it? y\n"), "{text}");
    }
}
