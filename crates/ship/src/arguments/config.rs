//! Defines the command line of `ship config`.

use clap::Subcommand;
use ship_project::SettingScope;

#[derive(Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show all settings, like `ship config` alone
    #[command(aliases = ["ls", "show"])]
    List,
    /// Print one setting, or those of a group
    #[command(after_help = "Examples:\n  ship config get llm.maxTokens\n  ship config get llm")]
    Get {
        /// The setting or group, such as llm.model or llm
        key: String,
    },
    /// Change a setting in ship.json; comments and order stay
    #[command(
        after_help = "Examples:\n  ship config set llm.maxTokens 2000\n  ship config set tools.approval '[\"deploy\"]'\n  ship config set --user llm.retries 2"
    )]
    Set {
        /// The setting, such as llm.model
        // Completions add to this argument, which would put it behind the other without an index.
        #[arg(index = 1)]
        key: String,
        /// JSON, or plain text where the setting takes text
        #[arg(index = 2, allow_negative_numbers = true)]
        value: String,
        #[command(flatten)]
        file: SettingsFileChoice,
    },
    /// Remove a setting from ship.json, so that its default counts
    #[command(
        after_help = "Examples:\n  ship config unset llm.maxTokens\n  ship config unset --user llm.retries"
    )]
    Unset {
        /// The setting, such as llm.model
        key: String,
        #[command(flatten)]
        file: SettingsFileChoice,
    },
    /// A setting in the place of a command, perhaps with a value.
    #[command(external_subcommand)]
    Other(Vec<String>),
}

/// Chooses the file to change.
#[derive(clap::Args)]
pub(crate) struct SettingsFileChoice {
    /// Change the settings for all your projects, in ~/.config/ship/ship.json
    #[arg(long)]
    user: bool,
}

impl SettingsFileChoice {
    pub(crate) fn scope(&self) -> SettingScope {
        if self.user { SettingScope::User } else { SettingScope::Project }
    }
}
