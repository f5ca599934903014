//! The base: what is in it, and that it is made once.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use chock_workspace::{
    BASES_UNUSED_SECONDS_MAX, Halves, Making, Method, Notice, Owner, Progress, Start, Workspace,
    prune_bases,
};

use crate::yard::{Yard, assert_same, everything};

fn base(workspace: &Workspace) -> PathBuf {
    match &workspace.layout().halves {
        Halves::Overlay { base, .. } => base.clone(),
        Halves::Copy { .. } => panic!("an overlay is expected"),
    }
}

#[test]
fn the_base_is_the_committed_tree_whatever_the_project_says_about_bytes() {
    let yard = Yard::filled();
    yard.write(
        ".gitattributes",
        "*.bat eol=crlf\n*.id ident\n*.big filter=lfs\n*.u16 working-tree-encoding=UTF-16\n",
    );
    yard.write("a.bat", "echo\n");
    yard.write("a.id", "$Id$\n");
    yard.commit("attributes");
    let marker = yard.path("marker");
    let smudge = format!("touch {}; cat", marker.display());
    yard.write("a.big", "content\n");
    yard.commit("big");
    yard.git(&["config", "filter.lfs.smudge", &smudge]);
    yard.git(&["config", "filter.lfs.clean", &smudge]);
    yard.git(&["config", "core.fsmonitor", &smudge]);
    yard.git(&["config", "core.autocrlf", "true"]);
    yard.write("README", "changed, and not committed\n");
    fs::create_dir_all(yard.project.join(".git/hooks")).unwrap();
    yard.write(".git/hooks/post-checkout", format!("#!/bin/sh\ntouch {}\n", marker.display()));
    let workspace = yard.workspace();
    workspace.uncommitted(&yard.find().unwrap()).count().unwrap();
    let base = base(&workspace);
    assert_eq!(fs::read(base.join("a.bat")).unwrap(), b"echo\n");
    assert_eq!(fs::read(base.join("a.id")).unwrap(), b"$Id$\n");
    assert_eq!(fs::read(base.join("README")).unwrap(), b"one\ntwo\nthree\n");
    assert_eq!(fs::read_link(base.join("link")).unwrap(), PathBuf::from("README"));
    assert_eq!(base.join("run.sh").metadata().unwrap().mode() & 0o111, 0o111);
    assert!(!marker.exists(), "a program of the project ran");
}

#[test]
fn pointers_of_git_lfs_are_counted() {
    let yard = Yard::filled();
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n";
    yard.write("a.bin", pointer);
    yard.write("b.bin", pointer);
    yard.commit("pointers");
    assert_eq!(yard.workspace().notices(), [Notice::LfsPointers { count: 2 }]);
}

#[test]
fn sessions_share_one_base_and_each_tree_has_its_own() {
    let yard = Yard::filled();
    let one = yard.workspace();
    let before = everything(&base(&one));
    let two = yard.workspace_with(yard.opening("two.work"));
    assert_eq!(base(&one), base(&two));
    assert_same(&everything(&base(&two)), &before);
    yard.write("README", "other\n");
    yard.commit("second");
    let three = yard.workspace_with(yard.opening("three.work"));
    assert_ne!(base(&three), base(&one));
    assert_eq!(base(&one).join("README").metadata().unwrap().nlink(), 1);
}

#[test]
fn what_a_killed_maker_left_is_removed() {
    let yard = Yard::filled();
    let bases = yard.path("cache/bases");
    fs::create_dir_all(bases.join("other.making/tree")).unwrap();
    let tree = yard.git(&["rev-parse", "HEAD^{tree}"]);
    fs::create_dir_all(bases.join(format!("{tree}-v3.making/tree"))).unwrap();
    fs::create_dir_all(bases.join(format!("{tree}-v3/tree"))).unwrap();
    let workspace = yard.workspace();
    assert!(base(&workspace).join("README").is_file());
    let left: Vec<_> = bases.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_str().unwrap().ends_with(".making")), "{left:?}");
}

#[test]
fn what_somebody_took_out_of_the_cache_is_made_again() {
    let yard = Yard::filled();
    yard.write("deep/in/here", "text");
    yard.commit("deep");
    let parts = ["tree", "index", "facts", "", "directories", "tree/README", "tree/deep/in/here"];
    for (round, part) in parts.into_iter().enumerate() {
        let place = base(&yard.workspace_with(yard.opening(&format!("{round}.work"))));
        let gone = place.parent().unwrap().join(part);
        if gone.is_dir() { fs::remove_dir_all(gone) } else { fs::remove_file(gone) }.unwrap();
        let again = yard.workspace_with(yard.opening(&format!("again-{round}.work")));
        let whole = ["README", "deep/in/here"].map(|name| base(&again).join(name).is_file());
        assert_eq!(whole, [true, true], "without {part}");
    }
}

