//! Makes digests of texts and bodies, as records and blobs name them.

use sha2::{Digest, Sha256};

/// Returns the SHA-256 of bytes in hex.
pub(crate) fn digest(bytes: &[u8]) -> String {
    in_hex(&Sha256::digest(bytes))
}

/// Returns the digest of each beginning of the same bytes, which are read once. Each end lies within the bytes.
pub(crate) fn digests_of_beginnings(bytes: &[u8], ends: &[usize]) -> Vec<String> {
    let mut in_order: Vec<usize> = (0..ends.len()).collect();
    in_order.sort_by_key(|&at| ends[at]);
    let (mut digests, mut read, mut hasher) = (vec![String::new(); ends.len()], 0, Sha256::new());
    for at in in_order {
        hasher.update(&bytes[read..ends[at]]);
        read = ends[at];
        digests[at] = in_hex(&hasher.clone().finalize());
    }
    digests
}

fn in_hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_have_the_digests_that_they_have_alone() {
        let bytes = b"what a long beginning has in common";
        let ends = [20, 0, bytes.len(), 6];
        let alone: Vec<String> = ends.iter().map(|&end| digest(&bytes[..end])).collect();
        assert_eq!(digests_of_beginnings(bytes, &ends), alone);
        assert!(alone[1].starts_with("e3b0c44298fc1c14"), "{}", alone[1]);
    }
}
