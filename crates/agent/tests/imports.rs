//! Files of other programs become contexts of a chat.

mod again;
mod killed;
mod place;
mod plain;
mod sessions;
