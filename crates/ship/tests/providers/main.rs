//! What a person sees when the provider fails: the real program, against a real server that follows a script. One fault
//! of each kind is here; the tests of the agent (`crates/agent/tests/providers`) have the others.
//!
//! It is shown from the outside: the sentence on the screen, the exit code, how often and when the
//! server was asked, what the files hold, and that the next message is answered as if nothing had been. The
//! server judges as the strictest host does, so a history that somebody would refuse is a failed test.

mod calls;
mod compactions;
mod contexts;
mod costs;
mod counted;
mod crashes;
mod cuts;
mod explained;
#[path = "../cli/harness.rs"]
#[expect(
    clippy::unwrap_used,
    dead_code,
    reason = "it is made for the other tests of the command, too"
)]
mod harness;
mod images;
mod interrupts;
mod logs;
mod models;
mod odd;
mod outages;
mod overflows;
mod progress;
mod refusals;
mod rendered;
mod streamed;
mod switches;
mod together;
mod typed_ahead;
mod waits;
#[expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]
mod world;
