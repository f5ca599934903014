//! The system's own part of the tree: `/usr`, its links, and a short list of `/etc`.

use std::fs;
use std::path::{Path, PathBuf};

use chock_sandbox::{Access, HOME, Mount, Owners};

use super::{Host, bind};

/// The name of the session's user inside.
pub(super) const USER: &str = "chock";

/// Directories of the root that are links into `/usr`, or directories of their own.
const ROOTS: [&str; 6] = ["bin", "sbin", "lib", "lib32", "lib64", "libx32"];

/// What programs read of `/etc`. A name that ends with `*` stands for all that begin so.
///
/// None of it may hold a credential: no `npmrc`, `pip.conf`, `chromium.d/apikeys`, `gitconfig`,
/// `ssl/private`.
const ETC: [&str; 32] = [
    "alternatives",
    "ca-certificates",
    "ca-certificates.conf",
    "chromium.d/default-flags",
    "chromium.d/dev-shm",
    "chromium.d/extensions",
    "debian_version",
    "fonts",
    "java*",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "locale.conf",
    "localtime",
    "lsb-release",
    "magic",
    "magic.mime",
    "maven/logging",
    "maven/m2.conf",
    "mime.types",
    "os-release",
    "perl",
    "pki/ca-trust/extracted",
    "pki/tls/certs",
    "protocols",
    "python*",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
];

/// Makes the mounts that do not depend on the project.
pub(super) fn tree(host: &Host) -> Vec<Mount> {
    let mut tree = vec![bind("/usr", "/usr", Access::ReadOnly, Owners::AsOutside)];
    tree.extend(ROOTS.iter().filter_map(|name| root(&Path::new("/").join(name))));
    tree.extend(etc(Path::new("/etc")));
    for (name, contents) in texts(host) {
        tree.push(Mount::Text { target: name.into(), contents: contents.into_bytes() });
    }
    tree
}

fn root(path: &Path) -> Option<Mount> {
    if let Ok(to) = fs::read_link(path) {
        return Some(Mount::Link { target: path.to_owned(), to });
    }
    let found = path.is_dir();
    found.then(|| bind(path, path, Access::ReadOnly, Owners::AsOutside))
}

fn etc(etc: &Path) -> Vec<Mount> {
    let mut names = Vec::new();
    for name in ETC {
        match name.strip_suffix('*') {
            Some(start) => names.extend(beginning(etc, start)),
            None => names.push(etc.join(name)),
        }
    }
    names.iter().filter_map(|path| entry(path)).collect()
}

fn beginning(directory: &Path, start: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let named =
        entries.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(start.as_bytes()));
    let mut paths: Vec<_> = named.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Shows one entry: a link into `/usr` as it is, anything else by its real file.
fn entry(path: &Path) -> Option<Mount> {
    let real = fs::canonicalize(path).ok()?;
    let target = path.to_owned();
    if let Ok(to) = fs::read_link(path)
        && real.starts_with("/usr")
    {
        return Some(Mount::Link { target, to });
    }
    let kind = fs::metadata(&real).ok()?;
    let plain = kind.is_file() || kind.is_dir();
    plain.then(|| bind(real, target, Access::ReadOnly, Owners::AsOutside))
}

/// Files of `/etc` that are Chock's own: the person's name and network are not in them.
fn texts(host: &Host) -> [(&'static str, String); 5] {
    let Host { uid, gid, .. } = host;
    let passwd = format!(
        "root:x:0:0:root:/root:/usr/sbin/nologin\n\
         {USER}:x:{uid}:{gid}:Chock:{HOME}:/bin/sh\n{}",
        unless(65534, *uid, "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"),
    );
    let group = format!(
        "root:x:0:\n{USER}:x:{gid}:\n{}{}",
        unless(5, *gid, "tty:x:5:\n"),
        unless(65534, *gid, "nogroup:x:65534:\n"),
    );
    [
        ("/etc/passwd", passwd),
        ("/etc/group", group),
        ("/etc/hosts", format!("127.0.0.1 localhost {USER}\n::1 localhost {USER}\n")),
        ("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n".into()),
        ("/etc/shells", "/bin/sh\n/bin/bash\n".into()),
    ]
}

fn unless(number: u32, taken: u32, line: &'static str) -> &'static str {
    if number == taken { "" } else { line }
}
