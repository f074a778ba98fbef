//! What the model is told before anything was said. The tests of the agent have the texts of each case.

use crate::harness::{TestShip, array, text};

const KNOTS: &str = "---\nname: knots\ndescription: Ropes: all of them\n---\nOver, under.\n";

fn blocks(ship: &TestShip) -> Vec<(String, String)> {
    let json = ship.run(&["inspect", "--json"]).json();
    array(&json, "system").iter().map(|block| (text(block, "name"), text(block, "text"))).collect()
}

#[test]
fn the_blocks_stand_in_their_order() {
    let ship = TestShip::new()
        .file("Agent.md", "I am the pilot.")
        .file(".ship/profile/Primary.md", "Ana sails.")
        .file(".ship/profile/other.md", "Ben rows.")
        .file(".ship/skills/knots/SKILL.md", KNOTS)
        .file(".ship/chat/terminal%3Amain/memory/Primary.md", "The harbour is north.");
    let _ = ship.run(&["send", "/tool skills_load {\"name\":\"knots\"}"]).text();
    let expected = [
        "runtime",
        "profile/Primary.md",
        "profile/other.md",
        "memory/Primary.md",
        "Agent.md",
        "built-in",
        "skills",
        "skill:knots",
    ];
    let (names, texts): (Vec<String>, Vec<String>) = blocks(&ship).into_iter().unzip();
    assert_eq!(names, expected);
    assert!(texts[0].contains("ChatKey: terminal:main\nChannel: terminal\n"), "{}", texts[0]);
    let files = [
        "# Profile\n\nAna sails.",
        "# Profile: other\n\nBen rows.",
        "# Memory of this chat\n\nThe harbour is north.",
        "I am the pilot.",
    ];
    assert_eq!(texts[1..5], files);
    assert!(texts[6].contains("- `knots`: Ropes: all of them"), "{}", texts[6]);
    assert!(texts[7].ends_with("Over, under."), "{}", texts[7]);
}
