//! Limits the switches of a run.

use std::borrow::Borrow;

use ship_message::json::Json;
use ship_message::{Role, UiMessage, UiPart};

use super::reference::LoadMode;

/// The number of switches that a run may make.
pub const SWITCHES_A_RUN_MAX: usize = 3;

/// A way to go from one context to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// The run continues in a clean context.
    New,
    /// The run goes back to an archived context.
    Load,
    /// The run continues in a clean context, because this one is spoilt.
    Clear,
    /// The run continues in a copy of this context.
    Fork,
}

/// Returns the switch that a call makes. A call that only looks, or that cannot be understood, makes none.
pub fn switch_of(name: &str, input: Option<&Json>) -> Option<Switch> {
    match name {
        "chat_context_new" => Some(Switch::New),
        "chat_context_clear_active" => Some(Switch::Clear),
        "chat_context_fork" => Some(Switch::Fork),
        "chat_context_load" => {
            // Models send an empty text for a field that they mean to leave out.
            let is_absent = |mode: &Json| {
                mode.is_null() || mode.as_str().is_some_and(|it| it.trim().is_empty())
            };
            let mode = input.and_then(|input| input.get("mode")).filter(|mode| !is_absent(mode));
            let named = |mode: &Json| LoadMode::named(mode.as_str()?.trim());
            let mode = mode.map_or(Some(LoadMode::Switch), named);
            (mode == Some(LoadMode::Switch)).then_some(Switch::Load)
        }
        _ => None,
    }
}

/// The reason why a run may not switch, in words for the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SwitchRefusal {
    /// There is nothing to leave.
    #[error("this context is clean already: nothing was said in it yet; answer the person here")]
    NothingSaid,
    /// The run has switched often enough.
    #[error(
        "a run may switch {SWITCHES_A_RUN_MAX} times, and this one has; answer the person in this context"
    )]
    TooOften,
    /// Another call of the same step switches.
    #[error("another call of this step switches the context already; one switch at a time")]
    OneAtATime,
}

/// Checks whether a run that has made so many switches may make another. `has_other_messages` concerns the context
/// that it would leave.
///
/// # Errors
/// Fails if the run may not switch.
pub fn check_switch(
    switch: Switch,
    switches: usize,
    has_other_messages: bool,
) -> Result<(), SwitchRefusal> {
    let leaves_nothing = match switch {
        Switch::New | Switch::Clear => !has_other_messages,
        Switch::Load | Switch::Fork => false,
    };
    if leaves_nothing {
        Err(SwitchRefusal::NothingSaid)
    } else if switches >= SWITCHES_A_RUN_MAX {
        Err(SwitchRefusal::TooOften)
    } else {
        Ok(())
    }
}

/// Whether a context has other messages than the current request. Answers that only switched do not count.
pub fn has_other_messages<M: Borrow<UiMessage>>(messages: &[M], current: &[&str]) -> bool {
    messages.iter().map(Borrow::borrow).any(|message| match message.role() {
        Role::User => !message.id().is_some_and(|id| current.contains(&id)),
        Role::Assistant => message.parts().iter().any(|part| match part {
            UiPart::StepStart(_) => false,
            UiPart::Text(text) => !text.text().trim().is_empty(),
            UiPart::Tool(tool) => {
                switch_of(tool.name().unwrap_or_default(), tool.input()).is_none()
            }
            UiPart::Reasoning(_) => false,
            UiPart::File(_)
            | UiPart::SourceUrl(_)
            | UiPart::SourceDocument(_)
            | UiPart::Data(_)
            | UiPart::Unknown(_) => true,
        }),
        Role::System | Role::Unknown => true,
    })
}

/// Returns the indexes of the parts in the order in which their calls are made. Calls that switch the context come
/// last: a call after them would be answered in another context.
pub fn calls_in_order(parts: &[UiPart]) -> Vec<usize> {
    let switches = |at: &usize| match &parts[*at] {
        UiPart::Tool(tool) => switch_of(tool.name().unwrap_or_default(), tool.input()).is_some(),
        UiPart::StepStart(_)
        | UiPart::Text(_)
        | UiPart::Reasoning(_)
        | UiPart::File(_)
        | UiPart::SourceUrl(_)
        | UiPart::SourceDocument(_)
        | UiPart::Data(_)
        | UiPart::Unknown(_) => false,
    };
    let (switching, mut others): (Vec<usize>, Vec<usize>) = (0..parts.len()).partition(switches);
    others.extend(switching);
    others
}

