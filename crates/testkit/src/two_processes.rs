//! Two real `ship` processes on one chat: file calls of one of them fail, the other one is healthy.
//!
//! A [`FaultCase`] is a command, and a window of failing calls at one of its calls. The healthy process sends its
//! messages behind the failure, and in between when the other one is stopped or waits for its next line. Then both go
//! on. At the end the files are read without the engine's code and held to every promise that either process has
//! made: each acknowledged message is in the ledger and in the contexts once, and answered once, with its own answer.

mod case_runner;
mod chat_record;
mod chat_session;
mod fault_case;
mod judge;
mod ship_process;
mod sweep;
mod test_project;
mod thin_volume;

pub use fault_case::{BrokenPromise, FailingCommand, FaultCase};
pub use sweep::{Sweep, SweepCounts};
pub use thin_volume::thin_volume;
