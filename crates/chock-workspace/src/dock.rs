//! Where the agent's commits are looked at and made ready to land: a git directory of Chock's own.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use git2::{ObjectType, Oid, Repository, Tree};
use sha2::{Digest, Sha256};

use crate::branch::{GitMove, RefMove};
use crate::commit_text::CommitText;
use crate::git::Own;
use crate::keep::{DIRECTORY, FILE, LINK, PROGRAM, SUBMODULE};
use crate::sign::Signer;
use crate::{
    Carriage, ChangeSet, Combination, Combined, HandBackFault, LandingMode, Named, Parked, Project,
    Refused, SNAPSHOT_DEPTH_MAX, Stand, Store, StoreFault, TreeId, bare, compare, dirty, files,
    make, objects, remove, stand,
};

/// The directory beside a workspace that the commits are made ready in.
const DOCK: &str = "dock";

/// The most files whose line ends are looked at. A tree with more changed ones is dirty.
const CHECKED_MAX: usize = 10_000;

/// The most commits whose subjects are told.
const TOLD_MAX: usize = 50;

/// Chock's own git directory for one apply, removed with the value.
#[derive(Debug)]
pub struct Dock {
    directory: PathBuf,
    store: Store,
}

/// What is wished for.
#[derive(Debug, Clone)]
pub struct Landing<'a> {
    /// The session's id.
    pub session: &'a str,
    /// Its title, once there is one.
    pub title: Option<&'a str>,
    /// How the commits are to land.
    pub mode: LandingMode,
    /// Flagged paths that were accepted by their name.
    pub named: &'a Named,
    /// Seconds since 1970.
    pub seconds: i64,
    /// Minutes east of Greenwich.
    pub zone: i32,
    /// Variables of the person's for the program that signs.
    pub variables: &'a [(OsString, OsString)],
}

/// Commits that are ready to be carried.
#[derive(Debug)]
pub struct Docked {
    /// Short ids and subjects of the agent's commits, parents first. At most 50.
    pub told: Vec<(String, String)>,
    /// What the agent's commits change of the commit they go out from.
    pub changes: ChangeSet,
    /// What of the commits is not carried; then nothing is.
    pub refused: Vec<Refused>,
    /// Where both sides changed the same lines, as git spells paths.
    pub conflicts: Vec<String>,
    pub(crate) git: GitMove,
    /// From the commit on the branch to the one that lands.
    pub(crate) landing: Option<ChangeSet>,
    pub(crate) trees: (TreeId, TreeId),
    pub(crate) pack: Vec<u8>,
}

impl Docked {
    /// Why the commits stay at the session's ref. `None` when they land.
    #[must_use]
    pub fn parked(&self) -> Option<Parked> {
        self.git.parked
    }

    /// How they land.
    #[must_use]
    pub fn mode(&self) -> LandingMode {
        self.git.mode
    }

    /// The commits that the branch goes from and to. `None` where it stays.
    #[must_use]
    pub fn tip(&self) -> Option<(&str, &str)> {
        let branch = self.git.branch.as_ref()?;
        Some((branch.before.as_deref().unwrap_or_default(), &branch.after))
    }

    /// Whether the branch gets the session's last commit itself.
    #[must_use]
    pub fn is_as_committed(&self) -> bool {
        self.tip().is_some_and(|(_, to)| to == self.head())
    }

    /// The session's last commit.
    #[must_use]
    pub fn head(&self) -> &str {
        &self.git.kept.after
    }

    /// How many commits the agent made.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.git.commits
    }

    /// Whether the session's ref names these commits already, and nothing lands.
    #[must_use]
    pub fn is_known(&self) -> bool {
        let kept = &self.git.kept;
        self.git.branch.is_none() && kept.before.as_ref() == Some(&kept.after)
    }

    /// Leaves the commits at the session's ref.
    #[must_use]
    pub fn park(self, why: Parked) -> Self {
        let git = GitMove { branch: None, parked: Some(why), ..self.git };
        Self { git, landing: None, ..self }
    }
}

type Git2<T> = Result<T, git2::Error>;

/// What is told of commits, and what of them is not carried.
type Looked = (Vec<(String, String)>, Vec<Refused>);

