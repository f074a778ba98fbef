//! A disk that takes neither hard links nor copies of a log: nothing can be compacted.

use std::path::Path;

use ship_agent::{Outcome, Rules};
use ship_testkit::sim::SimDisk;

use super::local::Setup;
use super::world::chat;

const EPERM: i32 = 1;

/// A chat that should be compacted, on such a disk, with a model of this window.
async fn unsealable(window: Option<u64>) -> Setup {
    let setup = Setup::grown(SimDisk::new(), 20).await;
    setup.disk.refuse_links(EPERM);
    let archive = Path::new(".ship/chat/terminal%3Amain/messages/archive");
    setup.disk.close_folder(archive, EPERM);
    let rules = Rules { window, max_tokens: 500, ..setup.rules.clone() };
    Setup { rules, ..setup }
}

#[tokio::test]
async fn a_context_that_cannot_be_sealed_is_sent_whole_while_it_fits_the_window() {
    for window in [None, Some(100_000)] {
        let local = unsealable(window).await.local();
        assert_eq!(local.say("and now?").await, Some(Outcome::Done));
        assert_eq!(local.say("and then?").await, Some(Outcome::Done));
        assert_eq!(local.ids().await.len(), 20 + 4);
    }
}

#[tokio::test]
async fn no_summary_is_paid_for_a_context_that_cannot_be_sealed() {
    let setup = unsealable(None).await;
    let local = setup.local();
    for question in ["and now?", "and then?"] {
        assert_eq!(local.say(question).await, Some(Outcome::Done));
    }
    assert!(local.agent.compact(&chat(), None).await.is_err());
    assert_eq!(setup.model.summaries(), 0);
}

#[tokio::test]
async fn a_context_that_cannot_be_sealed_and_does_not_fit_is_answered_with_a_remedy() {
    let local = unsealable(Some(3_000)).await.local();
    for question in ["and now?", "and then?"] {
        let Some(Outcome::Failed(sentence)) = local.say(question).await else {
            panic!("it does not fit")
        };
        assert!(sentence.contains("cannot be kept as"), "{sentence}");
        assert!(sentence.contains("`ship send --chat NAME`"), "{sentence}");
    }
}
