//! A commit as git writes it down.

/// What a commit of Chock's is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommitText {
    /// The tree's id.
    pub(crate) tree: String,
    /// The parents' ids.
    pub(crate) parents: Vec<String>,
    /// `name <address> seconds zone`.
    pub(crate) author: Vec<u8>,
    /// The same of whoever puts it there.
    pub(crate) committer: Vec<u8>,
    /// In which encoding the message is, when it is not UTF-8.
    pub(crate) encoding: Option<Vec<u8>>,
    pub(crate) message: Vec<u8>,
}

impl CommitText {
    /// Reads a commit. Signatures and what else its header has are left out: they are of the old one.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        let end = text.windows(2).position(|pair| pair == b"\n\n")?;
        let (header, message) = (&text[..end], &text[end + 2..]);
        let value = |name: &[u8]| {
            let mut lines = header.split(|byte| *byte == b'\n');
            lines.find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(b" ")?.to_vec()))
        };
        let text = |value: Vec<u8>| String::from_utf8(value).ok();
        let parents = header.split(|byte| *byte == b'\n');
        let parents = parents.filter_map(|line| line.strip_prefix(b"parent "));
        Some(Self {
            tree: text(value(b"tree")?)?,
            parents: parents.map(|id| text(id.to_vec())).collect::<Option<_>>()?,
            author: value(b"author")?,
            committer: value(b"committer")?,
            encoding: value(b"encoding"),
            message: message.to_vec(),
        })
    }

    /// Writes it as git does.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = format!("tree {}\n", self.tree).into_bytes();
        for parent in &self.parents {
            out.extend_from_slice(format!("parent {parent}\n").as_bytes());
        }
        let encoding = self.encoding.as_deref();
        let rows = [("author", Some(self.author.as_slice())), ("committer", Some(&self.committer))];
        for (name, value) in rows.into_iter().chain([("encoding", encoding)]) {
            let Some(value) = value else { continue };
            out.extend_from_slice(&[name.as_bytes(), b" ", value, b"\n"].concat());
        }
        out.push(b'\n');
        out.extend_from_slice(&self.message);
        out
    }

    /// The first line of the message.
    pub(crate) fn subject(&self) -> String {
        let line = self.message.split(|byte| *byte == b'\n').next().unwrap_or_default();
        String::from_utf8_lossy(line).into_owned()
    }

    /// Takes `name <address> seconds zone` apart.
    pub(crate) fn person(line: &[u8]) -> Option<(Vec<u8>, Vec<u8>, Vec<u8>)> {
        let open = line.iter().position(|byte| *byte == b'<')?;
        let close = line.iter().rposition(|byte| *byte == b'>')?;
        let name = line.get(..open)?.trim_ascii().to_vec();
        let date = line.get(close + 1..)?.trim_ascii().to_vec();
        Some((name, line.get(open + 1..close)?.to_vec(), date))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_read_and_written_byte_for_byte_without_its_signature() {
        let header = "tree 1\nparent 2\nparent 3\nauthor A B <a@b> 5 +0100\n";
        let rest = "committer C <> 6 +0000\nencoding ISO-8859-1\n";
        let message: &[u8] = b"one\n\ntwo \xe4\nparent 9\n";
        let signed = [
            header.as_bytes(),
            b"committer C <> 6 +0000\ngpgsig -----BEGIN\n tree x\n -----END\nencoding ISO-8859-1\n\n",
            message,
        ];
        let commit = CommitText::read(&signed.concat()).expect("a commit");
        assert_eq!(commit.bytes(), [header.as_bytes(), rest.as_bytes(), b"\n", message].concat());
        assert_eq!(commit.parents, ["2", "3"]);
        assert_eq!(commit.subject(), "one");
        let person = CommitText::person(&commit.author).expect("a person");
        assert_eq!(person, (b"A B".to_vec(), b"a@b".to_vec(), b"5 +0100".to_vec()));
        assert_eq!(CommitText::read(b"tree 1\nauthor"), None);
    }
}