impl Dock {
    /// Makes it in the workspace of `session`, in place of one that a killed process left. It has
    /// the objects of the project and of the session's snapshots.
    ///
    /// # Errors
    ///
    /// [`HandBackFault`].
    pub fn make(session: &Path, project: &Project) -> Result<Self, HandBackFault> {
        let directory = session.join(DOCK);
        let place = |source| HandBackFault::Place { source };
        remove::tree(&directory).map_err(place)?;
        let common = project.common_dir();
        let mut borrowed = objects::directories(&common.join("objects")).map_err(place)?;
        borrowed.push(Store::at(session).directory().join("objects"));
        bare::make(&directory, &borrowed).map_err(place)?;
        if let Some(shallow) = project.shallow().map_err(place)? {
            files::write(&directory.join("shallow"), &shallow).map_err(place)?;
        }
        let store = Store::in_directory(&directory);
        Ok(Self { directory, store })
    }

    pub(crate) fn repository(&self) -> Result<Repository, HandBackFault> {
        self.store.repository().map_err(|fault| match fault {
            StoreFault::Open { source, .. } | StoreFault::Compare { source, .. } => {
                HandBackFault::Objects { source }
            }
            StoreFault::Notes { source } | StoreFault::Write { source } => {
                HandBackFault::files("read", &self.directory, source)
            }
        })
    }

    /// Takes checked commits in, looks at everything they change, and makes what lands.
    ///
    /// # Errors
    ///
    /// [`HandBackFault`]; the project is as before.
    pub fn ready(
        &self,
        project: &Project,
        (start, stand): (Option<&str>, &Stand),
        combined: &Combined,
        wish: &Landing<'_>,
    ) -> Result<Docked, HandBackFault> {
        self.take_in(project, &combined.pack)?;
        let repository = self.repository()?;
        let objects = |source| HandBackFault::Objects { source };
        let work = Work { dock: self, project, repository: &repository, wish };
        let start = combined.base.as_deref().or(start);
        let (start, head) = (work.tree_of(start), work.tree_of(Some(&combined.head)));
        let (start, head) = (start.map_err(objects)?, head.map_err(objects)?);
        let odd = work.odd_modes(combined).map_err(objects)?;
        // The library that compares trees cannot bear a mode that git does not write.
        let to = if odd.is_empty() { head } else { start };
        let mut changes = compare::trees(&repository, start, to).map_err(objects)?;
        changes.flag_hooks(project);
        let (told, refused) = match odd.is_empty() {
            true => work.look(combined).map_err(objects)?,
            false => (Vec::new(), odd),
        };
        let name = format!("refs/chock/{}", wish.session);
        let before = stand::value(project, &name)?;
        let kept = RefMove { name, before, after: combined.head.clone() };
        let (mode, commits) = (wish.mode, combined.commits.len() as u64);
        let git =
            GitMove { kept, branch: None, mode, parked: None, commits, digest: String::new() };
        let mut docked = Docked {
            told,
            changes,
            refused,
            conflicts: combined.conflicts.clone(),
            git,
            landing: None,
            trees: (start, head),
            pack: Vec::new(),
        };
        if docked.refused.is_empty() {
            match work.land(stand, combined)? {
                Ok(branch) => docked.land(&work, branch)?,
                Err(why) => docked.git.parked = Some(why),
            }
        }
        docked.pack = self.pack(project, stand, &docked.git)?;
        docked.git.digest =
            Sha256::digest(&docked.pack).iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(docked)
    }

    /// Writes what commits change as a patch, for a person.
    ///
    /// # Errors
    ///
    /// [`StoreFault`].
    pub fn patch(&self, changes: &ChangeSet) -> Result<Vec<u8>, StoreFault> {
        let mut patch = Vec::new();
        self.store.write_patch(changes, &mut patch)?;
        Ok(patch)
    }

    fn pack(
        &self,
        project: &Project,
        stand: &Stand,
        git: &GitMove,
    ) -> Result<Vec<u8>, HandBackFault> {
        let mut wanted = format!("{}\n", git.kept.after);
        if let Some(branch) = &git.branch {
            wanted.push_str(&format!("{}\n", branch.after));
        }
        // What a ref of the project holds is there, now and whenever this is redone.
        for held in [&stand.commit, &git.kept.before].into_iter().flatten() {
            wanted.push_str(&format!("^{held}\n"));
        }
        self.pack_of(project, &wanted)
    }

    /// Packs what rows of commits lead to.
    pub(crate) fn pack_of(
        &self,
        project: &Project,
        wanted: &str,
    ) -> Result<Vec<u8>, HandBackFault> {
        let args = ["pack-objects", "-q", "--revs", "--stdout", "--delta-base-offset"];
        self.git(project, &args, wanted.as_bytes())
    }

