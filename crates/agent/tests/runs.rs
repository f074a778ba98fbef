//! What an agent does with what comes in, and what is left of it when it is killed.

mod answers;
mod attached;
mod blocks;
mod endings;
mod frozen;
mod full_disk;
mod idle;
mod inspected;
mod killed;
mod limits;
mod listeners;
mod lost;
mod news;
mod notices;
mod parked;
mod queued;
mod recorded;
mod replies;
mod sends;
mod settled;
mod stopped;
mod streamed;
mod unfinished;
mod waiting;
