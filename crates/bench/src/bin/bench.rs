//! `./bench`: every time and size that we promise, as ratios within one run.

fn main() {}
