//! Finds the skills of a session: the person's, the project's and those of packages.
//!
//! A project's come from the tree that the session started from, as its instructions do. The
//! first of a name counts. None of them allows anything.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use chock_log::Action;
use chock_policy::Decision;
use chock_tools::{SKILLS_MAX, Skill, SkillLayer};

use crate::exit::{Failure, causes};
use crate::instructions::{Inside, Places, Told, look_inside, read_outside};
use crate::settings::digest;
use crate::visible::visible_line;

/// The file that makes a directory a skill.
const FILE: &str = "SKILL.md";

/// The most entries of one directory that are looked at. Source: the format's earlier version.
const ENTRIES_MAX: usize = 256;

/// The tool that reads them.
const TOOL: &str = "read_skill";

impl Told {
    /// Takes the skills of every layer that the rows do not deny. What is no skill is said, and
    /// stops nothing.
    pub(crate) fn learn(
        &mut self,
        places: &Places<'_>,
        packaged: &[PathBuf],
    ) -> Result<(), Failure> {
        let denies = |action: &Action| places.settings.decision(TOOL, action) == Decision::Deny;
        if denies(&Action::from_static("call.read_skill")) {
            return Ok(());
        }
        for layer in [SkillLayer::Operator, SkillLayer::Project, SkillLayer::Packaged] {
            if denies(&Action::below("skill", &["read", layer.word()])) {
                continue;
            }
            match layer {
                SkillLayer::Operator => self.outside(layer, &places.config.join("skills")),
                SkillLayer::Project => self.inside(places)?,
                SkillLayer::Packaged => packaged.iter().for_each(|root| self.outside(layer, root)),
            }
        }
        if self.skills.len() > SKILLS_MAX {
            let left = self.skills.split_off(SKILLS_MAX).len();
            self.notes.push(format!("{left} skills over the {SKILLS_MAX} are left out"));
        }
        for skill in &self.skills {
            let name = format!("skill: {} {}", skill.layer().word(), skill.name());
            self.files.insert(name, digest(skill.text()));
        }
        self.skill_rows = self.skills.iter().map(|skill| visible_line(&skill.row())).collect();
        Ok(())
    }

    /// Takes the skills in a directory outside the project. Links are its owner's to make.
    fn outside(&mut self, layer: SkillLayer, root: &Path) {
        let mut names: Vec<_> = match fs::read_dir(root) {
            Ok(entries) => entries.flatten().take(ENTRIES_MAX).map(|it| it.file_name()).collect(),
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => return,
            Err(fault) => {
                let root = visible_line(&root.to_string_lossy());
                self.notes.push(format!("the skills in {root} cannot be read: {fault}"));
                return;
            }
        };
        names.sort();
        for name in names.iter().filter_map(|name| name.to_str()) {
            let path = root.join(name).join(FILE);
            match read_outside(&path) {
                Ok(text) => self.take(layer, name, &path.to_string_lossy(), &text),
                Err(fault) if is_none(&fault) => {}
                Err(fault) => self.refuse(&path.to_string_lossy(), &fault.to_string()),
            }
        }
    }

    /// Takes the skills in the directories that `chock.zon` names.
    fn inside(&mut self, places: &Places<'_>) -> Result<(), Failure> {
        let (store, tree) = (places.workspace.store(), places.workspace.start_tree());
        for directory in &places.settings.effective.project.skills {
            let directory = directory.value.as_str();
            let names = store.names(tree, directory, ENTRIES_MAX);
            let Some(names) = names.map_err(|fault| Failure::because(&fault))? else {
                let directory = visible_line(directory);
                self.notes.push(format!(
                    "chock.zon names skills in `{directory}`, and git tracks no such directory"
                ));
                continue;
            };
            for name in names {
                let path = format!("{directory}/{name}/{FILE}");
                match look_inside(places, &path)? {
                    Inside::Text(text) => self.take(SkillLayer::Project, &name, &path, &text),
                    Inside::Missing | Inside::Denied => {}
                    Inside::Unusable(why) => self.refuse(&path, &why),
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, layer: SkillLayer, directory: &str, path: &str, text: &str) {
        if directory.starts_with('.') {
            return;
        }
        let skill = match Skill::read(directory, layer, visible_line(path), text.as_bytes()) {
            Ok(skill) => skill,
            Err(fault) => return self.refuse(path, &causes(&fault)),
        };
        match self.skills.iter().find(|first| first.name() == skill.name()) {
            Some(first) => {
                let why = format!("{} has one of that name", first.layer().whose());
                self.refuse(path, &why);
            }
            None => self.skills.push(skill),
        }
    }

    fn refuse(&mut self, path: &str, why: &str) {
        let path = visible_line(path);
        self.notes.push(format!("{path} is no skill of this session: {why}"));
    }
}

/// Says whether a directory has no such file.
fn is_none(fault: &io::Error) -> bool {
    matches!(fault.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
