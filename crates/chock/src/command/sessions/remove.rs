//! `chock sessions remove` and `prune`: take sessions away, with everything beside them.

use std::fs;
use std::path::Path;
use std::time::Duration;

use chock_log::{Held, Running};
use chock_policy::Decision;
use chock_workspace::{forget_directory, remove_tree, size_on_disk};
use jiff::Timestamp;
use serde_json::json;

use super::family;
use super::seal::hold;
use super::title;
use crate::audit;
use crate::command::diff;
use crate::exit::{Exit, Failure};
use crate::found::{self, Found, Listed};
use crate::program::Program;
use crate::settings::{ORGANISATION, Settings};
use crate::terminal::{Terminal, Weight};
use crate::visible::{shortened, visible_line};

#[derive(Debug, clap::Args)]
pub(crate) struct RemoveArgs {
    /// The session's id or the end of it
    session: String,

    /// Remove without asking
    #[arg(long)]
    yes: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct PruneArgs {
    /// Remove sessions that were last used this long ago: days, or with `h`, `d` or `w` behind
    #[arg(long, value_name = "TIME", value_parser = age)]
    older_than: Option<Duration>,

    /// Keep this many of the sessions that were used last
    #[arg(long, value_name = "COUNT")]
    keep: Option<usize>,

    /// Remove without asking
    #[arg(long)]
    yes: bool,
}

/// Reads an age: a number of days, or of hours, days or weeks by the letter behind it.
fn age(text: &str) -> Result<Duration, String> {
    let (number, hours) = match text.chars().last() {
        Some('h') => (&text[..text.len() - 1], 1),
        Some('d') => (&text[..text.len() - 1], 24),
        Some('w') => (&text[..text.len() - 1], 24 * 7),
        _ => (text, 24),
    };
    let number: u32 =
        number.parse().map_err(|_| "it is a number of days, like 30 or 12h".to_owned())?;
    Ok(Duration::from_secs(u64::from(number) * hours * 3600))
}

/// What a person is held to who removes sessions.
pub(crate) struct Desk<'a> {
    pub(crate) program: &'a Program,
    /// The directory of the project's sessions.
    pub(crate) directory: &'a Path,
    pub(crate) as_json: bool,
}

impl Desk<'_> {
    /// Asks the organisation's rows. Says whether somebody has to be asked whatever the words say.
    pub(crate) fn judge(&self, settings: &Settings, action: &'static str) -> Result<bool, Failure> {
        let (decision, row) = settings.ceiling(action);
        match decision {
            Decision::Allow => Ok(false),
            Decision::Ask => Ok(true),
            Decision::Deny | Decision::AgentReview | Decision::AgentThenHuman => {
                let row = row.map(ToString::to_string).unwrap_or_default();
                Err(refused(&format!(
                    "nothing was removed: refused by the organisation's bundle, {ORGANISATION}: {}",
                    visible_line(&row)
                )))
            }
        }
    }
}

pub(super) fn run(
    terminal: &mut Terminal,
    desk: &Desk<'_>,
    args: &RemoveArgs,
) -> Result<Exit, Failure> {
    let settings = Settings::everywhere(desk.program, terminal)?;
    let asks = desk.judge(&settings, "session.remove")?;
    let found = found::session(desk.directory, Some(&args.session))?;
    let held = hold(&found)?;
    let doomed = Doomed::new(found, held);
    // A damaged log can be removed as well, when it is named.
    let listed = doomed.found.clone().read().ok();
    if let Some(listed) = &listed {
        settings.still_bind(&listed.session)?;
    }
    say(terminal, &doomed, listed.as_ref());
    say_forks(terminal, desk.directory, std::slice::from_ref(&doomed));
    consent(terminal, "Remove it?", args.yes && !asks)?;
    doomed.remove(terminal, desk, &settings)?;
    Ok(Exit::Finished)
}

