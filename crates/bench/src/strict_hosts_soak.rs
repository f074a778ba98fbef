//! A chat with every kind of turn at real hosts whose template wants strict turns: a llama.cpp server, and a LiteLLM
//! proxy in front of it. Both must take every request.

use std::io;

use crate::real_chat::RealChat;
use crate::real_hosts::{Host, RealSetup};

/// What a run did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Answers at both hosts.
    pub answers: usize,
    /// Requests that a host refused before its form was learnt.
    pub refused: usize,
}

/// The refused requests that are allowed: it takes one to learn the form that a host wants, and each host has a second
/// address, at which a script calls the tools.
const REFUSALS_MAX: usize = 2;

/// A step of the chat.
enum Step {
    /// The person says this, and the host answers.
    Say(&'static str),
    /// The person says this, and nobody answers.
    SayInVain(&'static str),
    /// The model calls this tool with this input, and the host answers to the result.
    Call(&'static str, &'static str),
    /// The model calls this tool with this input, and says nothing more.
    CallOnly(&'static str, &'static str),
    /// The person runs this command.
    Run(&'static [&'static str]),
}

use Step::{Call, CallOnly, Run, Say, SayInVain};

const STEPS: [Step; 33] = [
    Say("The port of the database is 5432."),
    Call("skills_list", "{}"),
    Say("What did the tool say?"),
    CallOnly("chat_send", r#"{"text":"One moment."}"#),
    Say("And then?"),
    SayInVain("Is there anybody?"),
    Say("And now?"),
    Run(&["checkpoint", "early"]),
    Run(&["context", "new", "--title", "Dinner"]),
    Say("What shall we eat?"),
    Run(&["context", "recall", "-", "--mode", "full"]),
    Say("Which port was it?"),
    Call("chat_context_recall", r#"{"contextId":"last","mode":"full"}"#),
    Say("Which port?"),
    Call("chat_load_history", r#"{"limit":5}"#),
    Run(&["context", "recall", "-"]),
    CallOnly("skills_list", "{}"),
    Call("chat_context_new", r#"{"title":"Third"}"#),
    Say("Is this the third?"),
    Run(&["undo"]),
    Say("Is this the second?"),
    Run(&["compact"]),
    Say("Do you still know the port?"),
    Run(&["context", "load", "database"]),
    Say("Is this the first?"),
    Run(&["fork"]),
    CallOnly("chat_context_load", r#"{"query":"Dinner"}"#),
    Say("Is this the second again?"),
    Run(&["context", "load", "-"]),
    Run(&["rewind", "early"]),
    Say("Is this early?"),
    Run(&["compact"]),
    Say("Thank you."),
];

/// Leads the chat at both hosts. `None` where they cannot be had.
///
/// # Errors
/// The requests that were refused, or the command that failed.
pub fn soak(seed: u64) -> Result<Option<Counts>, String> {
    let setup = RealSetup::find().map_err(|error| error.to_string())?;
    let Some(setup) = setup else { return Ok(None) };
    let counts = lead_both(&setup, seed);
    setup.finish(counts).map(Some).map_err(|wrong| format!("strict hosts: {wrong}"))
}

fn lead_both(setup: &RealSetup, seed: u64) -> io::Result<Counts> {
    let mut counts = Counts::default();
    let llama = Host::llama(setup, seed, Some("strict.jinja"))?;
    lead(setup, "llama.cpp", &llama, &mut counts)?;
    let litellm = Host::litellm(setup, &llama)?;
    lead(setup, "LiteLLM", &litellm, &mut counts)?;
    Ok(counts)
}

/// Leads the chat at one host, and counts the requests that it refused.
fn lead(setup: &RealSetup, name: &str, host: &Host, counts: &mut Counts) -> io::Result<()> {
    let chat = RealChat::new(&setup.ship, setup.path(name))?;
    for step in STEPS {
        match step {
            Say(text) => chat.say(&host.url, 12, 0.0, text)?,
            SayInVain(text) => chat.say_in_vain(text)?,
            Call(tool, input) => chat.call(&host.url, tool, input)?,
            CallOnly(tool, input) => chat.call_and_say(tool, input, "")?,
            Run(arguments) => drop(chat.run(arguments)?),
        }
    }
    let refusals = host.refusals()?;
    if refusals.len() > REFUSALS_MAX {
        let refused = refusals.len();
        return Err(io::Error::other(format!("{name} refused {refused} requests: {refusals:#?}")));
    }
    counts.refused += refusals.len();
    counts.answers += chat.answers()?.len();
    Ok(())
}
