//! A long talk with a host that takes little, and of which nothing is configured.

use super::*;

/// The number of turns: so many in `./check`, and all 300 in `./soak`.
fn turns() -> usize {
    std::env::var("SHIP_CASES").map_or(60, |cases| cases.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_takes_8000_tokens_refuses_once_and_its_cache_is_hit() {
    for format in FORMATS {
        talk_long(&Host::new(format, 8_000)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_names_no_number_refuses_once_and_its_cache_is_hit() {
    for format in FORMATS {
        talk_long(&Host::without_numbers(format, 8_000)).await;
    }
}

async fn talk_long(host: &Host) {
    let (mut agent, turns, format) = (host.agent(), turns(), host.format);
    let mut random = Random::new(7);
    for nth in 0..turns {
        let said = format!("{nth:03} {}", words(60 + random.below(61)));
        assert_eq!(host.say(&agent, &said).await, Some(Outcome::Done), "{format:?} {nth}");
        if nth == turns / 2 {
            assert_eq!(host.count_refusals(), 1, "{format:?}: the first was too long");
            agent = host.agent();
        }
    }
    assert_eq!(host.count_refusals(), 1, "{format:?}: nothing is refused after a restart");
    assert!(turns < 50 || !host.log.of("compacted").is_empty());
    let shared = shared_parts(&host.bodies());
    let average = shared.iter().sum::<f64>() / shared.len() as f64;
    assert!(average >= 0.95, "{format:?}: {average} of {} requests: {shared:?}", shared.len());
}

/// Returns, for each request for an answer, the part of the one before it that it begins with, in tokens.
fn shared_parts(bodies: &[String]) -> Vec<f64> {
    let answers = bodies.iter().filter(|body| !body.contains("You keep the memory"));
    let sequences: Vec<CachedSequence> = answers.map(|body| CachedSequence::of(body)).collect();
    let shared = |pair: &[CachedSequence]| {
        let whole = pair[0].stem();
        let common = pair[0].common_bytes(&pair[1]).min(whole.len());
        count(&whole[..whole.floor_char_boundary(common)]) as f64 / count(whole) as f64
    };
    sequences.windows(2).map(shared).collect()
}
