//! The order for a confined command: a fixed header and one bounded blob.

use std::ffi::{CStr, CString, OsStr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::io::Errno;

use super::plan::{sealed, unsealed};
use super::talk;
use super::wire::{Reader, Torn, Writer};
use crate::program::{ARGUMENT_BYTES_MAX, REQUEST_BYTES_MAX};
use crate::{Program, SandboxFault};

/// Orders up to this size travel in the message; the kernel's socket buffer takes 208 KiB.
const INLINE_MAX: usize = 32 * 1024;

/// The longest working directory, in bytes: the kernel's longest path.
const DIRECTORY_MAX: usize = 4096;

/// The longest name of a hand, in bytes.
const HAND_NAME_MAX: usize = 64;

/// What a command is to do, as it was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) directory: CString,
    pub(super) work: Work,
}

/// A program or a hand.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Work {
    Execute { argv: Vec<CString>, environment: Vec<CString> },
    Hand { name: String, request: Vec<u8> },
}

/// The three streams of an order: a missing input is empty.
#[derive(Debug)]
pub(super) struct Streams<T> {
    pub(super) input: Option<T>,
    pub(super) output: T,
    pub(super) errors: T,
}

/// An order ready to be sent.
#[derive(Debug)]
pub(super) struct Packed(Vec<u8>);

impl Packed {
    /// Checks and packs a program.
    pub(super) fn pack(program: &Program) -> Result<Self, SandboxFault> {
        let mut writer = Writer::default();
        match program {
            Program::Command { argv, environment, directory } => {
                pack_directory(&mut writer, directory.as_os_str())?;
                writer.number(1);
                pack_command(&mut writer, argv, environment)?;
            }
            Program::Hand { name, request, directory } => {
                pack_directory(&mut writer, directory.as_os_str())?;
                writer.number(2);
                bound("the hand's name", name.len(), HAND_NAME_MAX)?;
                bound("the request", request.len(), REQUEST_BYTES_MAX)?;
                writer.bytes(name.as_bytes());
                writer.bytes(request);
            }
        }
        Ok(Self(writer.finish()))
    }

    /// Sends the order with its streams straight to the waiting command.
    pub(super) fn send(
        &self,
        socket: BorrowedFd<'_>,
        streams: &Streams<BorrowedFd<'_>>,
    ) -> Result<(), Errno> {
        let mut message = Vec::with_capacity(8 + self.0.len().min(INLINE_MAX));
        let mut beside = vec![streams.output, streams.errors];
        beside.extend(streams.input);
        let memory;
        let has_input = u32::from(streams.input.is_some());
        if self.0.len() > INLINE_MAX {
            memory = sealed(c"chock-order", &self.0)?;
            beside.push(memory.as_fd());
            message.extend_from_slice(&[has_input.to_le_bytes(), 1u32.to_le_bytes()].concat());
        } else {
            message.extend_from_slice(&[has_input.to_le_bytes(), 0u32.to_le_bytes()].concat());
            message.extend_from_slice(&self.0);
        }
        talk::send(socket, &message, &beside)
    }
}

fn bound(what: &'static str, bytes: usize, max: usize) -> Result<(), SandboxFault> {
    if bytes > max {
        return Err(SandboxFault::TooLarge { what, bytes, max });
    }
    Ok(())
}

fn pack_directory(writer: &mut Writer, directory: &OsStr) -> Result<(), SandboxFault> {
    let what = "the working directory";
    bound(what, directory.len(), DIRECTORY_MAX)?;
    if directory.is_empty() || directory.as_bytes().contains(&0) {
        return Err(SandboxFault::Malformed { what });
    }
    writer.bytes(directory.as_bytes());
    Ok(())
}

fn pack_command(
    writer: &mut Writer,
    argv: &[std::ffi::OsString],
    environment: &[(std::ffi::OsString, std::ffi::OsString)],
) -> Result<(), SandboxFault> {
    let arguments: usize = argv.iter().map(|part| part.len() + 1).sum();
    let variables: usize =
        environment.iter().map(|(name, value)| name.len() + value.len() + 2).sum();
    bound("arguments and environment together", arguments + variables, ARGUMENT_BYTES_MAX)?;
    if argv.first().is_none_or(|program| program.is_empty())
        || argv.iter().any(|part| part.as_bytes().contains(&0))
    {
        return Err(SandboxFault::Malformed { what: "the program or an argument" });
    }
    writer.number(u32::try_from(argv.len()).expect("invariant: bounded by bytes"));
    for part in argv {
        writer.bytes(part.as_bytes());
    }
    writer.number(u32::try_from(environment.len()).expect("invariant: bounded by bytes"));
    for (name, value) in environment {
        let odd = |bytes: &[u8], more: u8| bytes.iter().any(|byte| *byte == 0 || *byte == more);
        if name.is_empty() || odd(name.as_bytes(), b'=') || odd(value.as_bytes(), 0) {
            return Err(SandboxFault::Malformed { what: "a variable of the environment" });
        }
        writer.bytes(&[name.as_bytes(), b"=", value.as_bytes()].concat());
    }
    Ok(())
}