    pub(crate) fn git(
        &self,
        project: &Project,
        args: &[&str],
        input: &[u8],
    ) -> Result<Vec<u8>, HandBackFault> {
        let args: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
        let answer = project.git.own(&self.own(&self.index()), &args, Some(input));
        answer
            .map_err(|fault| HandBackFault::Git { what: "take the commits in", said: fault.said() })
    }

    fn index(&self) -> PathBuf {
        self.directory.join("index")
    }

    fn own<'a>(&'a self, index: &'a Path) -> Own<'a> {
        Own { git_dir: &self.directory, work_tree: &self.directory, index }
    }
}

impl Drop for Dock {
    fn drop(&mut self) {
        // What cannot be removed is removed by the next, or with the session.
        let _left = remove::tree(&self.directory);
    }
}

impl Docked {
    /// Notes where the branch goes.
    fn land(&mut self, work: &Work<'_>, branch: RefMove) -> Result<(), HandBackFault> {
        let objects = |source| HandBackFault::Objects { source };
        let from = work.tree_of(branch.before.as_deref()).map_err(objects)?;
        let to = work.tree_of(Some(&branch.after)).map_err(objects)?;
        let mut landing = compare::trees(work.repository, from, to).map_err(objects)?;
        landing.flag_hooks(work.project);
        self.refused = work.not_carried(&landing);
        self.landing = Some(landing);
        self.git.branch = Some(branch);
        Ok(())
    }
}

/// What one apply is made ready with.
struct Work<'a> {
    dock: &'a Dock,
    project: &'a Project,
    repository: &'a Repository,
    wish: &'a Landing<'a>,
}

impl Work<'_> {
    fn tree_of(&self, commit: Option<&str>) -> Git2<TreeId> {
        tree_of(self.repository, commit)
    }

    /// Looks at every commit: its subject, and what of its changes is not carried.
    fn look(&self, combined: &Combined) -> Git2<Looked> {
        let (mut told, mut refused) = (Vec::new(), BTreeMap::new());
        for id in &combined.commits {
            let commit = self.repository.find_commit(Oid::from_str(id)?)?;
            if told.len() < TOLD_MAX {
                let subject = String::from_utf8_lossy(commit.summary_bytes().unwrap_or_default());
                told.push((id.chars().take(10).collect(), subject.into_owned()));
            }
            let parent = commit.parents().next().map(|parent| parent.id().to_string());
            let (from, to) = (self.tree_of(parent.as_deref())?, TreeId(commit.tree_id()));
            let mut changes = compare::trees(self.repository, from, to)?;
            changes.flag_hooks(self.project);
            for row in self.not_carried(&changes) {
                refused.entry(row.path.clone()).or_insert(row);
            }
        }
        Ok((told, refused.into_values().collect()))
    }

    /// What has a mode in one of the commits that git does not write.
    fn odd_modes(&self, combined: &Combined) -> Git2<Vec<Refused>> {
        let mut refused = BTreeMap::new();
        for id in &combined.commits {
            let commit = self.repository.find_commit(Oid::from_str(id)?)?;
            let before = commit.parents().next().map(|parent| parent.tree()).transpose()?;
            for path in odd_modes(self.repository, before.as_ref(), &commit.tree()?, b"")? {
                let reason = "too deep, or of a mode that git does not write".to_owned();
                refused.insert(path.clone(), Refused { path, reason, conflict: None });
            }
        }
        Ok(refused.into_values().collect())
    }

    /// What of some changes is not carried, with the reason.
    fn not_carried(&self, changes: &ChangeSet) -> Vec<Refused> {
        let rows = changes.files.iter().filter_map(|file| {
            let flag = file.flags.iter().max_by_key(|flag| flag.carriage())?;
            let reason = match file.carriage() {
                Carriage::Plain => return None,
                Carriage::Flagged if self.wish.named.contains(&file.path) => return None,
                Carriage::Flagged => format!("it needs an accept of its own: {}", flag.words()),
                Carriage::Refused => flag.words().to_owned(),
            };
            Some(Refused { path: file.path.clone(), reason, conflict: None })
        });
        rows.collect()
    }

    /// Makes the commit that lands.
    fn land(
        &self,
        stand: &Stand,
        combined: &Combined,
    ) -> Result<Result<RefMove, Parked>, HandBackFault> {
        let (Some(name), Some(ours)) = (&stand.branch, &stand.commit) else {
            return Ok(Err(stand.parked.unwrap_or(Parked::DetachedHead)));
        };
        if let Some(why) = stand.parked {
            return Ok(Err(why));
        }
        if let Combination::Parked(why) = combined.result {
            return Ok(Err(why));
        }
        if self.is_dirty(ours)? {
            return Ok(Err(Parked::DirtyTree));
        }
        let signer = Signer::of(self.project, self.wish.variables)?;
        let maker = Maker { work: self, signer, ours };
        let after = maker.landing(combined)?;
        if after == *ours {
            return Ok(Err(Parked::AlreadyThere));
        }
        Ok(Ok(RefMove { name: name.clone(), before: Some(ours.clone()), after }))
    }

    /// Whether anything in the project differs from its commit, or is untracked.
    fn is_dirty(&self, ours: &str) -> Result<bool, HandBackFault> {
        let place = |source| HandBackFault::Place { source };
        let head = self.dock.directory.join("HEAD");
        files::write(&head, format!("{ours}\n").as_bytes()).map_err(place)?;
        let person = make::person(self.project).map_err(place)?;
        let paths = dirty::paths(self.project, &self.dock.directory, &person).map_err(place)?;
        if paths.is_empty() {
            return Ok(false);
        }
        let index = self.project.git_dir().join("index");
        let (git_dir, work_tree) = (self.dock.directory.as_path(), self.project.root());
        let own = Own { git_dir, work_tree, index: &index };
        let args = ["diff-index", "--cached", "--quiet", ours].map(OsStr::new);
        let is_staged = self.project.git.own(&own, &args, None).is_err();
        if is_staged || paths.len() > CHECKED_MAX {
            return Ok(true);
        }
        let objects = |source| HandBackFault::Objects { source };
        let tree = self.tree_of(Some(ours)).map_err(objects)?;
        let tree = self.repository.find_tree(tree.0).map_err(objects)?;
        let has_other_line_ends =
            |path| dirty::has_other_line_ends(self.project, self.repository, &tree, path);
        Ok(!paths.iter().all(|path| has_other_line_ends(path)))
    }
}

