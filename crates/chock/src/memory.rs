//! What a session is told of the notes that earlier ones wrote.

use chock_tools::{Listed, Notebook};

use crate::exit::causes;
use crate::instructions::Told;
use crate::settings::digest;
use crate::visible::visible_line;

/// The most bytes of rows that a prompt holds; `read_memory` lists them all.
const ROWS_BYTES_MAX: usize = 16 << 10;

impl Told {
    /// Takes the names and descriptions of the project's notes, and says which cannot be read.
    ///
    /// Nothing of a note stops a start: it is not the person's word.
    pub(crate) fn remember(&mut self, notebook: &Notebook) {
        let all = match notebook.list() {
            Ok(all) => all,
            Err(fault) => {
                self.notes.push(format!("the agent is told of no notes: {}", causes(&fault)));
                return;
            }
        };
        for listed in &all {
            if let Err(fault) = &listed.note {
                let name = visible_line(&listed.name);
                self.notes.push(format!("the note {name} cannot be read: {}", causes(fault)));
            }
        }
        let mut bytes = 0;
        for (number, listed) in all.iter().enumerate() {
            let row = visible_line(&listed.row());
            bytes += row.len();
            if bytes > ROWS_BYTES_MAX {
                self.memory.push(left_out(&all[number..]));
                break;
            }
            self.memory.push(row);
        }
        if !self.memory.is_empty() {
            self.files.insert("notes".to_owned(), digest(&self.memory.join("\n")));
        }
    }
}

fn left_out(rest: &[Listed]) -> String {
    format!("and {} more: read_memory without a name lists them", rest.len())
}
