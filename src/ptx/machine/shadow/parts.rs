//! Tags of the bytes of one word of global memory, in one tag and one byte as long as they are alike.
//!
//! A form of 0 says that the tag is that of all four bytes. Else bits 0-3 say which bytes have it, and bits 4-6 whether
//! the thread of byte 1, 2, 3 is one more than that of the byte before: elements of one or two bytes, or three, taken by
//! threads side by side.

use super::THREAD;

const BYTES: u8 = 15;

/// The tags of the four bytes; 0 where there is none.
pub(super) fn expand(tag: u32, form: u8) -> [u32; 4] {
    if form == 0 {
        return [tag; 4];
    }
    let mut tags = [0; 4];
    let mut thread = tag & THREAD;
    for (byte, to) in tags.iter_mut().enumerate() {
        if byte > 0 {
            thread += u32::from(form >> (3 + byte) & 1);
        }
        if form >> byte & 1 != 0 {
            *to = tag & !THREAD | thread & THREAD;
        }
    }
    tags
}

/// The short form of four tags, if they have one.
pub(super) fn compress(tags: [u32; 4]) -> Option<(u32, u8)> {
    if tags[1] == tags[0] && tags[2] == tags[0] && tags[3] == tags[0] {
        return Some((tags[0], 0));
    }
    let (mut form, mut first, mut last) = (0u8, None, (0, 0));
    for (byte, tag) in tags.iter().enumerate().filter(|(_, tag)| **tag != 0) {
        match first {
            None => first = Some(*tag),
            Some(first) => {
                let step = (tag & THREAD).checked_sub(last.1)?;
                if (tag ^ first) & !THREAD != 0 || step as usize > byte - last.0 {
                    return None;
                }
                // The steps come right behind the byte before.
                for n in 0..step as usize {
                    form |= 1 << (4 + last.0 + n);
                }
            }
        }
        last = (byte, tag & THREAD);
        form |= 1 << byte;
    }
    (form & BYTES != 0).then_some((first?, form))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_forms_say_what_the_tags_said() {
        let tag = |thread: u32| 5 << super::super::SHIFT | thread;
        let short = [
            [tag(3), tag(4), tag(5), tag(6)],
            [tag(3), tag(3), tag(4), tag(4)],
            [tag(0), tag(0), tag(0), tag(1)],
            [0, 0, tag(7), tag(8)],
            [0, tag(1), 0, tag(2)],
            [tag(9), 0, 0, tag(12)],
            [tag(9), 0, 0, 0],
            [tag(1023); 4],
            [0; 4],
        ];
        for tags in short {
            let (tag, form) = compress(tags).unwrap_or_else(|| panic!("{tags:?}"));
            assert_eq!(expand(tag, form), tags);
        }
        let long = [[tag(4), tag(3), 0, 0], [tag(1), tag(3), 0, 0], [tag(1), 6 << super::super::SHIFT | 1, 0, 0]];
        for tags in long {
            assert_eq!(compress(tags), None, "{tags:?}");
        }
    }
}
