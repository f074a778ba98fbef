//! What a project promises, from the outside. All is one program, which is built once.

mod logs;
mod settings;
mod settings_in_use;
