//! The act of reading a skill.

use chock_log::{Act, Action, Ended, Outcome, Permit};
use serde_json::{Value, json};

use super::Skill;
use crate::file::sha256;

/// To read a skill. It holds the whole of it: what is read is what was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillAct(pub(crate) Skill);

impl SkillAct {
    /// Names what it is judged under, besides its tool.
    pub(crate) fn action(&self) -> Action {
        Action::below("skill", &["read", self.0.layer.word()])
    }

    /// Says what a person is shown of it.
    pub(crate) fn effect(&self) -> String {
        let Skill { name, layer, place, .. } = &self.0;
        format!("read the skill `{name}` from {}: {place}", layer.whose())
    }
}

impl Act for SkillAct {
    fn record(&self) -> Value {
        let Skill { name, layer, place, text, .. } = &self.0;
        json!({
            "skill": name, "layer": layer.word(), "place": place, "bytes": text.len(),
            "hash": sha256(text.as_bytes()),
        })
    }
}

/// Does a permitted reading.
pub(crate) fn read(permit: Permit<SkillAct>) -> Outcome {
    let (SkillAct(skill), _) = permit.spend();
    Outcome::new(Ended::Done, skill.shown())
}
