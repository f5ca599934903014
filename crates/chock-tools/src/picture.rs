//! Tells what a picture is from its bytes, never from its name.

/// The most pixels of a side. Source: Anthropic's limit, the lowest of the wires; a picture over
/// it has the whole request refused, and every later one with it.
const SIDE_MAX: u32 = 8000;

/// What a picture's bytes say it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub media_type: &'static str,
    /// The format's name.
    pub name: &'static str,
    /// Pixels from left to right.
    pub width: u32,
    /// Pixels from top to bottom.
    pub height: u32,
}

/// Looks at a whole picture: its kind, its size, and whether its end is there.
///
/// # Errors
///
/// Words: it is no picture that models take, or not a whole one.
pub fn look(bytes: &[u8]) -> Result<Seen, String> {
    let seen = if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        png(bytes)
    } else if bytes.starts_with(b"\xff\xd8\xff") {
        jpeg(bytes)
    } else if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
        gif(bytes)
    } else if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        webp(bytes)
    } else {
        return Err(format!("{}: PNG, JPEG, GIF and WebP are shown", other(bytes)));
    };
    let (media_type, name, sides) = seen;
    let Some((width, height)) = sides else {
        return Err(format!("it begins as {name} and is not a whole one"));
    };
    if width == 0 || height == 0 || width > SIDE_MAX || height > SIDE_MAX {
        return Err(format!(
            "it is {name} of {width} x {height} pixels: the limit is {SIDE_MAX} a side, so make a \
             smaller one first"
        ));
    }
    Ok(Seen { media_type, name, width, height })
}

type Found = (&'static str, &'static str, Option<(u32, u32)>);

fn png(bytes: &[u8]) -> Found {
    let header = bytes.get(12..16) == Some(b"IHDR");
    let ended = bytes.windows(4).rev().take(64).any(|word| word == b"IEND");
    let sides = number(bytes, 16, 4, false).zip(number(bytes, 20, 4, false));
    ("image/png", "PNG", sides.filter(|_| header && ended))
}

fn gif(bytes: &[u8]) -> Found {
    let sides = number(bytes, 6, 2, true).zip(number(bytes, 8, 2, true));
    let ended = bytes.iter().rev().take(64).any(|byte| *byte == b';');
    ("image/gif", "GIF", sides.filter(|_| ended))
}

fn webp(bytes: &[u8]) -> Found {
    let whole =
        number(bytes, 4, 4, true).is_some_and(|size| u64::from(size) + 8 <= bytes.len() as u64);
    let sides = match bytes.get(12..16) {
        Some(b"VP8 ") => {
            let side = |at| number(bytes, at, 2, true).map(|side| side & 0x3fff);
            side(26).zip(side(28))
        }
        Some(b"VP8L") => number(bytes, 21, 4, true)
            .map(|bits| ((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1)),
        Some(b"VP8X") => {
            let side = |at| number(bytes, at, 3, true).map(|side| side + 1);
            side(24).zip(side(27))
        }
        Some(_) | None => None,
    };
    ("image/webp", "WebP", sides.filter(|_| whole))
}

/// Walks from segment to segment up to the one that has the size.
fn jpeg(bytes: &[u8]) -> Found {
    let ended = bytes.windows(2).rev().take(4096).any(|word| word == [0xff, 0xd9]);
    ("image/jpeg", "JPEG", frame(bytes).filter(|_| ended))
}

fn frame(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        if *bytes.get(at)? != 0xff {
            return None;
        }
        match *bytes.get(at + 1)? {
            0xff => at += 1,
            0x01 | 0xd0..=0xd8 => at += 2,
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                let height = number(bytes, at + 5, 2, false)?;
                return Some((number(bytes, at + 7, 2, false)?, height));
            }
            _ => at += 2 + usize::try_from(number(bytes, at + 2, 2, false)?.max(2)).ok()?,
        }
    }
}

/// Reads a number of so many bytes.
fn number(bytes: &[u8], at: usize, count: usize, is_little: bool) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(count)?)?;
    let add = |sum: u32, byte: &u8| (sum << 8) | u32::from(*byte);
    Some(if is_little { bytes.iter().rev().fold(0, add) } else { bytes.iter().fold(0, add) })
}

