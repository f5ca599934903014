//! Walks what a command line runs and names it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

use chock_log::Action;

use super::ground::Ground;
use super::places::Places;
use super::read::{self, Unreadable};
use super::script::{Part, Redirect, Simple, Statement, What, Word};
use super::variables;
use crate::answer::Operation;

/// How many commands of a line are named; a line of more is no longer looked over by anybody.
const COMMANDS_MAX: usize = 512;

/// How many names a line may have.
const ACTIONS_MAX: usize = 96;

/// How deep command lines may lie in each other: `sh -c "sh -c ..."`, functions, substitutions.
const DEPTH_MAX: usize = 40;

/// What a command line comes to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Named {
    /// The names of what it starts, each once, in the order of the line.
    pub(crate) actions: Vec<Action>,
    /// The files that its redirections open.
    pub(crate) reaches: Vec<Reach>,
}

/// A file that a redirection opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reach {
    pub(crate) operation: Operation,
    pub(crate) path: PathBuf,
}

/// Names what a command line starts and opens.
pub(crate) fn line(text: &str, ground: &Ground) -> Named {
    let spelled = |name: &str| text.matches(name).count();
    let expanded = spelled("$HOME") + spelled("${HOME}");
    // A line that may set HOME no longer has the one that is known.
    let home = if spelled("HOME") == expanded { &ground.home } else { "" };
    let mut namer = Namer::new(ground, home);
    let places = Places::one(&ground.directory);
    namer.script(text, &Scene { places, fed: false });
    namer.named
}

/// Names what a command starts that no shell reads, from words that are what they are.
pub(crate) fn words(words: &[String], ground: &Ground) -> Named {
    let mut namer = Namer::new(ground, &ground.home);
    let words: Vec<_> = words.iter().map(Word::of).collect();
    let scene = Scene { places: Places::one(&ground.directory), fed: false };
    namer.started(&words, &Stage { scene: &scene, input: Input::Inherited });
    namer.named
}

/// Where a statement stands.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    pub(crate) places: Places,
    /// Whether something unknown comes through the standard input.
    pub(crate) fed: bool,
}

/// Where a command stands.
#[derive(Debug, Clone)]
pub(crate) struct Stage<'a> {
    pub(crate) scene: &'a Scene,
    pub(crate) input: Input,
}

/// What a command reads.
#[derive(Debug, Clone)]
pub(crate) enum Input {
    /// What the scene has.
    Inherited,
    /// This text.
    Text(String),
    /// This file.
    File(Word),
    /// Something unknown.
    Unknown,
}

/// Where the shell is after a statement that ended well, and after one that did not.
#[derive(Debug, Clone)]
pub(crate) struct After {
    pub(crate) well: Places,
    pub(crate) badly: Places,
}

impl After {
    pub(crate) fn same(places: &Places) -> Self {
        Self { well: places.clone(), badly: places.clone() }
    }

    fn any(&self) -> Places {
        self.well.or(&self.badly)
    }
}

/// Collects names.
pub(crate) struct Namer<'a> {
    pub(crate) ground: &'a Ground,
    /// What `~` and `$HOME` are; empty when nobody knows.
    home: &'a str,
    named: Named,
    commands: usize,
    depth: usize,
    functions: BTreeMap<String, Function>,
    /// How many branches, processes and bodies lie around what is looked at: what is made in
    /// them may not be made.
    around: usize,
    /// Whether `exec` put something else behind the standard input for the rest of the line.
    pub(crate) rewired: bool,
}

/// A function of the line.
#[derive(Debug, Clone)]
struct Function {
    body: Rc<Statement>,
    /// Whether it is made for certain when it is called.
    sure: bool,
    /// Whether it is being looked into.
    open: bool,
}

impl<'a> Namer<'a> {
    fn new(ground: &'a Ground, home: &'a str) -> Self {
        Self {
            ground,
            home,
            named: Named::default(),
            commands: 0,
            depth: 0,
            functions: BTreeMap::new(),
            around: 0,
            rewired: false,
        }
    }

    /// Adds a name.
    pub(crate) fn act(&mut self, action: Action) {
        if self.named.actions.contains(&action) {
            return;
        }
        if self.named.actions.len() < ACTIONS_MAX {
            self.named.actions.push(action);
        } else if self.named.actions.len() == ACTIONS_MAX {
            self.named.actions.push(Action::from_static("exec.unparsed"));
        }
    }

    /// Notes that something is started that cannot be named.
    pub(crate) fn unparsed(&mut self) {
        self.act(Action::from_static("exec.unparsed"));
    }

