//! Signs in with an account: through a browser on this machine, or with a code typed elsewhere.

use std::thread;
use std::time::{Duration, Instant};

use chock_auth::{Account, BrowserSignIn, Code, DeviceSignIn, Issuer, SignInFault};
use chock_config::Responses;

use crate::account::now;
use crate::exit::{Exit, Failure, causes};
use crate::issuer::IssuerWire;
use crate::outside;
use crate::program::Program;
use crate::terminal::{Terminal, Weight};
use crate::typed::{LOOK, Typed, typed};
use crate::visible::visible_line;

/// How long the browser may take to come back: people look for their password first.
const TIME: Duration = Duration::from_secs(10 * 60);

/// How a person signs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Browser,
    Device,
}

/// Signs in, and returns the account. Nothing is stored.
pub(crate) fn sign_in(
    program: &Program,
    terminal: &mut Terminal,
    responses: &Responses,
    way: Way,
) -> Result<Account, Failure> {
    let issuer = Issuer::of(&responses.account);
    let wire = IssuerWire::to(&issuer.url).map_err(Failure::start)?;
    let signed_in = match way {
        Way::Browser => by_browser(program, terminal, &issuer, &wire),
        Way::Device => by_device(terminal, &issuer, &wire),
    };
    signed_in.map_err(|fault| told(&fault))
}

fn by_browser(
    program: &Program,
    terminal: &mut Terminal,
    issuer: &Issuer,
    wire: &IssuerWire,
) -> Result<Account, SignInFault> {
    let mut sign_in = BrowserSignIn::begin(issuer)?;
    let opened = outside::open_browser(sign_in.url(), &program.variables);
    let words = if opened { "a browser opens; if it does not, open" } else { "to sign in, open" };
    terminal.say(Weight::Plain, &format!("{words}:\n  {}", sign_in.url()));
    if terminal.can_ask {
        terminal.say(
            Weight::Quiet,
            "on another machine it cannot come back here: then paste the address that it ends at",
        );
    }
    let code = returned(terminal, &mut sign_in)?;
    sign_in.redeem(&code, wire, now())
}

/// Waits for the browser, and for an address that is pasted.
fn returned(terminal: &mut Terminal, sign_in: &mut BrowserSignIn) -> Result<Code, SignInFault> {
    let (since, mut reads) = (Instant::now(), terminal.can_ask);
    while since.elapsed() < TIME {
        let wait = if reads { Duration::ZERO } else { LOOK };
        if let Some(code) = sign_in.look(wait)? {
            return Ok(code);
        }
        if !reads {
            continue;
        }
        match typed() {
            Typed::Nothing => {}
            Typed::TheEnd => reads = false,
            Typed::Line(line) if line.trim_ascii().is_empty() => {}
            Typed::Line(line) => match sign_in.pasted(&String::from_utf8_lossy(&line)) {
                Ok(code) => return Ok(code),
                Err(fault @ SignInFault::Pasted { .. }) => {
                    terminal.say(Weight::Warn, &fault.to_string());
                }
                Err(fault) => return Err(fault),
            },
        }
    }
    Err(SignInFault::Expired { time: TIME })
}

fn by_device(
    terminal: &mut Terminal,
    issuer: &Issuer,
    wire: &IssuerWire,
) -> Result<Account, SignInFault> {
    let sign_in = DeviceSignIn::begin(issuer, wire)?;
    let code = visible_line(sign_in.user_code());
    terminal.say(Weight::Plain, &format!("open {} anywhere, and type:", sign_in.url()));
    terminal.say(Weight::Strong, &format!("  {code}"));
    let minutes = issuer.device_time.as_secs() / 60;
    let words =
        format!("it is good for {minutes} minutes; type it only if you began this yourself");
    terminal.say(Weight::Quiet, &words);
    let mut pause = |time| {
        thread::sleep(time);
        true
    };
    let account = sign_in.wait(wire, &mut pause, &now)?;
    Ok(account.expect("invariant: the pause above always goes on"))
}

/// What a person or the issuer refused is no fault of the program's.
fn told(fault: &SignInFault) -> Failure {
    let message = visible_line(&causes(fault));
    match fault {
        SignInFault::Denied { .. } | SignInFault::Displaced | SignInFault::Expired { .. } => {
            Failure { exit: Exit::Refused, message }
        }
        _ => Failure::start(message),
    }
}

/// Says whose an account is.
pub(crate) fn whose(account: &Account) -> String {
    let email = account.email.as_deref().unwrap_or("an account without an address");
    let plan = account.plan.as_ref().map(|plan| format!(" ({plan})")).unwrap_or_default();
    visible_line(&format!("{email}{plan}"))
}