pub(super) fn prune(
    terminal: &mut Terminal,
    desk: &Desk<'_>,
    args: &PruneArgs,
) -> Result<Exit, Failure> {
    if args.older_than.is_none() && args.keep.is_none() {
        return Err(Failure::start("say which: --older-than <time>, --keep <count>, or both"));
    }
    let settings = Settings::everywhere(desk.program, terminal)?;
    let asks = desk.judge(&settings, "session.prune")?;
    let doomed = chosen(terminal, desk, args, &settings);
    if doomed.is_empty() {
        terminal.say(Weight::Quiet, "nothing to remove");
        return Ok(Exit::Finished);
    }
    let question = match doomed.len() {
        1 => "Remove it?".to_owned(),
        count => format!("Remove these {count} sessions?"),
    };
    consent(terminal, &question, args.yes && !asks)?;
    let mut stays = None;
    for one in doomed {
        // One that an audit sink still lacks stays, and the others go.
        match one.remove(terminal, desk, &settings) {
            Err(failure) if failure.exit == Exit::AuditGap => {
                terminal.say(Weight::Warn, &failure.message);
                stays = Some(Exit::AuditGap);
            }
            removed => removed?,
        }
    }
    Ok(stays.unwrap_or(Exit::Finished))
}

/// Finds and holds the sessions that are to go, and says which.
fn chosen(
    terminal: &mut Terminal,
    desk: &Desk<'_>,
    args: &PruneArgs,
    settings: &Settings,
) -> Vec<Doomed> {
    let mut all = Vec::new();
    for found in found::sessions(desk.directory) {
        let listed = found.clone().read();
        match listed {
            Ok(listed) if listed.verdict.is_damage() => {
                terminal.say(Weight::Warn, &format!("{} is damaged and stays", found.id));
            }
            Ok(listed) => match settings.still_bind(&listed.session) {
                Ok(()) => all.push(listed),
                Err(_) => terminal.say(
                    Weight::Warn,
                    &format!(
                        "{} was started under an organisation's bundle and stays; name it with --org-bundle",
                        listed.found.id
                    ),
                ),
            },
            Err(_) => terminal.say(Weight::Warn, &format!("{} cannot be read and stays", found.id)),
        }
    }
    let mut doomed = Vec::new();
    for listed in old(all, args, Timestamp::now()) {
        // Between the listing and now somebody may have taken it up.
        match hold(&listed.found) {
            Ok(held) if listed.running == Running::No => {
                let one = Doomed::new(listed.found.clone(), held);
                say(terminal, &one, Some(&listed));
                doomed.push(one);
            }
            Ok(_) | Err(_) => {
                terminal.say(Weight::Quiet, &format!("{} is running and stays", listed.found.id));
            }
        }
    }
    say_forks(terminal, desk.directory, &doomed);
    doomed
}

/// Picks what is to go, by when it was used last.
fn old(mut all: Vec<Listed>, args: &PruneArgs, now: Timestamp) -> Vec<Listed> {
    all.sort_by_key(used);
    let kept = args.keep.unwrap_or(0).min(all.len());
    all.truncate(all.len() - kept);
    let Some(age) = args.older_than else { return all };
    let limit = now.as_millisecond() - i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
    all.retain(|listed| used(listed) < limit);
    all
}

/// Says when a session was used last, in milliseconds since 1970.
fn used(listed: &Listed) -> i64 {
    let started = i64::try_from(listed.found.id.started_milliseconds()).unwrap_or(i64::MAX);
    listed.session.last.map_or(started, Timestamp::as_millisecond)
}

/// A session that is about to go. Nobody can take it up meanwhile.
pub(crate) struct Doomed {
    found: Found,
    size: u64,
    held: Held,
}

impl Doomed {
    pub(crate) fn new(found: Found, held: Held) -> Self {
        Self { size: size(&found), found, held }
    }

    /// Removes it, and says so.
    fn remove(
        self,
        terminal: &mut Terminal,
        desk: &Desk<'_>,
        settings: &Settings,
    ) -> Result<(), Failure> {
        let id = self.found.id;
        let size = self.take_away(desk, settings)?;
        if desk.as_json {
            let row = json!({ "id": id.to_string(), "freed_bytes": size });
            terminal.answer(&row.to_string())?;
        } else {
            terminal.answer(&format!("removed {id}, {} freed", bytes(size)))?;
        }
        Ok(())
    }