impl Order {
    /// Waits for the order; `None` when Chock hung up instead.
    pub(super) fn receive(
        socket: BorrowedFd<'_>,
    ) -> Result<Option<(Self, Streams<OwnedFd>)>, Errno> {
        let mut buffer = vec![0; 8 + INLINE_MAX];
        let Some((length, beside)) = talk::receive(socket, &mut buffer)? else { return Ok(None) };
        let mut beside = beside.into_iter();
        let mut reader = Reader::new(&buffer[..length]);
        let header = reader.number().and_then(|input| Ok((input, reader.number()?)));
        let (has_input, in_memory) = header.map_err(|Torn| Errno::PROTO)?;
        let mut next = || beside.next().ok_or(Errno::PROTO);
        let (output, errors) = (next()?, next()?);
        let input = if has_input == 1 { Some(next()?) } else { None };
        let large;
        let blob = if in_memory == 1 {
            let max = REQUEST_BYTES_MAX + ARGUMENT_BYTES_MAX;
            large = unsealed(next()?, max as u64)?;
            &large[..]
        } else {
            &buffer[8..length]
        };
        let order = Self::unpack(blob).map_err(|Torn| Errno::PROTO)?;
        Ok(Some((order, Streams { input, output, errors })))
    }

    fn unpack(blob: &[u8]) -> Result<Self, Torn> {
        let mut reader = Reader::new(blob);
        let directory = read_string(&mut reader)?;
        let work = match reader.number()? {
            1 => Work::Execute {
                argv: read_strings(&mut reader)?,
                environment: read_strings(&mut reader)?,
            },
            2 => Work::Hand {
                name: reader.text(HAND_NAME_MAX)?,
                request: reader.bytes(REQUEST_BYTES_MAX)?.to_vec(),
            },
            _ => return Err(Torn),
        };
        reader.end()?;
        Ok(Self { directory, work })
    }
}

fn read_string(reader: &mut Reader<'_>) -> Result<CString, Torn> {
    CString::new(reader.bytes(ARGUMENT_BYTES_MAX)?).map_err(|_| Torn)
}

fn read_strings(reader: &mut Reader<'_>) -> Result<Vec<CString>, Torn> {
    let count = reader.number()? as usize;
    // Each has at least its length, so the message bounds the count.
    let mut strings = Vec::new();
    for _ in 0..count {
        strings.push(read_string(reader)?);
    }
    Ok(strings)
}

/// Returns the value of a variable in an order's environment.
pub(super) fn variable<'a>(environment: &'a [CString], name: &str) -> Option<&'a [u8]> {
    environment
        .iter()
        .map(CString::as_c_str)
        .map(CStr::to_bytes)
        .find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(argv: &[&str], environment: &[(&str, &str)]) -> Program {
        Program::Command {
            argv: argv.iter().map(Into::into).collect(),
            environment: environment.iter().map(|(n, v)| (n.into(), v.into())).collect(),
            directory: "/w".into(),
        }
    }

    #[test]
    fn orders_survive_their_packing() {
        let packed = Packed::pack(&command(&["a", ""], &[("PATH", "/b:/c")])).expect("an order");
        let order = Order::unpack(&packed.0).expect("an order");
        let Work::Execute { argv, environment } = &order.work else { panic!("{order:?}") };
        assert_eq!(argv, &[c"a".to_owned(), c"".to_owned()]);
        assert_eq!(variable(environment, "PATH"), Some(&b"/b:/c"[..]));
        assert_eq!(variable(environment, "PAT"), None);
        for cut in 0..packed.0.len() {
            assert_eq!(Order::unpack(&packed.0[..cut]), Err(Torn), "cut at {cut}");
        }
    }

    #[test]
    fn what_no_program_could_take_is_refused() {
        let long = "x".repeat(ARGUMENT_BYTES_MAX);
        for program in [
            command(&[], &[]),
            command(&[""], &[]),
            command(&["a\0b"], &[]),
            command(&["a"], &[("", "v")]),
            command(&["a"], &[("A=B", "v")]),
            command(&["a"], &[("A", "v\0")]),
            command(&["a", &long], &[]),
        ] {
            Packed::pack(&program).expect_err("a fault");
        }
    }
}
