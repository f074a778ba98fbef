//! What keeps chats.
