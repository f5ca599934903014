//! Messages between Chock, its keeper and a cell, with descriptors beside them.

use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::io::{Errno, IoSlice, IoSliceMut};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use super::fail::Fail;
use super::wire::{Reader, Torn, Writer};
use crate::{Applied, Layer, StartStep};

/// The most bytes of a report: 23 layers with their proofs, or two texts of a failure.
pub(super) const REPORT_MAX: usize = 8 * 1024;

/// The most descriptors beside a message: three streams and a large order.
const DESCRIPTORS_MAX: usize = 4;

/// What the keeper's side says to Chock.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Report {
    /// These layers hold; from the keeper it means ready, from a command confined.
    Layers(Vec<Applied>),
    /// A step failed, and so nothing runs.
    Failed(Fail),
    /// The program could not be started in the confined cell.
    NotStarted(StartStep, Errno),
    /// Everything in the cell is dead; the status is the command's, as `wait` gives it.
    Ended(i32),
    /// The descriptor beside it is Chock's end of a cell's socket.
    Cell,
}

impl Report {
    fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        match self {
            Self::Layers(layers) => {
                writer.number(1);
                writer.number(u32::try_from(layers.len()).expect("invariant: few layers"));
                for applied in layers {
                    writer.number(applied.layer as u32);
                    writer.bytes(applied.proof.as_bytes());
                }
            }
            Self::Failed(fail) => {
                writer.number(2);
                fail.write(&mut writer);
            }
            Self::NotStarted(step, errno) => {
                writer.number(3);
                writer.number(match step {
                    StartStep::Directory => 1,
                    StartStep::Execute => 2,
                    StartStep::Hand => 3,
                });
                writer.number(errno.raw_os_error().unsigned_abs());
            }
            Self::Ended(status) => {
                writer.number(4);
                writer.number(status.cast_unsigned());
            }
            Self::Cell => writer.number(5),
        }
        writer.finish()
    }

    fn decode(message: &[u8]) -> Result<Self, Torn> {
        let mut reader = Reader::new(message);
        let report = match reader.number()? {
            1 => Self::Layers(read_layers(&mut reader)?),
            2 => Self::Failed(Fail::read(&mut reader)?),
            3 => {
                let step = match reader.number()? {
                    1 => StartStep::Directory,
                    2 => StartStep::Execute,
                    3 => StartStep::Hand,
                    _ => return Err(Torn),
                };
                let errno = i32::try_from(reader.number()?).map_err(|_| Torn)?;
                Self::NotStarted(step, Errno::from_raw_os_error(errno))
            }
            4 => Self::Ended(reader.number()?.cast_signed()),
            5 => Self::Cell,
            _ => return Err(Torn),
        };
        reader.end()?;
        Ok(report)
    }

    /// Sends the report, with a descriptor for [`Report::Cell`].
    pub(super) fn send(
        &self,
        socket: BorrowedFd<'_>,
        beside: &[BorrowedFd<'_>],
    ) -> Result<(), Errno> {
        send(socket, &self.encode(), beside)
    }

    /// Waits for a report; `None` when the other side is gone. A torn report counts as gone.
    pub(super) fn receive(socket: BorrowedFd<'_>) -> Result<Option<(Self, Vec<OwnedFd>)>, Errno> {
        let mut buffer = [0; REPORT_MAX];
        let Some((length, descriptors)) = receive(socket, &mut buffer)? else { return Ok(None) };
        Ok(Self::decode(&buffer[..length]).ok().map(|report| (report, descriptors)))
    }
}

fn read_layers(reader: &mut Reader<'_>) -> Result<Vec<Applied>, Torn> {
    let count = reader.number()? as usize;
    if count > Layer::ALL.len() {
        return Err(Torn);
    }
    let mut layers = Vec::with_capacity(count);
    for _ in 0..count {
        let number = u8::try_from(reader.number()?).map_err(|_| Torn)?;
        let layer = Layer::from_number(number).ok_or(Torn)?;
        layers.push(Applied { layer, proof: reader.text(REPORT_MAX)? });
    }
    Ok(layers)
}

/// Sends one message; a closed socket is `EPIPE` and no signal.
pub(super) fn send(
    socket: BorrowedFd<'_>,
    message: &[u8],
    beside: &[BorrowedFd<'_>],
) -> Result<(), Errno> {
    assert!(beside.len() <= DESCRIPTORS_MAX, "invariant: few descriptors beside a message");
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !beside.is_empty() {
        let pushed = ancillary.push(SendAncillaryMessage::ScmRights(beside));
        assert!(pushed, "invariant: the space is for four descriptors");
    }
    let parts = [IoSlice::new(message)];
    let flags = SendFlags::NOSIGNAL;
    rustix::io::retry_on_intr(|| sendmsg(socket, &parts, &mut ancillary, flags)).map(drop)
}

/// Waits for one message; `None` when the other side is gone. All descriptors close on exec.
pub(super) fn receive(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
) -> Result<Option<(usize, Vec<OwnedFd>)>, Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC;
    let mut receive = || {
        rustix::io::retry_on_intr(|| {
            recvmsg(socket, &mut [IoSliceMut::new(buffer)], &mut ancillary, flags)
        })
    };
    // The other side is gone and left something unread. The kernel says so once, and before it
    // hands over what the other side said last.
    let message = match receive() {
        Err(Errno::CONNRESET) => receive(),
        other => other,
    };
    let message = match message {
        Ok(message) => message,
        Err(Errno::CONNRESET) => return Ok(None),
        Err(errno) => return Err(errno),
    };
    let mut descriptors = Vec::new();
    for part in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = part {
            descriptors.extend(received);
        }
    }
    if message.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC) {
        return Err(Errno::MSGSIZE);
    }
    if message.bytes == 0 {
        return Ok(None);
    }
    Ok(Some((message.bytes, descriptors)))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    use super::super::fail::What;
    use super::*;

    #[test]
    fn the_last_words_of_one_that_left_something_unread_are_heard() {
        let kind = SocketType::SEQPACKET;
        let pair = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None);
        let (ours, theirs) = pair.expect("a pair");
        send(ours.as_fd(), b"an order", &[]).expect("sent");
        Report::Ended(9).send(theirs.as_fd(), &[]).expect("sent");
        drop(theirs);
        let heard = Report::receive(ours.as_fd()).expect("no error").expect("a report").0;
        assert_eq!(heard, Report::Ended(9));
        assert!(Report::receive(ours.as_fd()).expect("no error").is_none());
    }

    #[test]
    fn reports_survive_their_encoding() {
        let fail = |what| Fail { what, step: "open".into(), errno: Errno::PERM };
        let applied = Applied { layer: Layer::Landlock, proof: "ABI 7".into() };
        let reports = [
            Report::Layers(vec![applied]),
            Report::Failed(fail(What::Layer(Layer::Proc))),
            Report::Failed(fail(What::Path("/a b".into()))),
            Report::NotStarted(StartStep::Execute, Errno::NOENT),
            Report::Ended(9),
            Report::Cell,
        ];
        for report in reports {
            let message = report.encode();
            assert_eq!(Report::decode(&message).as_ref(), Ok(&report));
            for cut in 0..message.len() {
                assert_eq!(Report::decode(&message[..cut]), Err(Torn), "{report:?} cut at {cut}");
            }
        }
    }
}
