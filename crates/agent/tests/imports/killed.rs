//! An import that is killed at any file call: nothing of it is there, or all, and done again it works.

use ship_agent::{FileFormat, ImportWishes};
use ship_testkit::sim::{Fault, SimDisk};
use ship_testkit::sweep::block_on;

use super::place::{Place, talk};

const TEXTS: [&str; 6] = ["soup?", "leek", "fish?", "cod", "wine?", "white"];

/// Imports into a chat, and kills the process at a call. Returns the calls of an import and the disk.
fn import_killed(is_used: bool, kill: Option<usize>) -> (usize, SimDisk) {
    let disk = SimDisk::new();
    block_on(async {
        let place = Place::on(disk.clone(), 2);
        if is_used {
            place.say("trip?").await;
        }
        let before = disk.calls();
        if let Some(call) = kill {
            disk.fail_in(call, Fault::KillAfter);
        }
        let wishes = ImportWishes::default();
        let _ = place.try_import(FileFormat::UiMessage, &talk(&TEXTS), wishes).await;
        disk.revive();
        (disk.calls() - before, disk)
    })
}

/// Returns the texts of the history.
async fn said(place: &Place) -> Vec<String> {
    place.history().await.iter().map(|message| message.text()).collect()
}

/// Judges what a killed import has left. Returns whether it was published.
async fn is_nothing_or_all(disk: SimDisk, is_used: bool, call: usize) -> bool {
    let place = Place::on(disk, 2);
    let before = match place.store.open(&place.chat).await.unwrap() {
        Some(_) => said(&place).await,
        None => Vec::new(),
    };
    let is_there = before.contains(&"soup?".to_owned());
    let own: &[&str] = if is_used { &["trip?", "Aye."] } else { &[] };
    let imported: &[&str] = if is_there { &TEXTS } else { &[] };
    let count = |all: &[&str]| before.iter().filter(|text| all.contains(&text.as_str())).count();
    assert_eq!(
        (count(own), count(imported)),
        (own.len(), imported.len()),
        "call {call}: {before:?}"
    );
    assert_eq!(before.len(), own.len() + imported.len(), "call {call}: {before:?}");
    let report = place.import(FileFormat::UiMessage, &talk(&TEXTS)).await;
    assert_eq!(report.changes_nothing(), is_there, "call {call}");
    assert_eq!(said(&place).await.len(), own.len() + TEXTS.len(), "call {call}");
    let archived = if is_used { vec![("soup?".to_owned(), 6)] } else { Vec::new() };
    assert_eq!(place.archived().await, archived, "call {call}");
    place.say("and now?").await;
    assert_eq!(place.stored().await.verify().await.unwrap(), [], "call {call}");
    is_there
}

#[test]
fn a_killed_import_is_there_as_a_whole_or_not_at_all_and_works_again() {
    for is_used in [false, true] {
        let (calls, _) = import_killed(is_used, None);
        let mut published = 0;
        for call in 0..calls {
            let (_, disk) = import_killed(is_used, Some(call));
            published += usize::from(block_on(is_nothing_or_all(disk, is_used, call)));
        }
        assert!(calls > 40 && published > 0 && published < calls, "{published} of {calls}");
    }
}
