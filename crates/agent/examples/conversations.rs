//! One agent and several conversations: in memory, in a file, loaded again, and forked from a checkpoint.
//!
//! `cargo run -p ship-agent --example conversations FOLDER` makes two files in `FOLDER`, and shows them.

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use ship_agent::{Agent, Tool};

#[derive(Deserialize, JsonSchema)]
struct Place {
    /// The name of a city.
    city: String,
}

/// A tool of our own.
fn weather() -> Tool {
    Tool::new("weather", "Tells the weather in a city.", |place: Place, _context| async move {
        Ok(format!("It rains in {}.", place.city))
    })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("name a folder for the files")?);
    let (task, retry) = (folder.join("task-001.jsonl"), folder.join("task-001-retry.jsonl"));

    // In memory: a model and some tools are all that an agent needs.
    let agent = Agent::builder().tool(weather()).build();
    println!("in memory: {}", agent.conversation().send("Hello!").await?.text());

    // In a file: what we say is on disk before the model is asked, the answer when `send` returns.
    agent.new_conversation(&task).await?;
    println!(
        "new: {}",
        agent.conversation().send("/tool weather {\"city\":\"Hamburg\"}").await?.text()
    );
    agent.conversation().checkpoint("before-the-plan").await?;
    agent.conversation().send("Then let us go to a museum.").await?;

    // Loaded again, as after a restart: another agent goes on where this one stopped.
    drop(agent);
    let agent = Agent::builder().tool(weather()).build();
    agent.load_conversation(&task).await?;
    println!("resumed with {} messages", agent.conversation().messages().await?.len());

    // Forked from the checkpoint: the copy knows nothing of the museum, and the original stays as it is.
    agent.fork_conversation_from("before-the-plan", &retry).await?;
    println!("forked with {} messages", agent.conversation().messages().await?.len());
    println!(
        "in the fork: {}",
        agent.conversation().send("Then let us go to the harbour.").await?.text()
    );

    println!("the original:\n{}", std::fs::read_to_string(&task)?);
    println!("the fork:\n{}", std::fs::read_to_string(&retry)?);
    Ok(())
}
