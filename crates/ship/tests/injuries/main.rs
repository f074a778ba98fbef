//! A chat that has been through everything, for tests that injure its files.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]
#![expect(dead_code, reason = "the tests that injure it use the rest")]

mod chat;
mod injury;
mod project;
mod readable;

use crate::chat::Base;

#[test]
fn a_chat_that_has_been_through_everything_is_whole() {
    let at_rest = Base::at_rest();
    for base in [at_rest.in_a_run(), at_rest] {
        let ran = base.project.copy().run(&["verify"], "");
        assert_eq!(ran.code, Some(0), "chat {}: {ran}", base.name);
    }
}
