//! Runs: all the work of an agent in a chat goes through here.
//!
//! - `agent_runs` accepts messages and takes the lane, `lane_loop` carries out the actions that recovery decides, and
//!   `repair` sets aside files that a crash left half written. `lane_return` gives a lane back that was not held for a
//!   run, and runs what has come in meanwhile.
//! - `step` asks the model and handles its answer; `next_action` decides what comes next, `run_progress` holds the
//!   unfinished message, `request_fit` makes the next request fit, `answer_end` interprets the end of an answer,
//!   and `failure_notice` tells the person why there is none. `run_stream` keeps the order of what subscribers get.
//! - `tool_calls` runs tools, `tool_host` serves their requests to the chat, `chat_send` delivers.
//! - `settle` continues a run in a new message, `finish` ends a run, `deadline` limits its working time.
//! - `send` waits for a reply, and `lane_watch` watches the process that it waits for.
//! - `switch_context` performs an operation on contexts in the middle of a run, `switch_loop` ends a run that only
//!   tries to switch. `agent_operate` takes a person's operation, `agent_repair` repairs a chat for a person, and
//!   `agent_stop` stops a run of any process.
//! - `unfinished_chats` finds the chats in which something is left to do, for a process that starts, and
//!   `recorded_answers` tells which answers the ledger has.

mod agent_operate;
mod agent_repair;
mod agent_runs;
mod agent_stop;
mod answer_end;
mod chat_send;
mod deadline;
mod failure_notice;
mod finish;
mod lane_loop;
mod lane_return;
mod lane_watch;
mod next_action;
mod recorded_answers;
mod repair;
mod reply;
mod request_fit;
mod run_progress;
mod run_stream;
mod send;
mod settle;
mod step;
mod switch_context;
mod switch_loop;
mod tool_calls;
mod tool_host;
mod undecided;
mod unfinished_chats;

pub use agent_repair::{RepairReport, plan_repair};
pub use agent_stop::StopOutcome;
pub use send::ReplyStream;
pub use unfinished_chats::UnfinishedChats;
