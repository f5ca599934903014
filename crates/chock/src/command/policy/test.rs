//! `chock policy test`: the rules against a file of expected decisions.

use std::path::Path;

use chock_config::{Expectation, Links, read_text};
use chock_policy::{Lineage, Ratchet, Request, decide};
use serde_json::json;

use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use crate::terminal::{Terminal, Weight};

/// Decides every case and says where the rules differ.
pub(super) fn run(
    terminal: &mut Terminal,
    settings: &Settings,
    file: &Path,
    as_json: bool,
) -> Result<Exit, Failure> {
    let text = read_text(file, Links::Follow).map_err(|fault| Failure::because(&fault))?;
    let Some(text) = text else {
        return Err(Failure::start(format!("there is no file {}", file.display())));
    };
    let name = file.display().to_string();
    let cases =
        Expectation::read(&name, &text).map_err(|faults| Failure::start(faults.to_string()))?;
    let mut wrong = 0;
    for case in &cases {
        let request = Request { action: &case.action, tool: &case.tool, model: &case.model };
        let lineage = Lineage::new(vec![case.agent_kind.clone()]);
        let ruling = decide(&settings.table, &lineage, &Ratchet::default(), &request);
        let agrees = ruling.decision == case.decision;
        wrong += usize::from(!agrees);
        if as_json {
            let row = json!({
                "line": case.place.line,
                "action": case.action,
                "expected": case.decision.word(),
                "decision": ruling.decision.word(),
                "agrees": agrees,
            });
            terminal.answer(&row.to_string())?;
        } else if !agrees {
            let because = ruling
                .row
                .map_or("no row matches".to_owned(), |(origin, rule)| format!("{origin}: {rule}"));
            terminal.answer(&format!(
                "{name}:{}: {} is {} and should be {} ({because})",
                case.place.line, case.action, ruling.decision, case.decision
            ))?;
        }
    }
    let count = cases.len();
    if wrong == 0 {
        terminal.say(Weight::Good, &format!("{count} cases are decided as expected"));
        return Ok(Exit::Finished);
    }
    terminal.say(Weight::Bad, &format!("{wrong} of {count} cases are decided otherwise"));
    Ok(Exit::NotIntact)
}
