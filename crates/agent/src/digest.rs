//! Makes digests of texts and bodies, as records and blobs name them.

/// Returns the SHA-256 of bytes in hex.
pub(crate) fn digest(bytes: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
