//! A sample of the cases of a sweep.

/// Keeps one case in `one_in`. `SHIP_SEED` decides where the sample begins, so that as many seeds, one after the other,
/// are all the cases: `./check` takes the first sample, and `./soak` goes on with others.
///
/// # Panics
/// When `SHIP_SEED` is no number.
pub fn sample<T>(cases: impl IntoIterator<Item = T>, one_in: usize) -> impl Iterator<Item = T> {
    let seed = std::env::var("SHIP_SEED").ok();
    let seed = seed.map_or(0, |seed| seed.parse::<u64>().expect("SHIP_SEED is a number"));
    let first = (seed % one_in as u64) as usize;
    cases.into_iter().skip(first).step_by(one_in)
}
