//! Values that hold a whole conversation: `{"messages": […]}`.

use ship_message::json::Json;

use crate::plan::{Piece, PlannedContext};

/// The contexts of a file in which a value is a message or a conversation.
#[derive(Default)]
pub(super) struct Conversations {
    /// The messages that are values of their own.
    main: PlannedContext,
    others: Vec<PlannedContext>,
}

/// Returns the messages of a conversation, if a value is one.
pub(super) fn messages_of(value: &Json) -> Option<&[Json]> {
    value.get("messages").filter(|_| value.get("role").is_none())?.as_array()
}

/// Returns the value that a piece means.
pub(super) fn part_of(value: &Json, part: u32) -> &Json {
    const NOTHING: &Json = &Json::Null;
    match (part as usize).checked_sub(1) {
        None => value,
        Some(at) => messages_of(value).and_then(|all| all.get(at)).unwrap_or(NOTHING),
    }
}

impl Conversations {
    /// Passes each message of a value to `add`, with the context that it belongs to.
    pub(super) fn look(
        &mut self,
        item: u32,
        value: &Json,
        mut add: impl FnMut(&mut PlannedContext, Piece, &Json) -> Result<(), String>,
    ) -> Result<(), String> {
        let Some(messages) = messages_of(value) else {
            return add(&mut self.main, Piece { item, part: 0 }, value);
        };
        let text = |key: &str| value.get(key).and_then(Json::as_str).map(str::to_owned);
        let mut context = PlannedContext::new(text("id").unwrap_or_default());
        context.title = text("title");
        for (part, message) in (1..).zip(messages) {
            let added = add(&mut context, Piece { item, part }, message);
            added.map_err(|reason| format!("its message {part}: {reason}"))?;
        }
        self.others.push(context);
        Ok(())
    }

    pub(super) fn finish(&mut self) -> Vec<PlannedContext> {
        let others = std::mem::take(&mut self.others).into_iter();
        let all = others.chain([std::mem::take(&mut self.main)]);
        all.filter(|context| !context.is_empty()).collect()
    }
}