#[cfg(test)]
mod tests {
    use ship_message::ToolPart;

    use super::*;

    fn call(name: &str, input: &str) -> ToolPart {
        ToolPart::new(name, "c1", Json::parse(input).unwrap())
    }

    fn said(id: &str, role: Role, parts: Vec<UiPart>) -> UiMessage {
        UiMessage::new(id, role, parts)
    }

    #[test]
    fn a_call_switches_unless_it_only_looks() {
        for (name, input, switch) in [
            ("chat_context_new", "{}", Some(Switch::New)),
            ("chat_context_load", r#"{"query":"x"}"#, Some(Switch::Load)),
            ("chat_context_load", r#"{"query":"x","mode":null}"#, Some(Switch::Load)),
            ("chat_context_load", r#"{"query":"x","mode":""}"#, Some(Switch::Load)),
            ("chat_context_load", r#"{"query":"x","mode":" switch "}"#, Some(Switch::Load)),
            ("chat_context_load", r#"{"query":"x","mode":"switch"}"#, Some(Switch::Load)),
            ("chat_context_load", r#"{"query":"x","mode":"reference"}"#, None),
            ("chat_context_load", r#"{"query":"x","mode":7}"#, None),
            ("chat_context_clear_active", "null", Some(Switch::Clear)),
            ("chat_context_fork", "{}", Some(Switch::Fork)),
            ("chat_context_recall", "{}", None),
        ] {
            assert_eq!(switch_of(name, call(name, input).input()), switch, "{name} {input}");
        }
    }

    #[test]
    fn a_second_new_with_nothing_said_since_is_refused() {
        let switched = UiPart::Tool(call("chat_context_new", "{}"));
        let current = said("u1", Role::User, vec![UiPart::text("hello")]);
        let only_switched = said("a1", Role::Assistant, vec![switched.clone()]);
        let clean = [current.clone(), only_switched.clone()];
        assert!(!has_other_messages(&clean, &["u1"]));
        assert_eq!(check_switch(Switch::New, 1, false), Err(SwitchRefusal::NothingSaid));
        assert_eq!(check_switch(Switch::Load, 1, false), Ok(()), "there is something to go to");

        let answered = said("a1", Role::Assistant, vec![switched, UiPart::text("Hello.")]);
        for used in [[current.clone(), answered], [said("u0", Role::User, vec![]), current]] {
            assert!(has_other_messages(&used, &["u1"]), "{used:?}");
        }
        assert_eq!(check_switch(Switch::New, 1, true), Ok(()));
    }

    #[test]
    fn a_run_that_always_switches_comes_to_an_end() {
        for switch in [Switch::New, Switch::Load, Switch::Clear, Switch::Fork] {
            let switches = (0..).find(|switches| check_switch(switch, *switches, true).is_err());
            assert_eq!(switches, Some(SWITCHES_A_RUN_MAX), "{switch:?}");
        }
    }

    #[test]
    fn calls_that_switch_are_made_last() {
        let parts = [
            call("chat_context_new", "{}"),
            call("look", "{}"),
            call("chat_context_load", r#"{"query":"x"}"#),
            call("chat_context_load", r#"{"query":"x","mode":"full"}"#),
            call("chat_send", "{}"),
        ]
        .map(UiPart::Tool);
        assert_eq!(calls_in_order(&parts), [1, 3, 4, 0, 2]);
        assert_eq!(calls_in_order(&parts[3..]), [0, 1]);
        let with_text = [parts[0].clone(), UiPart::text("On we go."), parts[1].clone()];
        assert_eq!(calls_in_order(&with_text), [1, 2, 0]);
        assert!(calls_in_order(&[]).is_empty());
    }
}
