//! What a list of chats shows of one, read with as few calls as can be.

use ship_message::json::{Json, Object};

use super::chat::Paths;
use super::env::Env;
use super::ledger::Reading;
use super::view::view;
use crate::name::folder_name;
use crate::{About, ChatContent, ChatKey};

/// Reads `chat.json`, the live log and the end of the ledger of a chat, each once. `None` if anything is not as it
/// should be: what that is takes more than a glance.
pub(super) fn at_a_glance(env: &Env, folder: &str) -> Option<(ChatKey, ChatContent)> {
    let paths = Paths::new(folder);
    let (_, bytes) = env.read(&paths.about).ok()??;
    let Json::Object(about) = Json::parse_bytes(&bytes).ok()? else { return None };
    let key = about.str("chatKey")?.parse().ok().filter(|key| folder_name(key) == folder)?;
    let view = view(env, &paths.live).ok()??;
    let reading = Reading { env, folder: &paths.conversations };
    let new_lines = reading.after(view.inbox, usize::MAX).ok()?;
    Some((key, ChatContent::new(about_of(&about), Some(view), new_lines)))
}

/// What a `chat.json` says the chat is about.
pub(super) fn about_of(object: &Object) -> About {
    let channel = object.str("channel").map(str::to_owned);
    About { channel, target: object.get("target").cloned() }
}
