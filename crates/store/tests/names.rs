//! What names a line: ids, revisions and keys, and what is refused of them.

use ship_store::{AcceptError, AppendError, FileStore, NewLine, NewMessage, RefusedInput};
use ship_testkit::chat::{Begun, entry, message, options, text};

fn revised(id: &str, text: &str, rev: u64) -> NewLine {
    NewMessage { message: message(id, text), rev, inbox: None }.into()
}

async fn begun() -> (FileStore, Begun) {
    let store = FileStore::in_memory(options());
    let begun = Begun::new(&store, "names").await;
    (store, begun)
}

#[tokio::test]
async fn in_one_batch_a_message_is_replaced_by_the_next_revision_and_by_no_other() {
    let (_store, begun) = begun().await;
    let end = begun.chat.log().view().await.unwrap().unwrap().position;
    let twice = vec![revised("m1", "a", 0), revised("m1", "b", 1), revised("m1", "c", 1)];
    let refused = begun.lane.append(twice, end).await.unwrap_err();
    assert!(matches!(refused, AppendError::Conflict { next_rev: 2, .. }), "{refused}");

    let chain = vec![revised("m1", "a", 0), revised("m1", "b", 1), revised("m1", "c", 2)];
    begun.lane.append(chain, end).await.unwrap();
    let view = begun.chat.log().view().await.unwrap().unwrap();
    assert_eq!(view.messages().map(text).collect::<Vec<_>>(), ["c"]);
}

#[tokio::test]
async fn a_revision_of_nothing_is_refused() {
    let (_store, begun) = begun().await;
    let end = begun.chat.log().view().await.unwrap().unwrap().position;
    let refused = begun.lane.append(vec![revised("m1", "a", 5)], end).await.unwrap_err();
    assert!(
        matches!(refused, AppendError::Refused(RefusedInput::NothingToReplace(id)) if id == "m1")
    );
}

#[tokio::test]
async fn a_name_longer_than_any_name_is_refused_and_one_at_the_limit_is_compared_whole() {
    let (_store, begun) = begun().await;
    let end = begun.chat.log().view().await.unwrap().unwrap().position;
    let long = "n".repeat(40_000);
    let refused = begun.lane.append(vec![revised(&long, "a", 0)], end).await.unwrap_err();
    assert!(
        matches!(refused, AppendError::Refused(RefusedInput::LongName { bytes: 40_000, .. })),
        "{refused}"
    );
    let refused = begun.chat.ledger().accept(entry(&long, "a")).await.unwrap_err();
    assert!(matches!(refused, AcceptError::Refused(RefusedInput::LongName { .. })), "{refused}");

    let longest = "n".repeat(1000);
    assert!(begun.chat.ledger().accept(entry(&longest, "a")).await.unwrap().new);
    assert!(!begun.chat.ledger().accept(entry(&longest, "a")).await.unwrap().new);
    let end = begun.lane.append(vec![revised(&longest, "a", 0)], end).await.unwrap();
    let other = begun.lane.append(vec![revised(&longest, "b", 0)], end).await.unwrap_err();
    assert!(matches!(other, AppendError::Conflict { .. }), "{other}");
}
