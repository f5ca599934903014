//! Files outside, and files inside that are not the cage's to change.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::Path;

use super::{Attack, End, end};

pub(crate) const ATTACKS: &[(&str, Attack)] = &[
    ("read", read),
    ("read-fifo", read_fifo),
    ("read-link", |words| end(fs::read_link(&words[0]))),
    ("list", list),
    ("append", append),
    ("create", |words| end(File::create(&words[0]))),
    ("open-for-writing", |words| end(OpenOptions::new().write(true).open(&words[0]))),
    ("rename", |words| end(fs::rename(&words[0], &words[1]))),
    ("unlink", |words| end(fs::remove_file(&words[0]))),
    ("replace", replace),
    ("rename-then-read", rename_then_read),
    ("rename-parent-then-read", rename_parent_then_read),
    ("link-then-read", |words| {
        end(fs::hard_link(&words[0], "linked").and_then(|()| fs::read("linked")))
    }),
    ("symlink-then-read", |words| {
        end(symlink(&words[0], "pointed").and_then(|()| fs::read("pointed")))
    }),
    ("chmod-then-read", chmod_then_read),
    ("climb", climb),
    ("swap-parent-for-link", swap_parent_for_link),
    ("device-beneath", device_beneath),
];

fn read(words: &[String]) -> End {
    let mut piece = [0; 64];
    match File::open(&words[0]).and_then(|mut file| file.read(&mut piece)) {
        Ok(length) => End::Through(format!("{length} bytes")),
        Err(error) => End::Refused(error.to_string()),
    }
}

/// Reads what somebody outside has put into a FIFO.
fn read_fifo(words: &[String]) -> End {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_NONBLOCK);
    match options.open(&words[0]).and_then(|mut fifo| fifo.read(&mut [0; 8])) {
        Ok(0) => End::Refused("nobody writes".to_owned()),
        other => end(other),
    }
}

fn list(words: &[String]) -> End {
    match fs::read_dir(&words[0]).map(|entries| entries.filter(Result::is_ok).count()) {
        Ok(count) if count > 0 => End::Through(format!("{count} entries")),
        Ok(_) => End::Refused("it is empty".to_owned()),
        Err(error) => End::Refused(error.to_string()),
    }
}

fn append(words: &[String]) -> End {
    let file = OpenOptions::new().append(true).open(&words[0]);
    end(file.and_then(|mut file| file.write_all(b"changed\n")))
}

fn replace(words: &[String]) -> End {
    end(fs::write("replacement", "changed\n").and_then(|()| fs::rename("replacement", &words[0])))
}

fn rename_then_read(words: &[String]) -> End {
    end(fs::rename(&words[0], "renamed").and_then(|()| fs::read("renamed")))
}

/// The first word is a directory, the second a file in it.
fn rename_parent_then_read(words: &[String]) -> End {
    end(fs::rename(&words[0], "moved").and_then(|()| fs::read(Path::new("moved").join(&words[1]))))
}

fn chmod_then_read(words: &[String]) -> End {
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    let _ = fs::set_permissions(&words[0], mode);
    if Path::new(&words[0]).is_dir() { list(words) } else { read(words) }
}

/// Climbs above the root by more steps than there are.
fn climb(words: &[String]) -> End {
    end(fs::read(format!("{}{}", "../".repeat(64), words[0].trim_start_matches('/'))))
}

/// Replaces the first word's directory by a link to the second, and reads the third through it.
fn swap_parent_for_link(words: &[String]) -> End {
    let swap = || -> io::Result<Vec<u8>> {
        fs::create_dir_all(&words[0])?;
        fs::rename(&words[0], format!("{}.old", words[0]))?;
        symlink(&words[1], &words[0])?;
        fs::read(Path::new(&words[0]).join(&words[2]))
    };
    end(swap())
}

/// Looks for a socket, FIFO or device beneath a directory; finding none is a refusal.
fn device_beneath(words: &[String]) -> End {
    let mut stack = vec![Path::new(&words[0]).to_owned()];
    while let Some(directory) = stack.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                stack.push(entry.path());
            } else if kind.is_block_device() || kind.is_char_device() {
                return End::Through(entry.path().display().to_string());
            }
        }
    }
    End::Refused("none is there".to_owned())
}
