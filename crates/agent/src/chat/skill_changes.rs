//! The skills that a run changes in a conversation.
//!
//! In a chat, a loaded skill is a system block. In a conversation, it is a message of its own behind the result of the
//! call that loaded it, as other programs write it. So the answer of a run is divided there: for the model while the
//! run goes on, and for the file when it ends. Both are divided here, so that later requests have the same bytes.

use ship_message::json::{Json, Object};
use ship_message::{Role, UiMessage, UiPart};
use ship_store::conversation::{NewViewMessage, SkillChange};
use ship_store::{ContextBody, ContextEvent, Metadata, View};

use super::loaded_skills::{LOADED, UNLOADED, loaded_names};

/// Returns the prompt of a skill for a model.
pub(crate) fn skill_prompt(skill: &str, body: &str) -> String {
    format!("<skill-prompt>\n# Skill `{skill}`\n\n{}\n</skill-prompt>", body.trim())
}

/// Returns the data of an event that stands for a change.
pub(crate) fn event_data(change: &SkillChange) -> Object {
    let mut data = Object::from([("skill", change.skill.as_str()), ("callId", &change.call_id)]);
    data.set_or_remove("prompt", change.prompt.as_deref().map(Json::from));
    data
}

/// Reads the change that an event stands for. The events of a chat name no call.
pub(crate) fn change_of_event(event: &ContextEvent) -> Option<SkillChange> {
    let text = |key| event.data.get(key).and_then(Json::as_str).map(str::to_owned);
    let prompt = match event.event.as_str() {
        LOADED => Some(text("prompt")?),
        UNLOADED => None,
        _ => return None,
    };
    Some(SkillChange { skill: text("skill")?, call_id: text("callId")?, prompt })
}

/// Returns the changes of a run whose answer is not written yet.
pub(crate) fn unwritten_changes(view: &View) -> Vec<SkillChange> {
    let event = |body: &ContextBody| match body {
        ContextBody::Event(event) => change_of_event(event),
        ContextBody::Message(_) => None,
    };
    view.lines.iter().filter_map(|line| event(&line.body)).collect()
}

/// Returns the loaded skills of a context whose text is in no message.
pub(crate) fn skills_in_blocks(view: &View) -> Vec<String> {
    let (mut loaded, changes) = (loaded_names(view), unwritten_changes(view));
    loaded.retain(|skill| !is_prompted(skill, view.messages(), &changes));
    loaded
}

/// Whether the text of a skill is among these messages, or comes with these changes.
pub(crate) fn is_prompted<'m>(
    skill: &str,
    mut messages: impl Iterator<Item = &'m UiMessage>,
    changes: &[SkillChange],
) -> bool {
    changes.iter().any(|change| change.prompt.is_some() && change.skill == skill)
        || messages.any(|message| Metadata::of(message).prompt_of_skill() == Some(skill))
}

/// Divides an answer behind each step that loads a skill. The first message has the answer's id and the last its
/// metadata; the others have neither.
pub(crate) fn divide_answer(answer: &UiMessage, changes: &[SkillChange]) -> Vec<NewViewMessage> {
    if changes.is_empty() {
        return vec![answer.clone().into()];
    }
    let new = |id: &str| NewViewMessage::from(UiMessage::new(id, answer.role(), Vec::new()));
    let (mut pieces, mut piece) = (Vec::new(), new(answer.id().unwrap_or_default()));
    for part in answer.parts() {
        if matches!(part, UiPart::StepStart(_)) && has_prompt(&piece) {
            pieces.push(std::mem::replace(&mut piece, new("")));
        }
        if let UiPart::Tool(tool) = part {
            let of_call = changes.iter().filter(|change| change.call_id == tool.call_id());
            piece.skill_changes.extend(of_call.cloned());
        }
        piece.message.parts_mut().push(part.clone());
    }
    piece.message.set_metadata_or_remove(answer.metadata().cloned());
    pieces.push(piece);
    pieces
}

/// Returns an unfinished answer as a model is shown it: its pieces, with the prompts of skills between them.
pub(crate) fn with_prompts(answer: &UiMessage, changes: &[SkillChange]) -> Vec<UiMessage> {
    let messages = divide_answer(answer, changes).into_iter().flat_map(|piece| {
        let prompts = piece.skill_changes.into_iter().filter_map(|change| change.prompt);
        let prompts = prompts.map(|text| UiMessage::new("", Role::User, vec![UiPart::text(text)]));
        std::iter::once(piece.message).chain(prompts).collect::<Vec<_>>()
    });
    messages.collect()
}

fn has_prompt(piece: &NewViewMessage) -> bool {
    piece.skill_changes.iter().any(|change| change.prompt.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An answer with a call in each of two steps, and a text in a third.
    fn answer() -> UiMessage {
        let call = |id: &str| {
            format!(
                r#"{{"type":"step-start"}},{{"type":"tool-Skill","toolCallId":"{id}","state":"output-available","input":{{}},"output":1}}"#
            )
        };
        let text = format!(
            r#"{{"id":"m002","role":"assistant","metadata":{{"interrupted":true}},"parts":[{},{},{{"type":"step-start"}},{{"type":"text","text":"Ready."}}]}}"#,
            call("c1"),
            call("c2"),
        );
        UiMessage::parse(&text).unwrap()
    }

    fn change(call_id: &str, prompt: Option<&str>) -> SkillChange {
        let prompt = prompt.map(str::to_owned);
        SkillChange { skill: "pptx".to_owned(), call_id: call_id.to_owned(), prompt }
    }

    #[test]
    fn an_answer_is_divided_behind_a_step_that_loads_and_not_behind_one_that_unloads() {
        for (changes, lengths) in [
            (vec![], vec![6]),
            (vec![change("c1", Some("Text."))], vec![2, 4]),
            (vec![change("c1", None), change("c2", Some("Text."))], vec![4, 2]),
        ] {
            let pieces = divide_answer(&answer(), &changes);
            let parts: Vec<usize> =
                pieces.iter().map(|piece| piece.message.parts().len()).collect();
            assert_eq!(parts, lengths);
            assert_eq!(pieces[0].message.id(), Some("m002"));
            let last = &pieces[pieces.len() - 1].message;
            assert!(Metadata::of(last).is_interrupted(), "the end of the answer says how it ended");
            let all: Vec<_> = pieces.iter().flat_map(|piece| &piece.skill_changes).collect();
            assert_eq!(all, changes.iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_model_is_shown_the_text_behind_the_call_that_loads() {
        let shown = with_prompts(&answer(), &[change("c1", Some("Text."))]);
        let roles: Vec<_> = shown.iter().map(UiMessage::role).collect();
        assert_eq!(roles, [Role::Assistant, Role::User, Role::Assistant]);
        assert_eq!(shown[1].text(), "Text.");
    }

    #[test]
    fn a_change_is_read_from_its_event_and_the_event_of_a_chat_is_none() {
        let event = |name: &str, data: Object| ContextEvent {
            id: "e1".to_owned(),
            inbox: None,
            ts: ship_store::Timestamp::from_millis(0),
            event: name.to_owned(),
            data: data.into(),
            ref_msg_id: None,
        };
        for (name, change) in
            [(LOADED, change("c1", Some("Text."))), (UNLOADED, change("c1", None))]
        {
            assert_eq!(change_of_event(&event(name, event_data(&change))), Some(change));
        }
        for name in [LOADED, UNLOADED] {
            assert_eq!(change_of_event(&event(name, Object::from([("skill", "pptx")]))), None);
        }
    }
}
