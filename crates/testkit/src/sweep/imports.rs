//! The step of a sweep that imports, and the judgement that an import is there whole or not at all.

use std::collections::BTreeMap;

use ship_message::UiMessage;
use ship_store::{
    Chat, ContextId, Head, Import, ImportPiece, Lane, LiveAfterImport, LoggedLine, Timestamp,
};

use super::{Refused, Thing, said};
use crate::chat::{everything, id, message};

/// The messages of an import: two in its first log and one, which is long, in its second.
const PARTS: [(&str, bool); 3] = [("a", false), ("b", false), ("c", true)];

/// Imports two logs with messages of this name.
pub(super) async fn import(chat: &dyn Chat, lane: &dyn Lane, name: &str) -> Result<(), Refused> {
    let view = chat.log().view().await?.ok_or("no context")?;
    if everything(chat).await?.iter().any(|message| import_of(message) == Some(name)) {
        // The first attempt was published. A rewrite of nothing confirms it.
        let known = view.messages().next().ok_or("nothing is live")?;
        lane.append(vec![known.clone().into()], view.position).await?;
        return Ok(());
    }
    let head = |number| {
        let now = Timestamp::from_millis(1_770_286_500_000);
        ImportPiece::Log(Head::new(ContextId::new(now, number)))
    };
    let line = |(part, long): (&str, bool)| {
        let id = format!("{name}-{part}");
        ImportPiece::Line(message(&id, &said(&id, long)).into())
    };
    let [a, b, c] = PARTS.map(line);
    let source = Box::new([head(70), a, b, head(71), c].into_iter().map(Ok));
    let (expected, live) = (view.position, LiveAfterImport::Kept);
    lane.import(Import { expected, live, source }).await?;
    Ok(())
}

/// The name of the import that a message came with.
fn import_of(message: &UiMessage) -> Option<&str> {
    Some(message.id()?.split_once('-')?.0)
}

/// Divides messages into those that were said and imports, which must be whole.
pub(super) fn apart(messages: Vec<UiMessage>) -> Result<(Vec<UiMessage>, Vec<Thing>), String> {
    let mut imports: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut others = Vec::new();
    for message in messages {
        match import_of(&message) {
            Some(name) => {
                imports.entry(name.to_owned()).or_default().push(super::as_said(&message)?)
            }
            None => others.push(message),
        }
    }
    let whole = |(name, found): (String, Vec<String>)| {
        let expected = PARTS.map(|(part, _)| format!("{name}-{part}"));
        match found == expected {
            true => Ok(Thing::Import(name)),
            false => Err(format!("only {found:?} of an import")),
        }
    };
    Ok((others, imports.into_iter().map(whole).collect::<Result<_, String>>()?))
}

/// Whether pages of lines have every message that the logs have, once where it was first said.
pub(super) async fn pages_have(chat: &dyn Chat, messages: &[UiMessage]) -> Result<(), String> {
    let tell = |error: ship_store::ReadError| format!("cannot read lines: {error}");
    let (mut lines, mut cursor): (Vec<LoggedLine>, _) = (Vec::new(), None);
    loop {
        let page = chat.log().lines_after(cursor, 3).await.map_err(tell)?;
        lines.extend(page.lines);
        cursor = Some(page.cursor);
        if page.is_last {
            break;
        }
    }
    if !lines.is_sorted_by(|one, next| one.line.seq < next.line.seq) {
        return Err("a line came twice".to_owned());
    }
    let mut seen = std::collections::HashSet::new();
    let said = lines.iter().filter_map(|line| line.line.message_id());
    let said: Vec<&str> = said.filter(|id| seen.insert(id.to_owned())).collect();
    match said == messages.iter().map(id).collect::<Vec<_>>() {
        true => Ok(()),
        false => Err(format!("the lines have {said:?}")),
    }
}
