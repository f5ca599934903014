//! Programs that start a command for each thing that they find or read.

use super::launch;
use super::name::{Namer, Stage};
use super::script::{Part, Word};

/// Names what `find` starts.
pub(crate) fn find(namer: &mut Namer<'_>, words: &[Word], stage: &Stage<'_>) {
    let mut at = 0;
    let mut open = false;
    while let Some(word) = words.get(at) {
        let text = word.text();
        // Words that nobody knows may be `-exec` and a command.
        open |= !word.is_one() && !is_glob(word);
        open |= text.is_none() && word.beginning().is_empty() && !is_glob(word);
        at += 1;
        match text.as_deref() {
            Some("-exec" | "-execdir" | "-ok" | "-okdir") => {
                let rest = &words[at..];
                let ends = |word: &Word| matches!(word.text().as_deref(), Some(";" | "+"));
                let Some(end) = rest.iter().position(ends) else { return namer.unparsed() };
                let more = rest[end].text().as_deref() == Some("+");
                let mut command: Vec<_> =
                    rest[..end].iter().map(|word| word.replacing("{}")).collect();
                if more {
                    command.pop();
                    command.push(Word::words());
                }
                fed(namer, &command, stage);
                at += end + 1;
            }
            Some(";") if open => namer.unparsed(),
            Some(_) | None => {}
        }
    }
    if words.iter().any(|word| !word.is_one() && !is_glob(word)) {
        namer.unparsed();
    }
}

/// Whether a word is names of files by a pattern.
fn is_glob(word: &Word) -> bool {
    word.0.iter().all(|part| matches!(part, Part::Text(_) | Part::Words))
        && word.0.iter().any(|part| matches!(part, Part::Text(text) if !text.is_empty()))
}

/// Names a command that is started with words of somewhere else.
fn fed(namer: &mut Namer<'_>, command: &[Word], stage: &Stage<'_>) {
    if command.is_empty() {
        return namer.unparsed();
    }
    namer.command_of_its_own(command, stage);
}

/// Names what `fd` starts: all words after its option.
pub(crate) fn fd(namer: &mut Namer<'_>, words: &[Word], stage: &Stage<'_>) {
    if words.iter().any(|word| !word.is_one() && !is_glob(word)) {
        namer.unparsed();
    }
    for (at, word) in words.iter().enumerate() {
        let beginning = word.beginning();
        match word.text().as_deref() {
            Some("-x" | "-X" | "--exec" | "--exec-batch") => {
                let batch = matches!(word.text().as_deref(), Some("-X" | "--exec-batch"));
                let rest = words[at + 1..].iter();
                let rest = rest.take_while(|word| word.text().as_deref() != Some(";"));
                let mut command: Vec<_> = rest.map(placeholders).collect();
                // Without a placeholder the names come last.
                command.push(if batch { Word::words() } else { Word(vec![Part::Some]) });
                return fed(namer, &command, stage);
            }
            _ if beginning.starts_with("--exec")
                || beginning.starts_with("-x")
                || beginning.starts_with("-X") =>
            {
                return namer.unparsed();
            }
            Some(_) | None => {}
        }
    }
}

fn placeholders(word: &Word) -> Word {
    let known = ["{}", "{/}", "{//}", "{.}", "{/.}"];
    known.iter().fold(word.clone(), |word, known| word.replacing(known))
}

/// Options of `xargs`, as the table of launchers writes them.
const XARGS: &str = "-0 -o -p -r -t -x -a= -d= -E= -L= -n= -P= -s= -R= -S= -I% -J% -i& -l? -e? \
                     --null --open-tty --interactive --no-run-if-empty --verbose --exit \
                     --show-limits --arg-file= --delimiter= --max-args= --max-procs= --max-chars= \
                     --max-lines? --eof? --process-slot-var= --replace&";

/// Names what `xargs` starts.
pub(crate) fn xargs(namer: &mut Namer<'_>, words: &[Word], stage: &Stage<'_>) {
    let mut given = Vec::new();
    let Ok(command) = launch::options(XARGS, words, &mut given) else { return namer.unparsed() };
    let Ok(placeholder) = launch::placeholder(&given) else { return namer.unparsed() };
    if command.is_empty() {
        return;
    }
    let command: Vec<_> = match placeholder {
        Some(placeholder) => command.iter().map(|word| word.replacing(&placeholder)).collect(),
        None => command.iter().cloned().chain([Word::words()]).collect(),
    };
    fed(namer, &command, stage);
}

/// Options of `parallel`, as the table of launchers writes them.
const PARALLEL: &str = "-0 -k -q -t -u -v -X -m --keep-order --bar --eta --line-buffer --lb \
                        --ungroup --no-notice --will-cite --dry-run -j= -n= -N= -a= -d= -C= -P= \
                        -I~ --jobs= --halt= --joblog= --retries= --timeout= --delay= --colsep= \
                        --max-args= --tag --null --progress";

/// Names what `parallel` starts: a line, to which what stands after `:::` is given.
pub(crate) fn parallel(namer: &mut Namer<'_>, words: &[Word], stage: &Stage<'_>) {
    let mut given = Vec::new();
    let known = words.iter().all(|word| word.text().is_some_and(|text| text != "--"));
    let rest = match launch::options(PARALLEL, words, &mut given) {
        Ok(rest) if known => rest,
        Ok(_) | Err(_) => return namer.unparsed(),
    };
    let parts =
        |word: &Word| matches!(word.text().as_deref(), Some(":::" | "::::" | ":::+" | "::::+"));
    let end = rest.iter().position(parts).unwrap_or(rest.len());
    let (command, given) = rest.split_at(end);
    if !command.is_empty() {
        return lined(namer, command, stage);
    }
    match given.split_first() {
        // Every word is a line.
        Some((sign, lines))
            if sign.text().as_deref() == Some(":::") && !lines.iter().any(parts) =>
        {
            for line in lines {
                namer.elsewhere(line, &stage.scene());
            }
        }
        Some(_) | None => namer.unparsed(),
    }
}

/// Names a line in which each placeholder is a quoted word; without one, the word comes last.
fn lined(namer: &mut Namer<'_>, command: &[Word], stage: &Stage<'_>) {
    let command: Vec<_> = command.iter().map(placeholders).collect();
    let mut line = launch::join(&command);
    let quoted = || Part::Text("\"$1\"".to_owned());
    if line.text().is_some() {
        line.0.extend([Part::Text(" ".to_owned()), quoted()]);
    }
    for part in line.0.iter_mut().filter(|part| **part == Part::Some) {
        *part = quoted();
    }
    namer.elsewhere(&line, &stage.scene());
}