    /// Names what a text starts when a shell reads it.
    pub(crate) fn script(&mut self, text: &str, scene: &Scene) -> After {
        match read::read(text, self.home) {
            Ok(statement) => self.statement(&statement, scene),
            Err(Unreadable) => {
                self.unparsed();
                After { well: Places::Unknown, badly: Places::Unknown }
            }
        }
    }

    /// Names what a text starts when a shell of its own reads it, which knows no functions.
    pub(crate) fn elsewhere(&mut self, word: &Word, scene: &Scene) {
        let functions = std::mem::take(&mut self.functions);
        let rewired = std::mem::take(&mut self.rewired);
        self.text(word, &Scene { fed: scene.fed || rewired, ..scene.clone() });
        self.functions = functions;
        self.rewired = rewired;
    }

    /// Forgets for certain what functions there are.
    pub(crate) fn doubt_functions(&mut self) {
        for function in self.functions.values_mut() {
            function.sure = false;
        }
    }

    /// Names what a word starts when this shell reads it as a command line.
    pub(crate) fn text(&mut self, word: &Word, scene: &Scene) -> After {
        match word.text() {
            Some(text) => self.script(&text, scene),
            None => {
                self.unparsed();
                After { well: Places::Unknown, badly: Places::Unknown }
            }
        }
    }

    pub(crate) fn statement(&mut self, statement: &Statement, scene: &Scene) -> After {
        if self.depth >= DEPTH_MAX {
            self.unparsed();
            return After { well: Places::Unknown, badly: Places::Unknown };
        }
        let plain = matches!(
            statement,
            Statement::Simple(_) | Statement::Then(_) | Statement::Function(..)
        );
        self.depth += 1;
        self.around += usize::from(!plain);
        let after = self.one(statement, scene);
        self.around -= usize::from(!plain);
        self.depth -= 1;
        after
    }

    fn one(&mut self, statement: &Statement, scene: &Scene) -> After {
        match statement {
            Statement::Simple(simple) => self.simple(simple, scene),
            Statement::Then(statements) => {
                let mut after = After::same(&scene.places);
                for statement in statements {
                    let scene = Scene { places: after.any(), ..scene.clone() };
                    after = self.statement(statement, &scene);
                }
                after
            }
            Statement::And(..) | Statement::Or(..) => self.list(statement, scene),
            Statement::Not(inner) => {
                let After { well, badly } = self.statement(inner, scene);
                After { well: badly, badly: well }
            }
            Statement::Pipeline(parts) => {
                for (number, part) in parts.iter().enumerate() {
                    let fed = scene.fed || number > 0;
                    self.statement(part, &Scene { fed, ..scene.clone() });
                }
                After::same(&scene.places)
            }
            Statement::Apart(inner) => {
                self.statement(inner, scene);
                After::same(&scene.places)
            }
            Statement::Maybe(statements) => After::same(&self.any(statements, scene)),
            Statement::Loop(statements) => {
                let places = self.any(statements, scene);
                if places == scene.places {
                    return After::same(&places);
                }
                // It moves on each time, and nobody knows how often.
                let scene = Scene { places: Places::Unknown, ..scene.clone() };
                After::same(&self.any(statements, &scene))
            }
            Statement::Function(name, body) => {
                let body = Rc::new((**body).clone());
                let sure = self.around == 0;
                let function = Function { body, sure, open: false };
                self.look_into(name, function, scene);
                After::same(&scene.places)
            }
            Statement::Redirected(inner, redirects) => {
                let input = self.redirects(redirects, scene);
                let fed = match input {
                    Input::Inherited => scene.fed,
                    Input::Text(_) | Input::File(_) | Input::Unknown => true,
                };
                self.statement(inner, &Scene { fed, ..scene.clone() })
            }
        }
    }

    /// Walks `a && b || c`, which hangs to the left, without going down for each.
    fn list(&mut self, statement: &Statement, scene: &Scene) -> After {
        let mut rights = Vec::new();
        let mut left = statement;
        while let Statement::And(first, right) | Statement::Or(first, right) = left {
            rights.push((matches!(left, Statement::And(..)), right));
            left = first;
        }
        let mut after = self.statement(left, scene);
        for (and, right) in rights.into_iter().rev() {
            let After { well, badly } = after;
            let places = if and { well.clone() } else { badly.clone() };
            let second = self.statement(right, &Scene { places, ..scene.clone() });
            after = match and {
                true => After { well: second.well, badly: badly.or(&second.badly) },
                false => After { well: well.or(&second.well), badly: second.badly },
            };
        }
        after
    }

