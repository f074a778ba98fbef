//! The tools that every agent has.

mod chat_send;
mod contexts;
mod skills;

pub(crate) use contexts::context_tools;

use crate::tool::Tool;

/// Makes the tools that every agent has.
pub fn built_in_tools() -> Vec<Tool> {
    let [list, load, unload] = skills::skill_tools();
    vec![chat_send::chat_send(), list, load, unload]
}
