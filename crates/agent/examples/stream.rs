//! An answer printed token by token. `cargo run -p ship-agent --example stream`

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::io::Write;

use ship_agent::{Agent, Chunk, RunEvent};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let agent = Agent::builder().build();
    let mut events = agent.stream(&"api:main".parse()?, "Tell me of the sea.");
    while let Some(event) = events.next().await {
        match &*event? {
            RunEvent::Chunk(Chunk::TextDelta(_, text)) => {
                print!("{}", text.as_str());
                std::io::stdout().flush()?;
            }
            RunEvent::Reply(reply) => println!("\n[{:?}]", reply.outcome),
            _ => {}
        }
    }
    Ok(())
}
