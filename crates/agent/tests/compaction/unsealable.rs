//! A disk that takes neither hard links nor copies of a log: nothing can be compacted.

use std::path::Path;

use ship_agent::{Outcome, Rules};

use super::grown::grown;
use crate::harness::{Setup, chat};

const EPERM: i32 = 1;

/// A chat that should be compacted, on such a disk, with a model of this window.
async fn unsealable(window: Option<u64>) -> Setup {
    let setup = grown(20).await;
    setup.disk.refuse_links(EPERM);
    let archive = Path::new(".ship/chat/terminal%3Amain/messages/archive");
    setup.disk.close_folder(archive, EPERM);
    let rules = Rules { window, max_tokens: 500, ..setup.rules.clone() };
    Setup { rules, ..setup }
}

#[tokio::test]
async fn a_context_that_cannot_be_sealed_is_sent_whole_while_it_fits_the_window() {
    for window in [None, Some(100_000)] {
        let test = unsealable(window).await.agent();
        assert_eq!(test.say("and now?").await, Some(Outcome::Done));
        assert_eq!(test.say("and then?").await, Some(Outcome::Done));
        assert_eq!(test.ids().await.len(), 20 + 4);
    }
}

#[tokio::test]
async fn no_summary_is_paid_for_a_context_that_cannot_be_sealed() {
    let setup = unsealable(None).await;
    let test = setup.agent();
    for question in ["and now?", "and then?"] {
        assert_eq!(test.say(question).await, Some(Outcome::Done));
    }
    assert!(test.agent.compact(&chat(), None).await.is_err());
    assert_eq!(setup.model().summaries(), 0);
}

#[tokio::test]
async fn a_context_that_cannot_be_sealed_and_does_not_fit_is_answered_with_a_remedy() {
    let test = unsealable(Some(3_000)).await.agent();
    for question in ["and now?", "and then?"] {
        let Some(Outcome::Failed(sentence)) = test.say(question).await else {
            panic!("it does not fit")
        };
        assert!(sentence.contains("cannot be kept as"), "{sentence}");
        assert!(sentence.contains("`ship send --chat NAME`"), "{sentence}");
    }
}
