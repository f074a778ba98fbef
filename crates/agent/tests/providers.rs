//! Providers that fail, break off or say odd things: an agent against a real server that follows a script.
//!
//! What a person sees of it on the screen is shown by the tests of `ship`, with one fault of each kind.

mod calls;
mod cuts;
mod imported;
mod odd;
mod outages;
mod overflows;
mod refusals;
mod thinking;
mod world;