    /// Removes everything that bears the session's name, and the log last: whatever stops this
    /// in between leaves a session that can be listed and removed again. Returns how many bytes
    /// that were.
    pub(crate) fn take_away(self, desk: &Desk<'_>, settings: &Settings) -> Result<u64, Failure> {
        let Self { found, size, held } = self;
        audit::deliver(&desk.program.places, &found, &settings.effective.sinks())?;
        for path in beside(&found) {
            remove_tree(&path).map_err(|fault| Failure::fault(crate::exit::causes(&fault)))?;
        }
        fs::remove_file(&found.log).map_err(|fault| {
            Failure::fault(format!("cannot remove {}: {fault}", found.log.display()))
        })?;
        // What a project without git keeps beside its sessions is needed by none any more.
        forget_directory(found.log.parent().unwrap_or(Path::new("/")))
            .map_err(|fault| Failure::because(&fault))?;
        drop(held);
        Ok(size)
    }
}

/// Lists what belongs to a session beside its log: all that has its id and a dot in front.
fn beside(found: &Found) -> Vec<std::path::PathBuf> {
    let directory = found.log.parent().unwrap_or(Path::new("/"));
    let prefix = format!("{}.", found.id);
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
        .map(|entry| entry.path())
        .filter(|path| *path != found.log)
        .collect()
}

fn size(found: &Found) -> u64 {
    let of = |path: &Path| match fs::symlink_metadata(path) {
        Ok(data) if data.is_dir() => size_on_disk(path).unwrap_or(0),
        Ok(data) => data.len(),
        Err(_) => 0,
    };
    beside(found).iter().map(|path| of(path)).sum::<u64>() + of(&found.log)
}

fn say(terminal: &mut Terminal, doomed: &Doomed, listed: Option<&Listed>) {
    let title = listed.map(|listed| title(&listed.session)).unwrap_or_default();
    let title = shortened(&visible_line(&title), 60);
    let line = format!("{}  {}  {title}", doomed.found.id, bytes(doomed.size));
    terminal.say(Weight::Plain, line.trim_end());
    let changed = listed.and_then(|listed| diff::summary_words(&doomed.found, &listed.session));
    if let Some(words) = changed {
        terminal.say(Weight::Warn, &format!("    its changes go with it: {words}"));
    }
}

fn refused(message: &str) -> Failure {
    Failure { exit: Exit::Refused, message: message.to_owned() }
}

/// Says which sessions stay that hang from those that go, and what that means for them.
fn say_forks(terminal: &mut Terminal, directory: &Path, doomed: &[Doomed]) {
    let all = found::sessions(directory);
    for one in doomed {
        let goes = |id| doomed.iter().any(|one| one.found.id == id);
        let stays = family::forks(&all, &one.found).into_iter().filter(|id| !goes(*id));
        for fork in stays {
            let words = format!(
                "    {fork} is a fork of {} and keeps all it needs; only where it hangs can then \
                 not be checked",
                one.found.id
            );
            terminal.say(Weight::Quiet, &words);
        }
    }
}

/// Asks, unless the words said yes already. Nobody to ask is a refusal.
pub(crate) fn consent(terminal: &mut Terminal, question: &str, yes: bool) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    if !terminal.can_ask {
        return Err(refused(
            "nothing was removed: nobody is there to ask; --yes removes without asking",
        ));
    }
    terminal.say_piece(&format!("{question} y = yes, anything else = no: "));
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line);
    if read.is_ok() && matches!(line.trim(), "y" | "yes") {
        return Ok(());
    }
    Err(refused("nothing was removed"))
}

/// Writes an amount of bytes for a person.
pub(crate) fn bytes(count: u64) -> String {
    match count {
        0..1_024 => format!("{count} B"),
        1_024..1_048_576 => format!("{:.1} KiB", count as f64 / 1024.0),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", count as f64 / 1_048_576.0),
        _ => format!("{:.1} GiB", count as f64 / 1_073_741_824.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_days_or_a_letter() {
        let hours = |text| age(text).map(|age| age.as_secs() / 3600);
        assert_eq!(hours("30"), Ok(720));
        assert_eq!([hours("12h"), hours("2d"), hours("1w")], [Ok(12), Ok(48), Ok(168)]);
        for text in ["", "d", "-1", "1y", "1.5", "dd"] {
            assert!(age(text).is_err(), "{text}");
        }
    }

    #[test]
    fn amounts_are_short() {
        let shown = [5, 2_048, 3 << 20, 5 << 30].map(bytes);
        assert_eq!(shown, ["5 B", "2.0 KiB", "3.0 MiB", "5.0 GiB"]);
    }
}
