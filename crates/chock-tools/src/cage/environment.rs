//! The whole environment of a command.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use chock_sandbox::{Filter, Grant, HOME};

use super::Host;
use super::system::USER;
use super::toolchains::CHOICES;

/// Variables of the person's that say how to speak and draw. Names that begin with `LC_` too.
const MANNERS: [&str; 4] = ["COLORTERM", "LANG", "TERM", "TZ"];

/// Variables that enter besides.
pub(super) struct Names<'a> {
    /// Where the toolchains are.
    pub(super) of_toolchains: &'a [(OsString, OsString)],
    /// What the rules let in by name.
    pub(super) added: &'a [OsString],
}

/// The environment, and what is to be said of it.
#[derive(Debug)]
pub(super) struct Inside {
    pub(super) variables: Vec<(OsString, OsString)>,
    pub(super) notes: Vec<String>,
}

/// Makes the environment: a list of exact names, and nothing else of the person's.
pub(super) fn inside(
    host: &Host,
    names: &Names<'_>,
    path: &[PathBuf],
    shell: &Path,
    filter: Filter,
) -> Inside {
    let mut variables: BTreeMap<OsString, OsString> = BTreeMap::new();
    variables.insert("LANG".into(), "C.UTF-8".into());
    variables.insert("TERM".into(), "dumb".into());
    if filter.debug == Grant::Deny {
        // A sanitizer looks for leaks by ptrace, and ends the program when it may not.
        variables.insert("ASAN_OPTIONS".into(), "detect_leaks=0".into());
    }
    let said = |name: &OsStr| host.variables.get(name).map(|value| without_users(value));
    for name in host.variables.keys() {
        let enters = name.as_bytes().starts_with(b"LC_")
            || MANNERS.iter().chain(&CHOICES).any(|other| name == other);
        if let (true, Some(value)) = (enters, said(name)) {
            variables.insert(name.clone(), value);
        }
    }
    variables.extend(names.of_toolchains.iter().cloned());
    let mut notes = Vec::new();
    let own = own(path, shell);
    for name in names.added {
        if own.contains_key(name) {
            let name = name.to_string_lossy();
            notes
                .push(format!("`{name}` is set by chock itself; its value outside does not enter"));
        } else if let Some(value) = said(name) {
            variables.insert(name.clone(), value);
        }
    }
    variables.extend(own);
    Inside { variables: variables.into_iter().collect(), notes }
}

/// What Chock sets itself.
fn own(path: &[PathBuf], shell: &Path) -> BTreeMap<OsString, OsString> {
    let mut joined = Vec::new();
    for entry in path {
        // A colon ends an entry, and there is no way to write one.
        if entry.as_os_str().as_bytes().contains(&b':') {
            continue;
        }
        if !joined.is_empty() {
            joined.push(b':');
        }
        joined.extend_from_slice(entry.as_os_str().as_bytes());
    }
    BTreeMap::from([
        ("CARGO_HOME".into(), Path::new(HOME).join(".cargo").into_os_string()),
        ("CARGO_NET_OFFLINE".into(), "true".into()),
        ("CHOCK_SANDBOX".into(), "network-off".into()),
        ("HOME".into(), HOME.into()),
        ("LOGNAME".into(), USER.into()),
        // A network that is not there does not come back: npm alone would try for a minute.
        ("npm_config_fetch_retries".into(), "0".into()),
        // Without a second try pip does not say why it found nothing.
        ("PIP_RETRIES".into(), "1".into()),
        ("PATH".into(), OsString::from_vec(joined)),
        ("SHELL".into(), shell.as_os_str().to_owned()),
        ("TMPDIR".into(), "/tmp".into()),
        ("USER".into(), USER.into()),
    ])
}

/// Cuts user and password out of every URL of a value.
fn without_users(value: &OsStr) -> OsString {
    let bytes = value.as_bytes();
    let mut kept = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = find(rest, b"://") {
        let (before, after) = rest.split_at(at + 3);
        kept.extend_from_slice(before);
        let end =
            after.iter().position(|byte| b"/?# \t\n\"'".contains(byte)).unwrap_or(after.len());
        let host = after[..end].iter().rposition(|byte| *byte == b'@').map_or(0, |at| at + 1);
        rest = &after[host..];
    }
    kept.extend_from_slice(rest);
    OsString::from_vec(kept)
}

fn find(text: &[u8], piece: &[u8]) -> Option<usize> {
    text.windows(piece.len()).position(|window| window == piece)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_cut_from_urls() {
        let cases = [
            ("https://u:p@h/x", "https://h/x"),
            ("https://token@h", "https://h"),
            ("a=https://u:p@h b=ftp://v@i/j@k", "a=https://h b=ftp://i/j@k"),
            ("https://h/a@b", "https://h/a@b"),
            ("https://u:p@q@h/", "https://h/"),
            ("me@host", "me@host"),
            ("://", "://"),
            ("", ""),
        ];
        for (value, expected) in cases {
            assert_eq!(without_users(OsStr::new(value)), expected, "{value}");
        }
    }
}
