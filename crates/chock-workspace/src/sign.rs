//! The person's signature under commits that Chock makes, where the person's git signs.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use crate::Project;
use crate::commit_text::CommitText;
use crate::facts::Facts;
use crate::git::{self, Git, GitFault, Own};
use crate::{HandBackFault, person};

/// What git reads to sign.
const KEYS: &str = r"^(commit\.gpgsign|user\.signingkey|gpg\..*)$";

/// Keys that name a program.
const PROGRAMS: &str = r"^gpg\.(.*\.)?(program|defaultkeycommand)$";

/// How the person signs.
#[derive(Debug)]
pub(crate) struct Signer {
    /// `key=value` rows of the person's configuration.
    options: Vec<OsString>,
    /// Variables that the signing program needs, such as the socket of its agent.
    variables: Vec<(OsString, OsString)>,
}

impl Signer {
    /// Reads how the person signs in `project`. `None` where commits are not signed.
    ///
    /// A program that the repository's own configuration names is refused, and no other one is
    /// taken in its place: that configuration may come with the project, or include files of it.
    pub(crate) fn of(
        project: &Project,
        variables: &[(OsString, OsString)],
    ) -> Result<Option<Self>, HandBackFault> {
        let read = |args: &[&str]| {
            person::get(&project.git, project.root(), args).map_err(|fault| HandBackFault::Git {
                what: "read how you sign commits",
                said: fault.said(),
            })
        };
        let facts = read(&["-z", "--get-regexp", KEYS])?;
        if !facts.is_on("commit.gpgsign") {
            return Ok(None);
        }
        let programs = read(&["-z", "--show-scope", "--get-regexp", PROGRAMS])?;
        if let Some(key) = of_repository(&programs) {
            return Err(HandBackFault::SigningProgram { key });
        }
        Ok(Some(Self { options: options(&facts), variables: variables.to_vec() }))
    }

    /// Makes a signed commit in a git directory of Chock's, and returns its id.
    pub(crate) fn commit(
        &self,
        git: &Git,
        own: &Own<'_>,
        commit: &CommitText,
    ) -> Result<String, GitFault> {
        let mut variables = self.variables.clone();
        for (who, line) in [("AUTHOR", &commit.author), ("COMMITTER", &commit.committer)] {
            let (name, email, date) = CommitText::person(line).unwrap_or_default();
            for (part, value) in [("NAME", name), ("EMAIL", email), ("DATE", date)] {
                let variable = format!("GIT_{who}_{part}");
                variables.push((variable.into(), OsString::from_vec(value)));
            }
        }
        let mut args: Vec<OsString> = Vec::new();
        for option in &self.options {
            args.extend(["-c".into(), option.clone()]);
        }
        if let Some(encoding) = &commit.encoding {
            let mut option = OsString::from("i18n.commitEncoding=");
            option.push(OsString::from_vec(encoding.clone()));
            args.extend(["-c".into(), option]);
        }
        args.extend(["commit-tree", "-S", "-F", "-", &commit.tree].map(Into::into));
        for parent in &commit.parents {
            args.extend(["-p".into(), parent.into()]);
        }
        let id = git::line(git.sign(own, &variables, &args, &commit.message)?);
        Ok(String::from_utf8_lossy(&id).into_owned())
    }
}

/// The first key of rows with scopes that the repository itself, a working tree of it, or a file
/// that either includes gives a value.
fn of_repository(programs: &Facts) -> Option<String> {
    let rows: Vec<_> = programs.rows().map(|(name, _)| name).collect();
    let mut pairs = rows.chunks_exact(2);
    let key = pairs.find(|pair| matches!(pair[0], b"local" | b"worktree"))?[1];
    Some(String::from_utf8_lossy(key).into_owned())
}

fn options(facts: &Facts) -> Vec<OsString> {
    let row = |(name, value): (&[u8], Option<&[u8]>)| {
        let value = value.unwrap_or(b"true");
        OsString::from_vec([name, b"=", value].concat())
    };
    facts.rows().map(row).collect()
}
