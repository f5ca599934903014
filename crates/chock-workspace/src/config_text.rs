//! Writes git's configuration format, and cuts user information out of URLs.

/// A configuration file in the making.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    text: Vec<u8>,
}

impl Writer {
    /// Starts a section, with a subsection when it has a name.
    pub(crate) fn section(&mut self, section: &str, name: Option<&[u8]>) {
        self.text.push(b'[');
        self.text.extend_from_slice(section.as_bytes());
        if let Some(name) = name {
            self.text.extend_from_slice(b" \"");
            for byte in name {
                if matches!(byte, b'"' | b'\\') {
                    self.text.push(b'\\');
                }
                self.text.push(*byte);
            }
            self.text.push(b'"');
        }
        self.text.extend_from_slice(b"]\n");
    }

    /// Writes one value of the section, quoted.
    pub(crate) fn value(&mut self, key: &str, value: &[u8]) {
        self.text.push(b'\t');
        self.text.extend_from_slice(key.as_bytes());
        self.text.extend_from_slice(b" = \"");
        for byte in value {
            match byte {
                b'"' | b'\\' => self.text.extend_from_slice(&[b'\\', *byte]),
                b'\n' => self.text.extend_from_slice(b"\\n"),
                b'\t' => self.text.extend_from_slice(b"\\t"),
                0 => {}
                other => self.text.push(*other),
            }
        }
        self.text.extend_from_slice(b"\"\n");
    }

    /// The whole text.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.text
    }
}

/// Cuts `user:password@` out of `scheme://user:password@host/path`.
pub(crate) fn without_user(url: &[u8]) -> Vec<u8> {
    let Some(colon) = url.windows(3).position(|window| window == b"://") else {
        return url.to_vec();
    };
    let (scheme, rest) = url.split_at(colon + 3);
    let host_end = rest.iter().position(|byte| matches!(byte, b'/' | b'?' | b'#'));
    let (authority, path) = rest.split_at(host_end.unwrap_or(rest.len()));
    let host = authority.rsplit(|byte| *byte == b'@').next().unwrap_or(authority);
    [scheme, host, path].concat()
}

#[cfg(test)]
mod tests {
    use super::without_user;

    #[test]
    fn urls_lose_what_is_secret() {
        let cases = [
            ("https://ann:pw@host/a", "https://host/a"),
            ("https://token@host", "https://host"),
            ("https://a:p@x@host/q@r", "https://host/q@r"),
            ("ssh://git:pw@host:22/a", "ssh://host:22/a"),
            ("git@host:a/b.git", "git@host:a/b.git"),
            ("/plain/path@x", "/plain/path@x"),
            ("https://host/a@b", "https://host/a@b"),
        ];
        for (url, expected) in cases {
            assert_eq!(without_user(url.as_bytes()), expected.as_bytes(), "{url}");
        }
    }
}
