//! `chock sessions seal`: signs the head of a session's log.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use chock_auth::{Agent, InstallationKey, PublicKey, SigningFault};
use chock_log::{Log, LogError, Seal, SealKey, Statement, Verdict, check, key_fingerprint};
use jiff::Timestamp;
use serde_json::json;

use crate::exit::{Exit, Failure, causes};
use crate::found::{self, Found};
use crate::house;
use crate::program::Program;
use crate::signers::Signers;
use crate::terminal::{Terminal, Weight};
use crate::visible::visible_line;

#[derive(Debug, clap::Args)]
pub(crate) struct SealArgs {
    /// The session's id or the end of it
    session: String,

    /// The key: `installation`, `agent`, or the fingerprint or comment of one of the agent's
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

/// Who signs.
enum Signer {
    Agent(Agent, PublicKey),
    Installation(InstallationKey),
}

pub(super) fn run(
    program: &Program,
    terminal: &mut Terminal,
    directory: &Path,
    args: &SealArgs,
    as_json: bool,
) -> Result<Exit, Failure> {
    let found = found::session(directory, Some(&args.session))?;
    let _held = hold(&found)?;
    let checked = check(&found.log, Some(found.id), None);
    if !matches!(checked.verdict, Verdict::Intact { .. }) || checked.records == 0 {
        return Err(Failure::fault(format!(
            "only an intact log is sealed, and this one is {}",
            visible_line(&checked.verdict.to_string())
        )));
    }
    let signer = choose(program, args.key.as_deref())?;
    let statement = Statement {
        session: found.id,
        records: checked.records,
        head: checked.head,
        key: match signer {
            Signer::Agent(..) => SealKey::Agent,
            Signer::Installation(_) => SealKey::Installation,
        },
        time: millisecond(Timestamp::now()),
    };
    let (key, signature) = sign(terminal, &signer, &statement)
        .map_err(|fault| Failure::fault(format!("nothing was sealed: {}", causes(&fault))))?;
    let seal = Seal::new(statement, key.blob.clone(), signature)
        .map_err(|fault| Failure::fault(format!("nothing was sealed: {}", causes(&fault))))?;
    house::make_private(&program.places.data)?;
    let written = Signers::add(&program.places.data, &key)
        .and_then(|()| write(&found.seal(), seal.text().as_bytes()));
    written.map_err(|fault| Failure::fault(format!("cannot write the seal: {fault}")))?;
    tell(terminal, &found, &seal, &key, as_json)?;
    Ok(Exit::Finished)
}

/// Keeps every writer from the log until the value is dropped.
pub(crate) fn hold(found: &Found) -> Result<chock_log::Held, Failure> {
    Log::hold(&found.log).map_err(|fault| match fault {
        LogError::InUse { .. } => Failure {
            exit: Exit::Refused,
            message: format!("session {} is running; end it first", found.id),
        },
        fault => Failure::because(&fault),
    })
}

/// Chooses the key: the one that was named, else the agent's first, else the installation's.
fn choose(program: &Program, named: Option<&str>) -> Result<Signer, Failure> {
    let socket = program.variables.get(OsStr::new("SSH_AUTH_SOCK")).filter(|path| !path.is_empty());
    let agent = socket.map(|socket| Agent::at(PathBuf::from(socket)));
    let installation = || {
        house::make_private(&program.places.data)?;
        let key = InstallationKey::open(&program.places.data);
        key.map(Signer::Installation).map_err(|fault| Failure::fault(causes(&fault)))
    };
    if named == Some("installation") {
        return installation();
    }
    let Some(agent) = agent else {
        return match named {
            None => installation(),
            Some(_) => Err(Failure::start("there is no ssh agent: SSH_AUTH_SOCK is not set")),
        };
    };
    let keys = match agent.keys() {
        Ok(keys) => keys,
        // A socket that a dead agent left is like none, as long as nobody asked for its keys.
        Err(SigningFault::Agent { .. }) if named.is_none() => return installation(),
        Err(fault) => return Err(Failure::fault(causes(&fault))),
    };
    let is_named = |key: &PublicKey| match named {
        None | Some("agent") => true,
        Some(name) => key.comment == name || key_fingerprint(&key.blob) == name,
    };
    match keys.into_iter().find(|key| Seal::takes(&key.blob) && is_named(key)) {
        Some(key) => Ok(Signer::Agent(agent, key)),
        None if named.is_none() => installation(),
        None => Err(Failure::start(
            "the ssh agent has no such key that chock can use; ssh-add -l lists them",
        )),
    }
}

fn sign(
    terminal: &mut Terminal,
    signer: &Signer,
    statement: &Statement,
) -> Result<(PublicKey, Vec<u8>), SigningFault> {
    let words = statement.to_be_signed();
    match signer {
        Signer::Agent(agent, key) => {
            let name = visible_line(&key.comment);
            terminal.say(Weight::Quiet, &format!("asking the ssh agent to sign with {name}"));
            Ok((key.clone(), agent.sign(key, &words)?))
        }
        Signer::Installation(key) => Ok((key.public(), key.sign(&words))),
    }
}

/// Writes the seal beside its place and moves it there, so that it is never half a seal.
fn write(path: &Path, text: &[u8]) -> std::io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut draft = tempfile::NamedTempFile::new_in(directory)?;
    draft.write_all(text)?;
    draft.as_file().sync_all()?;
    draft.persist(path)?;
    fs::File::open(directory)?.sync_all()
}

fn tell(
    terminal: &mut Terminal,
    found: &Found,
    seal: &Seal,
    key: &PublicKey,
    as_json: bool,
) -> Result<(), Failure> {
    let statement = seal.statement();
    let fingerprint = key_fingerprint(&key.blob);
    if as_json {
        let row = json!({
            "id": found.id.to_string(),
            "records": statement.records,
            "head": statement.head,
            "kind": statement.key.word(),
            "key": fingerprint,
            "file": found.seal().display().to_string(),
        });
        terminal.answer(&row.to_string())?;
        return Ok(());
    }
    let with = match statement.key {
        SealKey::Agent => format!("the ssh agent's key {}", visible_line(&key.comment)),
        SealKey::Installation => "the installation's key".to_owned(),
    };
    terminal.answer(&format!(
        "{}  sealed up to record {} with {with}, {fingerprint}",
        found.id, statement.records
    ))?;
    terminal.answer(&format!("    {}", found.seal().display()))?;
    Ok(())
}

/// Cuts a time to what the statement writes of it.
fn millisecond(time: Timestamp) -> Timestamp {
    Timestamp::from_millisecond(time.as_millisecond()).unwrap_or(time)
}