#[test]
fn many_makers_at_once_make_one_base() {
    let yard = Yard::filled();
    std::thread::scope(|scope| {
        let makers: Vec<_> = (0..4)
            .map(|number| {
                let yard = &yard;
                scope.spawn(move || {
                    base(&yard.workspace_with(yard.opening(&format!("{number}.work"))))
                })
            })
            .collect();
        for maker in makers {
            assert!(maker.join().unwrap().join("README").is_file());
        }
    });
}

#[test]
fn the_files_belong_to_the_session_s_user() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can give files away");
        return;
    }
    let yard = Yard::filled();
    let mut opening = yard.opening("one.work");
    opening.owner = Some(Owner { uid: 1000, gid: 1000 });
    let workspace = yard.workspace_with(opening.clone());
    opening.session = yard.path("state/two.work");
    opening.method = Method::Copy;
    opening.start = Start::Committed;
    let copy = yard.workspace_with(opening);
    for directory in [base(&workspace), workspace.layout().git_dir.clone(), crate::yard::top(&copy)]
    {
        for (path, ..) in everything(&directory) {
            let found = fs::symlink_metadata(&path).unwrap();
            assert_eq!((found.uid(), found.gid()), (1000, 1000), "{path:?}");
        }
    }
    let store = yard.path("state/one.work/store").metadata().unwrap();
    assert_eq!((store.uid(), store.mode() & 0o777), (0, 0o700));
}

/// What is in a base but for its times, which are those of its making.
fn content(base: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let rows = everything(base).into_iter();
    rows.map(|(path, mode, _, _, bytes)| {
        (Path::new(&path).strip_prefix(base).unwrap().to_owned(), mode, bytes)
    })
    .collect()
}

/// Changes the project as a commit does: files, programs, links and directories come, go, change
/// their kind and move.
fn change(yard: &Yard, round: u64) {
    let mut choose = round.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for _ in 0..8 {
        choose = choose.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let pick = choose >> 33;
        let name = format!("d{}/e{}/f{}", pick % 3, pick / 3 % 3, pick / 9 % 3);
        let path = yard.project.join(&name);
        let above = yard.project.join(format!("d{}/e{}", pick % 3, pick / 3 % 3));
        match pick / 27 % 5 {
            0 => drop(fs::remove_dir_all(&above)),
            1 => {
                // A file where a directory was.
                let _gone = fs::remove_dir_all(&above);
                fs::create_dir_all(above.parent().unwrap()).unwrap();
                fs::write(&above, format!("{round}")).unwrap();
            }
            kind => {
                if above.is_file() {
                    fs::remove_file(&above).unwrap();
                }
                fs::create_dir_all(&above).unwrap();
                let _gone = fs::remove_file(&path);
                if kind == 2 {
                    std::os::unix::fs::symlink(format!("to-{round}"), &path).unwrap();
                } else {
                    fs::write(&path, format!("{pick} {round}")).unwrap();
                    let mode = if kind == 3 { 0o755 } else { 0o644 };
                    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
                }
            }
        }
    }
    yard.write("round", round.to_string());
    yard.commit("round");
}

#[test]
fn a_base_made_from_an_earlier_one_is_as_one_made_alone() {
    let yard = Yard::filled();
    for round in 0..12 {
        change(&yard, round);
        let (name, alone) = (format!("{round}.work"), format!("alone-{round}.work"));
        let from_earlier = yard.workspace_with(yard.opening(&name));
        let mut opening = yard.opening(&alone);
        opening.cache = yard.path(&format!("cache-{round}"));
        let alone = yard.workspace_with(opening);
        let (one, other) = (base(&from_earlier), base(&alone));
        assert_eq!(content(&one), content(&other), "round {round}");
        let entries = |base: &Path| {
            let index = base.with_file_name("index");
            let mut git = yard.command(&yard.project);
            let listed = git.env("GIT_INDEX_FILE", &index).args(["ls-files", "--stage"]);
            crate::yard::text(crate::yard::run(listed))
        };
        assert_eq!(entries(&one), entries(&other), "round {round}");
        // No file is read again to see that it is unchanged: its time is the index's.
        let mut git = yard.command(&one);
        git.env("GIT_DIR", yard.project.join(".git")).env("GIT_WORK_TREE", &one);
        git.env("GIT_INDEX_FILE", one.with_file_name("index"));
        let options = ["-c", "core.checkStat=minimal", "-c", "core.trustctime=false"];
        git.args(options).args(["diff-files", "--name-only"]);
        assert_eq!(crate::yard::text(crate::yard::run(&mut git)), "", "round {round}");
        for (path, ..) in everything(&one) {
            let found = fs::symlink_metadata(&path).unwrap();
            assert!(found.is_dir() || found.nlink() == 1, "{path:?} is linked");
        }
    }
}

