//! Messages between kopt and its child processes: a mark, the number of parts, and each part with its length.

use std::io::{self, Read, Write};

/// Anything that is not a frame is skipped up to this mark, so that a stray line on the stream does no harm.
const MARK: &[u8; 8] = b"\0kopt-w1";
/// No part is larger; a length beyond it is a damaged stream.
const MAX_PART: u64 = 4 << 30;
/// No message has more parts.
const MAX_PARTS: u64 = 4096;

/// Writes one message of several parts.
///
/// # Errors
/// As the stream.
pub fn write(output: &mut impl Write, parts: &[&[u8]]) -> io::Result<()> {
    output.write_all(MARK)?;
    output.write_all(&(parts.len() as u64).to_le_bytes())?;
    for part in parts {
        output.write_all(&(part.len() as u64).to_le_bytes())?;
        output.write_all(part)?;
    }
    output.flush()
}

/// Reads one message, over whatever stands before it.
///
/// # Errors
/// Where the stream ends or a length cannot be.
pub fn read(input: &mut impl Read) -> io::Result<Vec<Vec<u8>>> {
    let mut window = [0u8; 8];
    input.read_exact(&mut window)?;
    while &window != MARK {
        window.rotate_left(1);
        input.read_exact(&mut window[7..])?;
    }
    let count = number(input, MAX_PARTS)?;
    (0..count)
        .map(|_| {
            let length = number(input, MAX_PART)?;
            let mut part = vec![];
            // `take` grows with what arrives: a lying length reserves nothing.
            if input.by_ref().take(length).read_to_end(&mut part)? as u64 != length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            Ok(part)
        })
        .collect()
}

fn number(input: &mut impl Read, limit: u64) -> io::Result<u64> {
    let mut bytes = [0u8; 8];
    input.read_exact(&mut bytes)?;
    let number = u64::from_le_bytes(bytes);
    if number > limit { Err(io::ErrorKind::InvalidData.into()) } else { Ok(number) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_survive_stray_text_and_refuse_lies() {
        let mut stream = b"running 1 test\n\0kop".to_vec();
        write(&mut stream, &[b"one", b"", b"three"]).unwrap();
        let parts = read(&mut stream.as_slice()).unwrap();
        assert_eq!(parts, [b"one".to_vec(), vec![], b"three".to_vec()]);
        for cut in 0..stream.len() {
            assert!(read(&mut &stream[..cut]).is_err(), "{cut}");
        }
        let lying = [MARK.as_slice(), &u64::MAX.to_le_bytes()].concat();
        assert!(read(&mut lying.as_slice()).is_err());
        let lying = [MARK.as_slice(), &1u64.to_le_bytes(), &(MAX_PART - 1).to_le_bytes(), b"x"].concat();
        assert!(read(&mut lying.as_slice()).is_err());
    }
}
