//! The npm packages themselves, beside ours, on the recorded cases and on random ones. Run only when
//! named, as by `./check`, which installs them.
//!
//! `SHIP_SEED` chooses the first case and `SHIP_CASES` how many; a failure names its seed.

#![expect(clippy::unwrap_used, reason = "an oracle that cannot be asked fails the test")]

#[path = "../examples/cases/wire.rs"]
mod wire;

use std::path::Path;
use std::process::Command;

use ship_message::json::Json;

/// Asks the npm packages what they send.
fn oracle(arguments: &[&str]) -> Vec<Json> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/npm");
    assert!(folder.join("node_modules/ai").is_dir(), "run `npm ci` in {}", folder.display());
    let output = Command::new("node")
        .current_dir(folder)
        .arg("oracle.mjs")
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = output.stdout.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| Json::parse_bytes(line).unwrap()).collect()
}

/// What of an error is compared. The words of one tell every field that is wrong, and are left out.
fn error(answer: Option<&Json>) -> Option<(String, String)> {
    let text = |key: &str| answer?.get(key)?.as_str().map(str::to_owned);
    let name = text("name")?;
    let words = if name == "AI_TypeValidationError" { None } else { text("message") };
    Some((name, words.unwrap_or_default()))
}

/// Compares every answer, and returns the shares of skipped cases and of bodies.
fn compare(theirs: &[Json]) -> (f64, f64) {
    let mut skipped = 0;
    for their in theirs {
        let our = wire::answer(&mut their.as_object().unwrap().clone());
        if our.has("skip") {
            skipped += 1;
            continue;
        }
        assert_eq!(our.get("body"), their.get("body"), "{their}");
        assert_eq!(error(our.get("error")), error(their.get("error")), "{their}");
    }
    let bodies = theirs.iter().filter(|case| case.get("body").is_some()).count();
    let share = |count: usize| count as f64 / theirs.len() as f64;
    (share(skipped), share(bodies))
}

#[test]
fn random_messages_are_sent_as_the_npm_packages_send_them() {
    let setting = |name: &str, default: &str| std::env::var(name).unwrap_or(default.to_owned());
    let theirs = oracle(&[&setting("SHIP_SEED", "1"), &setting("SHIP_CASES", "3000")]);
    let (skipped, bodies) = compare(&theirs);
    assert!(skipped < 0.05, "{skipped} of the cases are skipped");
    assert!((0.5..0.95).contains(&bodies), "{bodies} of the cases are sent");
}

#[test]
fn the_recorded_requests_are_still_what_the_npm_packages_send() {
    let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/samples/wire.jsonl");
    let theirs = oracle(&[samples]);
    let recorded =
        include_str!("samples/wire.jsonl").lines().map(|line| Json::parse(line).unwrap());
    for (their, recorded) in theirs.iter().zip(recorded) {
        assert_eq!(their.get("body"), recorded.get("body"), "{recorded}");
    }
    assert_eq!(compare(&theirs).0, 0.0, "no recorded case is skipped");
}
