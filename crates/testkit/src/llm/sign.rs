//! Signatures of thinking, which a client must send back as they came.
//!
//! A signature holds a digest of the thinking and a seal over that digest. So the judge can tell, without
//! remembering anything, three cases apart: untouched, one of ours on other words, and none of ours.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

const SECRET: &[u8] = b"the testkit's key for thinking";
const DIGEST: usize = 32;

/// What a signature says about the words that it stands beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seal {
    /// They are as they were sent.
    Whole,
    /// The signature is ours, the words are not those that it was made for.
    Changed,
    /// Nobody here made this signature.
    Foreign,
}

/// Signs thinking as the server does when it sends it.
pub fn signature(thinking: &str) -> String {
    let digest = Sha256::digest(thinking.as_bytes());
    let mut signed = digest.to_vec();
    signed.extend(seal(&digest));
    STANDARD.encode(signed)
}

/// Returns the `data` of a redacted thinking block.
pub fn redacted(thinking: &str) -> String {
    signature(thinking)
}

/// Compares thinking with its signature.
pub(super) fn verify(thinking: &str, signature: &str) -> Seal {
    match digest_of(signature) {
        None => Seal::Foreign,
        Some(digest) if digest == Sha256::digest(thinking.as_bytes()).as_slice() => Seal::Whole,
        Some(_) => Seal::Changed,
    }
}

/// Whether redacted thinking is some that was made here.
pub(super) fn is_ours(data: &str) -> bool {
    digest_of(data).is_some()
}

/// Returns the digest in a signature whose seal is right.
fn digest_of(signature: &str) -> Option<Vec<u8>> {
    let mut signed = STANDARD.decode(signature).ok()?;
    if signed.len() != 2 * DIGEST {
        return None;
    }
    let sealed = signed.split_off(DIGEST);
    (seal(&signed) == sealed).then_some(signed)
}

fn seal(digest: &[u8]) -> Vec<u8> {
    Sha256::new().chain_update(SECRET).chain_update(digest).finalize().to_vec()
}