    /// Any of the statements may be left out.
    fn any(&mut self, statements: &[Statement], scene: &Scene) -> Places {
        let mut places = scene.places.clone();
        for statement in statements {
            let scene = Scene { places: places.clone(), ..scene.clone() };
            let after = self.statement(statement, &scene);
            places = places.or(&after.any());
        }
        places
    }

    fn simple(&mut self, simple: &Simple, scene: &Scene) -> After {
        for inner in &simple.inner {
            self.statement(inner, scene);
        }
        for assignment in &simple.assignments {
            variables::assigned(self, &assignment.name, &assignment.value, scene);
        }
        let input = self.redirects(&simple.redirects, scene);
        if simple.words.is_empty() {
            return After::same(&scene.places);
        }
        self.command(&simple.words, &Stage { scene, input })
    }

    /// Names one command of a line, as often as it is met.
    pub(crate) fn command(&mut self, words: &[Word], stage: &Stage<'_>) -> After {
        self.commands += 1;
        if self.commands > COMMANDS_MAX || self.depth >= DEPTH_MAX {
            self.unparsed();
            return After { well: Places::Unknown, badly: Places::Unknown };
        }
        self.depth += 1;
        let after = self.called(words, stage);
        self.depth -= 1;
        after
    }

    /// Names a command that a program starts.
    pub(crate) fn nested(&mut self, words: &[Word], stage: &Stage<'_>) {
        self.commands += 1;
        if self.commands > COMMANDS_MAX || self.depth >= DEPTH_MAX {
            return self.unparsed();
        }
        self.depth += 1;
        self.started(words, stage);
        self.depth -= 1;
    }

    fn called(&mut self, words: &[Word], stage: &Stage<'_>) -> After {
        let name = words.first().and_then(Word::text).unwrap_or_default();
        match self.functions.get(&name).cloned() {
            Some(function) if !function.open => {
                let sure = function.sure;
                let after = self.look_into(&name, function, &stage.scene());
                if sure {
                    return after;
                }
                let program = self.outer(words, stage);
                After { well: after.well.or(&program.well), badly: after.badly.or(&program.badly) }
            }
            Some(function) if function.sure => After::same(&Places::Unknown),
            Some(_) | None => self.outer(words, stage),
        }
    }

    /// Names what a function starts, once: what calls itself starts nothing new.
    fn look_into(&mut self, name: &str, function: Function, scene: &Scene) -> After {
        let open = Function { open: true, ..function.clone() };
        self.functions.insert(name.to_owned(), open);
        self.around += 1;
        let after = self.statement(&function.body, scene);
        self.around -= 1;
        self.functions.insert(name.to_owned(), function);
        after
    }

    /// Names what a redirection opens, and says what becomes the standard input.
    fn redirects(&mut self, redirects: &[Redirect], scene: &Scene) -> Input {
        let mut input = Input::Inherited;
        for redirect in redirects {
            for inner in &redirect.inner {
                self.statement(inner, scene);
            }
            let operation = match redirect.what {
                What::Read => Some(Operation::Read),
                What::Write => Some(Operation::Write),
                What::Text | What::Descriptor => None,
            };
            if let Some(operation) = operation {
                self.reach(operation, &redirect.target, scene);
            }
            if redirect.stdin {
                input = match (redirect.what, redirect.target.text()) {
                    (What::Text, Some(text)) => Input::Text(text),
                    (What::Read, _) => Input::File(redirect.target.clone()),
                    (What::Text | What::Write | What::Descriptor, _) => Input::Unknown,
                };
            }
        }
        input
    }

    fn reach(&mut self, operation: Operation, target: &Word, scene: &Scene) {
        let path = target.below_here().or_else(|| target.text());
        let paths = path.and_then(|path| scene.places.paths(&path));
        for path in paths.unwrap_or_default() {
            if self.named.reaches.len() < COMMANDS_MAX {
                self.named.reaches.push(Reach { operation, path });
            }
        }
    }
}

impl Stage<'_> {
    /// Whether something unknown comes through the standard input.
    pub(crate) fn is_fed(&self) -> bool {
        match self.input {
            Input::Inherited => self.scene.fed,
            Input::Text(_) | Input::File(_) | Input::Unknown => true,
        }
    }

    /// The same command elsewhere.
    pub(crate) fn scene(&self) -> Scene {
        Scene { fed: self.is_fed(), ..self.scene.clone() }
    }
}

/// Whether a word may hold letters that nobody knows.
pub(crate) fn is_open(word: &Word) -> bool {
    word.0.iter().any(|part| matches!(part, Part::Some | Part::Words))
}
