//! A chat that outgrows its model goes on: compactions against a provider that counts and refuses.

mod arrives;
mod budget;
mod continued;
mod conversation;
mod counted;
mod deferred;
mod endless;
mod explained;
mod full_log;
mod grown;
mod killed;
mod little_room;
mod long;
mod overflow;
mod previews;
mod purged;
mod restored;
mod rungs;
mod settled;
mod turns;
mod undo;
mod unsealable;
mod waiting;
mod world;
