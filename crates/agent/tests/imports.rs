//! Files of other programs become contexts of a chat.

mod again;
mod place;
mod plain;
