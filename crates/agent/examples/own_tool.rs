//! An agent with a tool of its own. `cargo run -p ship-agent --example own_tool`

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use schemars::JsonSchema;
use serde::Deserialize;
use ship_agent::{Agent, Tool};

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
    let agent = Agent::builder().tool(weather).build();
    // The offline model calls the tools that it is told to.
    let reply = agent.send(&"api:main".parse()?, r#"/tool weather {"city":"Hamburg"}"#).await?;
    println!("{}", reply.text());
    Ok(())
}
