//! Whole numbers in few bytes: seven bits in each, the lowest first.

use super::postings::DamagedPostings;

/// The bytes of the largest number.
const BYTES_MAX: u32 = 10;

/// Writes a number.
pub(super) fn write_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Reads a number, and moves behind it.
pub(super) fn read_number(bytes: &mut &[u8]) -> Result<u64, DamagedPostings> {
    let mut number = 0u64;
    for nth in 0..BYTES_MAX {
        let (byte, rest) = bytes.split_first().ok_or(DamagedPostings)?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        if (bits << (7 * nth)) >> (7 * nth) != bits {
            return Err(DamagedPostings);
        }
        number |= bits << (7 * nth);
        if byte & 0x80 == 0 {
            // A last byte of zero says nothing: the same number has a shorter form.
            return if *byte == 0 && nth > 0 { Err(DamagedPostings) } else { Ok(number) };
        }
    }
    Err(DamagedPostings)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_number_reads_back_and_leaves_what_follows(number in any::<u64>(), shift in 0u32..64) {
            let number = number >> shift;
            let mut bytes = Vec::new();
            write_number(&mut bytes, number);
            bytes.push(7);
            let mut rest = bytes.as_slice();
            prop_assert_eq!(read_number(&mut rest), Ok(number));
            prop_assert_eq!(rest, &[7]);
        }
    }
}
