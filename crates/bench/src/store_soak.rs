//! The long sweeps of the store: random scripts of writes, something going wrong at every call, and the
//! power cut after every change, for as long as there is time.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use ship_testkit::sweep::{
    Script, Step, Tally, all_faults, block_on, faults, power_cuts, second_lives,
};

/// Sweeps until `time` is over, beginning with `seed`, and prints what it did.
///
/// Returns whether every promise was kept; a broken one is printed with the seed that shows it.
///
/// # Errors
/// When `out` fails.
pub fn soak(time: Duration, seed: u64, out: &mut dyn Write) -> io::Result<bool> {
    let deadline = Instant::now() + time;
    let (mut scripts, mut total) = (0, Tally::default());
    loop {
        let seed = seed.wrapping_add(scripts);
        match block_on(sweep(&script(seed))) {
            Ok(tally) => {
                total.faults += tally.faults;
                total.disks += tally.disks;
            }
            Err(wrong) => {
                writeln!(out, "store: seed {seed}: {wrong}")?;
                return Ok(false);
            }
        }
        scripts += 1;
        if Instant::now() >= deadline {
            let Tally { faults, disks } = total;
            writeln!(
                out,
                "store: {scripts} scripts, {faults} faults, {disks} disks judged, none lost"
            )?;
            return Ok(true);
        }
    }
}

async fn sweep(script: &Script) -> Result<Tally, String> {
    let mut total = Tally::default();
    let tallies = [
        power_cuts(script).await?,
        faults(script, &all_faults(), |_| true).await?,
        second_lives(script, |_| true).await?,
    ];
    for tally in tallies {
        total.faults += tally.faults;
        total.disks += tally.disks;
    }
    Ok(total)
}

/// A script of a dozen writes; the same seed gives the same.
fn script(seed: u64) -> Script {
    let mut random = seed;
    let mut roll = |sides: u64| {
        // Splitmix: good enough to vary scripts, and the same everywhere.
        random = random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % sides
    };
    let mut said = 0;
    let mut say = |count: u64| -> Vec<String> {
        let first = said;
        said += count;
        (first..said).map(|number| format!("m{number}")).collect()
    };
    let steps = (0..12).map(|number| match roll(8) {
        0..3 => Step::Say(say(1)),
        3 => Step::Say(say(3)),
        4 => Step::SayLong(say(1).remove(0)),
        5 => Step::Accept(format!("k{}", roll(4))),
        6 => Step::Journal(format!("p{number}")),
        _ => Step::Compact(format!("s{number}"), roll(4) as usize),
    });
    Script(steps.collect())
}
