//! Runs: one entry point for everything that an agent does in a chat.
//!
//! - `agent_runs` accepts messages and takes the lane, `lane_loop` does what recovery says, one thing after the other,
//!   and `repair` sets aside what a crash left half written.
//! - `step` asks the model and goes on with its answer; `next_action` decides what comes next, `run_progress` is the
//!   message on its way, `request_fit` makes the next request fit, and `answer_end` says what the end of an answer means.
//! - `tool_calls` runs tools, `tool_host` does what they ask for, `chat_send` delivers.
//! - `settle` goes on in a new message, `finish` ends a run, `deadline` says how long it may work.
//! - `switch_context` does an operation on contexts in the middle of a run, `switch_loop` ends a run that does nothing
//!   else, and `agent_operate` takes a person's operation.

mod agent_operate;
mod agent_runs;
mod answer_end;
mod chat_send;
mod deadline;
mod finish;
mod lane_loop;
mod next_action;
mod repair;
mod request_fit;
mod run_progress;
mod settle;
mod step;
mod switch_context;
mod switch_loop;
mod tool_calls;
mod tool_host;

pub use finish::STOPPED;
