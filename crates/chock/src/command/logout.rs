//! `chock logout`: forgets what was stored at `chock login`.

use chock_auth::{Store, Stored};

use crate::exit::{Exit, Failure, causes};
use crate::program::Program;
use crate::settings::Settings;
use crate::terminal::{Terminal, Weight};

/// Forget what signing in stored
///
/// Where the issuer can, it is asked to forget it as well. What stands in
/// config.zon, a token file or tokens.zon is yours, and stays.
#[derive(Debug, clap::Args)]
pub(crate) struct LogoutArgs {
    /// The provider, by its name in config.zon; the default one if there is none
    provider: Option<String>,
}

pub(crate) fn run(
    program: &Program,
    terminal: &mut Terminal,
    args: &LogoutArgs,
) -> Result<Exit, Failure> {
    let name = match &args.provider {
        Some(name) => name.clone(),
        None => {
            let person = Settings::everywhere(program, terminal)?.effective.person;
            super::login::row(&person, None)?.0.name
        }
    };
    let store = Store::at(&program.places.data);
    let fault = |fault: chock_auth::StoreFault| Failure::because(&fault);
    // One that is damaged goes as well.
    let stored = store.read(&name);
    if matches!(stored, Ok(None)) {
        terminal.say(Weight::Plain, "nothing is stored under that name");
        return Ok(Exit::Finished);
    }
    crate::house::make_private(&program.places.data)?;
    let held = store.hold(&name).map_err(fault)?;
    let revoked = match store.read(&name) {
        Ok(Some(Stored::Account(account))) => crate::issuer::revoke(&account),
        Ok(Some(Stored::Key(_)) | None) => Ok(()),
        Err(fault) => Err(causes(&fault)),
    };
    store.remove(&held).map_err(fault)?;
    match revoked {
        Ok(()) => terminal.say(Weight::Good, "it is forgotten"),
        Err(words) => {
            let line = format!("it is forgotten here; it could not be revoked: {words}");
            terminal.say(Weight::Warn, &line);
        }
    }
    Ok(Exit::Finished)
}