/// Makes commits on the person's behalf.
struct Maker<'a> {
    work: &'a Work<'a>,
    signer: Option<Signer>,
    /// The commit on the person's branch.
    ours: &'a str,
}

impl Maker<'_> {
    fn landing(&self, combined: &Combined) -> Result<String, HandBackFault> {
        let head = combined.head.clone();
        match &combined.result {
            Combination::Parked(_) => Ok(self.ours.to_owned()),
            Combination::FastForward if self.signer.is_none() => Ok(head),
            Combination::FastForward => self.signed(&combined.commits, &head),
            Combination::Merge { tree } => {
                let theirs = match &self.signer {
                    Some(_) => self.signed(&combined.commits, &head)?,
                    None => head,
                };
                let parents = vec![self.ours.to_owned(), theirs];
                self.new_commit(tree, parents, self.merge_message())
            }
            Combination::Squash { tree } => {
                let message = self.squash_message(combined)?;
                self.new_commit(tree, vec![self.ours.to_owned()], message)
            }
            Combination::Rebase { steps } => {
                let mut tip = self.ours.to_owned();
                for (id, tree) in steps {
                    let old = self.read(id)?;
                    let (tree, parents, committer) = (tree.clone(), vec![tip], self.me());
                    tip = self.write(&CommitText { tree, parents, committer, ..old })?;
                }
                Ok(tip)
            }
        }
    }

    /// Makes each commit again with a signature, and returns the last.
    fn signed(&self, commits: &[String], head: &str) -> Result<String, HandBackFault> {
        let mut made: BTreeMap<&str, String> = BTreeMap::new();
        for id in commits {
            let mut commit = self.read(id)?;
            for parent in &mut commit.parents {
                if let Some(new) = made.get(parent.as_str()) {
                    parent.clone_from(new);
                }
            }
            commit.committer = self.me();
            made.insert(id, self.write(&commit)?);
        }
        Ok(made.get(head).cloned().unwrap_or_else(|| head.to_owned()))
    }

    fn new_commit(
        &self,
        tree: &str,
        parents: Vec<String>,
        message: String,
    ) -> Result<String, HandBackFault> {
        let (author, committer, tree) = (self.me(), self.me(), tree.to_owned());
        let message = message.into_bytes();
        self.write(&CommitText { tree, parents, author, committer, encoding: None, message })
    }

    fn me(&self) -> Vec<u8> {
        signature(self.work.project, self.work.wish)
    }

    fn merge_message(&self) -> String {
        let Landing { session, title, .. } = self.work.wish;
        match title {
            Some(title) => format!("Merge session {session}: {title}\n"),
            None => format!("Merge session {session}\n"),
        }
    }

    /// The only commit's own message, or the title and every subject.
    fn squash_message(&self, combined: &Combined) -> Result<String, HandBackFault> {
        let Landing { session, title, .. } = self.work.wish;
        let texts = combined.commits.iter().take(TOLD_MAX).map(|id| self.read(id));
        let texts = texts.collect::<Result<Vec<_>, _>>()?;
        if let [only] = &texts[..] {
            return Ok(String::from_utf8_lossy(&only.message).into_owned());
        }
        let first = texts.first().map(CommitText::subject).unwrap_or_default();
        let title = title.map_or(first, str::to_owned);
        let rows: String = texts.iter().map(|text| format!("* {}\n", text.subject())).collect();
        Ok(format!("{title}\n\nSession {session}:\n\n{rows}"))
    }

    fn read(&self, id: &str) -> Result<CommitText, HandBackFault> {
        let objects = |source| HandBackFault::Objects { source };
        let odb = self.work.repository.odb().map_err(objects)?;
        let object = odb.read(Oid::from_str(id).map_err(objects)?).map_err(objects)?;
        CommitText::read(object.data())
            .ok_or_else(|| objects(git2::Error::from_str("a commit cannot be read")))
    }

    fn write(&self, commit: &CommitText) -> Result<String, HandBackFault> {
        let Work { dock, project, repository, .. } = self.work;
        let Some(signer) = &self.signer else {
            let written =
                repository.odb().and_then(|odb| odb.write(ObjectType::Commit, &commit.bytes()));
            return written
                .map(|id| id.to_string())
                .map_err(|source| HandBackFault::Objects { source });
        };
        let signed = signer.commit(&project.git, &dock.own(&dock.index()), commit);
        signed.map_err(|fault| HandBackFault::Git { what: "sign a commit", said: fault.said() })
    }
}

