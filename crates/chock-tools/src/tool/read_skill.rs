//! `read_skill`: how to do one kind of work, as the person or the project says.

use chock_log::Session;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Prepared, Tool};
use crate::desk::Desk;
use crate::hint;
use crate::names::escaped;
use crate::skill::SkillAct;

pub(crate) struct ReadSkill;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The skill.
    name: String,
}

impl Tool for ReadSkill {
    const NAME: &'static str = "read_skill";
    const DESCRIPTION: &'static str = "Reads a skill: a text on how to do one kind of work. Read the one that fits before you \
         begin such work.";
    type Arguments = Arguments;

    fn prepare(
        Arguments { name }: Arguments,
        desk: &Desk,
        _: &Session,
    ) -> Result<Prepared, String> {
        let known = || desk.skills.iter().map(|skill| skill.name());
        let Some(skill) = desk.skills.iter().find(|skill| skill.name() == name) else {
            let shown: String = escaped(&name).chars().take(64).collect();
            let meant = hint::nearest(&name, known());
            let meant = meant.map(|name| format!("did you mean `{name}`? ")).unwrap_or_default();
            let all: Vec<_> = known().collect();
            let all = all.join(", ");
            return Err(format!("there is no skill `{shown}`: {meant}the skills are {all}"));
        };
        Ok(Prepared::Skill(SkillAct(skill.clone())))
    }
}
