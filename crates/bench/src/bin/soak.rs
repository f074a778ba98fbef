//! `./soak [SECONDS] [SEED]`: kills, power cuts, races and large property runs.

fn main() {}