/// The person, now, as a commit names them.
pub(crate) fn signature(project: &Project, wish: &Landing<'_>) -> Vec<u8> {
    let (name, email) = stand::identity(project);
    let clean = |text: OsString| {
        let mut bytes = text.into_vec();
        bytes.retain(|byte| !b"<>\n\0".contains(byte));
        bytes.trim_ascii().to_vec()
    };
    let Landing { seconds, zone, .. } = wish;
    let sign = if *zone < 0 { '-' } else { '+' };
    let (hours, minutes) = (zone.abs() / 60, zone.abs() % 60);
    let when = format!("> {seconds} {sign}{hours:02}{minutes:02}");
    [&clean(name)[..], b" <", &clean(email), when.as_bytes()].concat()
}

/// The tree of a commit, or the empty one.
pub(crate) fn tree_of(repository: &Repository, commit: Option<&str>) -> Git2<TreeId> {
    let id = match commit {
        Some(id) => repository.find_commit(Oid::from_str(id)?)?.tree_id(),
        None => repository.odb()?.write(ObjectType::Tree, b"")?,
    };
    Ok(TreeId(id))
}

/// The entries of `new` that are not in `old`, and have a mode that git does not write or are deeper
/// than a snapshot goes.
fn odd_modes(
    repository: &Repository,
    old: Option<&Tree<'_>>,
    new: &Tree<'_>,
    above: &[u8],
) -> Git2<Vec<Vec<u8>>> {
    let mut odd = Vec::new();
    for entry in new {
        let before = old.and_then(|old| old.get_name_bytes(entry.name_bytes()));
        let same = |one: &git2::TreeEntry<'_>| {
            one.id() == entry.id() && one.filemode_raw() == entry.filemode_raw()
        };
        if before.as_ref().is_some_and(same) {
            continue;
        }
        let path = match above {
            b"" => entry.name_bytes().to_vec(),
            above => [above, b"/", entry.name_bytes()].concat(),
        };
        let mode = u32::try_from(entry.filemode_raw()).unwrap_or(0);
        let depth = path.iter().filter(|byte| **byte == b'/').count();
        if mode == DIRECTORY && depth < SNAPSHOT_DEPTH_MAX {
            let before = before.filter(|before| before.kind() == Some(ObjectType::Tree));
            let before = before.map(|before| repository.find_tree(before.id())).transpose()?;
            let inner = repository.find_tree(entry.id())?;
            odd.extend(odd_modes(repository, before.as_ref(), &inner, &path)?);
        } else if ![FILE, PROGRAM, LINK, SUBMODULE].contains(&mode) {
            odd.push(path);
        }
    }
    Ok(odd)
}
