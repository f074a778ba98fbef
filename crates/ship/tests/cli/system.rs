//! What the model is told before anything was said.

use crate::harness::{TestShip, array, text};

const TIDES: &str = "---\nname: tides\ndescription: When the water comes\n---\nLook at the moon.\n";
const KNOTS: &str = "---\nname: knots\ndescription: Ropes: all of them\n---\nOver, under.\n";

fn blocks(ship: &TestShip) -> Vec<(String, String)> {
    let json = ship.run(&["inspect", "--json"]).json();
    array(&json, "system").iter().map(|block| (text(block, "name"), text(block, "text"))).collect()
}

fn names(ship: &TestShip) -> Vec<String> {
    blocks(ship).into_iter().map(|(name, _)| name).collect()
}

#[test]
fn without_any_file_there_is_a_default_role() {
    assert_eq!(names(&TestShip::new()), ["runtime", "Agent.md", "built-in"]);
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
    assert_eq!(names(&ship), expected);
    let texts: Vec<String> = blocks(&ship).into_iter().map(|(_, text)| text).collect();
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

#[test]
fn skills_are_loaded_until_they_are_unloaded_whatever_is_restarted() {
    let ship = TestShip::new()
        .file(".claude/skills/tides/SKILL.md", TIDES)
        .file(".ship/skills/knots/SKILL.md", KNOTS);
    let _ = ship
        .piped(
            &["chat"],
            "/tool skills_load {\"name\":\"tides\"}\n/tool skills_load {\"name\":\"knots\"}\n",
        )
        .text();
    let loaded = |ship: &TestShip| -> Vec<String> {
        names(ship).into_iter().filter(|name| name.starts_with("skill:")).collect()
    };
    assert_eq!(loaded(&ship), ["skill:tides", "skill:knots"]);
    let plain = ship.run(&["inspect"]).text();
    assert!(plain.contains("skill:tides"), "{plain}");

    let _ = ship.run(&["send", "/tool skills_unload {\"name\":\"tides\"}"]).text();
    assert_eq!(loaded(&ship), ["skill:knots"]);
}

#[test]
fn a_malformed_skill_is_listed_with_its_reason_and_stops_nothing() {
    let ship = TestShip::new()
        .file(".ship/skills/broken/SKILL.md", "---\nname: broken\n---\n")
        .file(".ship/skills/knots/SKILL.md", KNOTS);
    let list = ship.run(&["send", "/tool skills_list {}"]).text();
    assert!(list.contains("broken") && list.contains("knots"), "{list}");
    let overview = blocks(&ship).into_iter().find(|(name, _)| name == "skills").unwrap().1;
    assert!(overview.contains("- `broken` (cannot be loaded): "), "{overview}");
    let refused = ship.run(&["send", "/tool skills_load {\"name\":\"broken\"}"]).text();
    assert!(refused.contains("cannot be used"), "{refused}");
}