#[test]
fn what_an_earlier_base_has_is_copied_from_it() {
    let yard = Yard::filled();
    yard.write("deep/in/here", "as committed");
    yard.commit("deep");
    let earlier = base(&yard.workspace());
    // No base has this content: who meets it in the next one knows where it comes from.
    fs::write(earlier.join("deep/in/here"), "as  earlier!").unwrap();
    yard.write("README", "other\n");
    yard.commit("second");
    let next = base(&yard.workspace_with(yard.opening("two.work")));
    assert_eq!(fs::read(next.join("deep/in/here")).unwrap(), b"as  earlier!");
    assert_eq!(fs::read(next.join("README")).unwrap(), b"other\n");
}

#[test]
fn what_somebody_took_out_of_an_earlier_base_is_not_missing_in_the_next() {
    let yard = Yard::filled();
    yard.write("deep/in/here", "as committed");
    yard.write("deep/in/there", "as committed");
    yard.write("top", "as committed");
    yard.commit("deep");
    for (number, gone) in ["top", "deep/in/here"].into_iter().enumerate() {
        let earlier = base(&yard.workspace_with(yard.opening(&format!("{number}.work"))));
        fs::remove_file(earlier.join(gone)).unwrap();
        yard.write("README", format!("other {number}\n"));
        yard.commit("again");
        let next = base(&yard.workspace_with(yard.opening(&format!("{number}-next.work"))));
        assert_eq!(fs::read(next.join(gone)).unwrap(), b"as committed", "{gone}");
    }
}

#[test]
fn making_a_base_tells_how_far_it_is() {
    let yard = Yard::filled();
    let told: Arc<Mutex<Vec<Making>>> = Arc::default();
    let listener = told.clone();
    let progress = Progress::new(move |making| listener.lock().unwrap().push(making));
    let project = yard.find().unwrap().telling(progress);
    let workspace = Workspace::create(&project, &yard.opening("one.work")).unwrap();
    let all = std::mem::take(&mut *told.lock().unwrap());
    let (first, last) = (all.first().unwrap(), all.last().unwrap());
    assert_eq!((first.done, last.done), (0, last.total));
    assert!(last.total >= 2 && all.windows(2).all(|two| two[0].done <= two[1].done), "{all:?}");
    drop(workspace);
    Workspace::create(&project, &yard.opening("two.work")).unwrap();
    assert_eq!(*told.lock().unwrap(), [], "a base that is there is not made");
}

#[test]
fn a_base_in_use_is_never_pruned_and_one_that_was_is_made_again() {
    let yard = Yard::filled();
    let workspace = yard.workspace();
    let (place, tree) = (base(&workspace), workspace.start_tree());
    let cache = yard.path("cache");
    assert_eq!(prune_bases(&cache).unwrap().count, 0);
    assert!(place.join("README").is_file());
    drop(workspace);
    let pruned = prune_bases(&cache).unwrap();
    assert!(pruned.count == 1 && pruned.bytes > 0, "{pruned:?}");
    assert_eq!(cache.join("bases").read_dir().unwrap().count(), 0);
    let session = yard.path("state/one.work");
    let workspace = Workspace::open(&yard.find().unwrap(), &session, &[], &[]).unwrap();
    assert!(place.join("README").is_file());
    assert_eq!(workspace.snapshot().unwrap().tree, tree);
    assert_eq!(prune_bases(&cache).unwrap().count, 0);
}

#[test]
fn a_base_that_nobody_used_for_long_goes_away_with_the_next() {
    let yard = Yard::filled();
    let unused = base(&yard.workspace());
    yard.write("README", "other\n");
    yard.commit("second");
    let held = yard.workspace_with(yard.opening("two.work"));
    let second = base(&held);
    let long = Duration::from_secs(u64::try_from(BASES_UNUSED_SECONDS_MAX).unwrap() + 60);
    for place in [&unused, &second] {
        let used = fs::File::open(place.parent().unwrap().with_extension("used")).unwrap();
        used.set_modified(SystemTime::now() - long).unwrap();
    }
    yard.write("README", "third\n");
    yard.commit("third");
    let third = yard.workspace_with(yard.opening("three.work"));
    assert!(!unused.exists(), "it was used long ago");
    assert!(second.join("README").is_file(), "a session works on it");
    assert!(base(&third).join("README").is_file());
}

#[test]
fn nobody_loses_the_base_under_his_feet() {
    let yard = Yard::filled();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..3)
            .map(|worker| {
                let yard = &yard;
                scope.spawn(move || {
                    for round in 0..20 {
                        let opening = yard.opening(&format!("{worker}-{round}.work"));
                        let workspace = yard.workspace_with(opening);
                        let place = base(&workspace);
                        prune_bases(&yard.path("cache")).unwrap();
                        assert!(place.join("README").is_file(), "{worker} {round}");
                        drop(workspace);
                        prune_bases(&yard.path("cache")).unwrap();
                    }
                })
            })
            .collect();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
}