/// Names what is no picture that is shown.
fn other(bytes: &[u8]) -> &'static str {
    let starts = |magic: &[u8]| bytes.starts_with(magic);
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(1024)]).to_lowercase();
    match () {
        () if bytes.is_empty() => "it is empty",
        () if starts(b"BM") => "it is a bitmap (BMP)",
        () if starts(b"II*\0") || starts(b"MM\0*") => "it is a TIFF",
        () if starts(b"\0\0\x01\0") => "it is an icon (ICO)",
        () if bytes.get(4..8) == Some(b"ftyp") => "it is an AVIF, HEIC or video file",
        () if start.contains("<svg") => "it is an SVG, which is text: read_file shows it",
        () if starts(b"%PDF-") => "it is a PDF document",
        () => "it is no picture",
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Makes a picture that is whole as far as [`look`] sees: of one pixel each way.
    pub(crate) fn png() -> Vec<u8> {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        bytes.extend([0, 0, 0, 1, 0, 0, 0, 2, 8, 2, 0, 0, 0, 1, 2, 3, 4]);
        bytes.extend(b"\0\0\0\0IEND\xaeB`\x82");
        bytes
    }

    fn all() -> Vec<(Vec<u8>, Seen)> {
        let seen = |media_type, name, width, height| Seen { media_type, name, width, height };
        let mut jpeg =
            b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc0\0\x0b\x08\0\x03\0\x04\x01\0\0\0".to_vec();
        jpeg.extend(b"\xff\xd9");
        let lossy = b"RIFF\x16\0\0\0WEBPVP8 \x0a\0\0\0\0\0\0\x9d\x01\x2a\x05\x40\x06\0";
        let lossless = b"RIFF\x11\0\0\0WEBPVP8L\x05\0\0\0\x2f\x04\x40\x01\0";
        let extended = b"RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x07\0\0\x08\0\0";
        vec![
            (png(), seen("image/png", "PNG", 1, 2)),
            (jpeg, seen("image/jpeg", "JPEG", 4, 3)),
            (b"GIF89a\x07\0\x08\0\0\0\0;".to_vec(), seen("image/gif", "GIF", 7, 8)),
            (lossy.to_vec(), seen("image/webp", "WebP", 5, 6)),
            (lossless.to_vec(), seen("image/webp", "WebP", 5, 6)),
            (extended.to_vec(), seen("image/webp", "WebP", 8, 9)),
        ]
    }

    #[test]
    fn each_kind_is_told_by_its_bytes_with_its_size() {
        for (bytes, seen) in all() {
            assert_eq!(look(&bytes), Ok(seen));
        }
    }

    #[test]
    fn a_picture_that_was_cut_is_none_and_nothing_panics() {
        for (bytes, seen) in all() {
            let cuts =
                (0..bytes.len().saturating_sub(8)).filter(|end| look(&bytes[..*end]).is_ok());
            assert_eq!(cuts.count(), 0, "{seen:?}");
        }
        for at in 0..png().len() {
            let mut bytes = png();
            bytes[at] ^= 0xff;
            let _ = look(&bytes);
        }
    }

    #[test]
    fn what_is_no_picture_is_named_and_a_large_one_refused() {
        let cases: [(&[u8], &str); 7] = [
            (b"", "empty"),
            (b"BM123", "bitmap"),
            (b"<?xml version='1.0'?>\n<SVG xmlns=''/>", "SVG"),
            (b"\0\0\0\x20ftypavif", "AVIF"),
            (b"RIFF\0\0\0\0WAVE", "no picture"),
            (b"hello", "no picture: PNG, JPEG, GIF and WebP are shown"),
            (b"\x89PNG\r\n\x1a\n", "not a whole one"),
        ];
        for (bytes, words) in cases {
            let fault = look(bytes).expect_err(words);
            assert!(fault.contains(words), "{fault}");
        }
        let mut large = png();
        large[18] = 0x1f;
        large[19] = 0x41;
        assert!(look(&large).expect_err("too wide").contains("8001 x 2"));
        large[19] = 0x40;
        assert!(look(&large).is_ok());
    }
}
