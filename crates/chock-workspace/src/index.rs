//! Sets the times in an index file of git's, without reading any content.

/// The index is not one that our own git directory could have.
#[derive(Debug, thiserror::Error)]
#[error("the index of the base is not in version 2 of the format")]
pub(crate) struct IndexFault;

const HEADER: usize = 12;
const TIMES: usize = 16;
const FLAGS: usize = 60;
const NAME: usize = 62;
const NAME_MASK: usize = 0xfff;

/// Gives every entry of `index` the modification time `seconds`.
///
/// The checksum at the end no longer fits: git has to write the file again.
pub(crate) fn set_times(index: &mut [u8], seconds: u32) -> Result<(), IndexFault> {
    let version = index.get(..8).ok_or(IndexFault)?;
    if version != b"DIRC\0\0\0\x02" {
        return Err(IndexFault);
    }
    let count = index.get(8..HEADER).ok_or(IndexFault)?;
    let count = u32::from_be_bytes(count.try_into().map_err(|_| IndexFault)?);
    let mut at = HEADER;
    for _ in 0..count {
        let entry = index.get_mut(at..).ok_or(IndexFault)?;
        let times = entry.get_mut(8..TIMES).ok_or(IndexFault)?;
        times[..4].copy_from_slice(&seconds.to_be_bytes());
        times[4..].fill(0);
        at += entry_length(entry).ok_or(IndexFault)?;
    }
    Ok(())
}

/// Entries are padded with one to eight zeros to a multiple of eight.
fn entry_length(entry: &[u8]) -> Option<usize> {
    let flags = entry.get(FLAGS..NAME)?;
    let length = usize::from(u16::from_be_bytes([flags[0], flags[1]])) & NAME_MASK;
    let length = if length < NAME_MASK {
        length
    } else {
        entry.get(NAME..)?.iter().position(|byte| *byte == 0)?
    };
    Some((NAME + length + 8) & !7)
}

#[cfg(test)]
mod tests {
    use super::set_times;

    #[test]
    fn what_is_no_index_is_refused() {
        for wrong in [&b""[..], b"DIRC\0\0\0\x03\0\0\0\0", b"DIRC\0\0\0\x02\0\0\0\x01abc"] {
            assert!(set_times(&mut wrong.to_vec(), 1).is_err(), "{wrong:?}");
        }
    }
}
