//! An agent with a tool of its own. `cargo run -p ship-agent --example own_tool`

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use schemars::JsonSchema;
use serde::Deserialize;
use ship_agent::{Agent, ChatKey, Tool};

#[derive(Deserialize, JsonSchema)]
struct Place {
    /// The name of a city.
    city: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let weather =
        Tool::new("weather", "Tells the weather in a city.", |place: Place, _| async move {
            Ok(format!("It rains in {}.", place.city))
        });
    let agent = Agent::builder().role("You tell the weather.").tool(weather).build();
    let chat: ChatKey = "api:main".parse()?;
    // The offline model calls the tools that it is told to.
    let reply = agent.send(&chat, r#"/tool weather {"city":"Hamburg"}"#).await?;
    println!("{}", reply.into_result()?.text());
    Ok(())
}
