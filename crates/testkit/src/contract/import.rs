//! Promises about imports: many lines become sealed logs below the live one, all or nothing.

use ship_message::json::{Json, Object};
use ship_store::{
    Checkpoint, ContextBody, ContextId, Head, Import, ImportError, ImportPiece, ImportSource,
    LiveAfterImport, LogPiece, LoggedLine, NewLine, NewMessage, Position, RefusedInput, Rotation,
    SealedName, Seq, Store, Timestamp, View,
};

use super::context_log::event;
use crate::chat::{Begun, entry, id, ids, message};

const NOON: Timestamp = Timestamp::from_millis(1_770_292_800_000);

fn head(number: u64) -> Head {
    Head { title: Some(format!("import {number}")), ..Head::new(ContextId::new(NOON, number)) }
}

/// Gives these pieces, one after the other.
pub(crate) fn source(pieces: Vec<ImportPiece>) -> ImportSource {
    Box::new(pieces.into_iter().map(Ok))
}

/// Returns logs with messages of these ids, each in a context of its own. The id is also the text.
pub(crate) fn logs(logs: &[&[&str]]) -> Vec<ImportPiece> {
    let log = |(number, ids): (u64, &&[&str])| {
        let lines = ids.iter().map(|id| ImportPiece::Line(message(id, id).into()));
        std::iter::once(ImportPiece::Log(head(number))).chain(lines).collect::<Vec<_>>()
    };
    (100..).zip(logs).flat_map(log).collect()
}

fn kept(expected: Position, pieces: Vec<ImportPiece>) -> Import {
    Import { expected, live: LiveAfterImport::Kept, source: source(pieces) }
}

async fn view(begun: &Begun) -> View {
    begun.chat.log().view().await.unwrap().unwrap()
}

async fn sealed_ids(begun: &Begun, log: &SealedName) -> Vec<String> {
    begun.chat.log().sealed_view(log).await.unwrap().messages().map(id).collect()
}

/// A chat in use: something came in, a checkpoint and a skill are known, and a log is sealed.
async fn in_use(store: &dyn Store) -> Begun {
    let mut begun = Begun::new(store, "a").await;
    begun.say("m1").await;
    let before = view(&begun).await;
    let mut head = before.head;
    head.title = Some("ours".to_owned());
    head.carry = ship_store::carry::Carry::from_object(Object::from([("anything", "kept")]));
    let (name, seq) = ("start".to_owned(), Seq::new(2));
    head.checkpoints = vec![Checkpoint { name, sealed: None, seq, message: None }];
    let expected = Some(before.position.generation);
    let pieces = vec![LogPiece::KeepFrom(Seq::FIRST)];
    begun.position = begun.lane.rotate(Rotation { expected, head, pieces }).await.unwrap().position;
    let place = begun.chat.ledger().accept(entry("k1", "x")).await.unwrap().seq;
    let came_in = NewMessage { message: message("m2", "m2"), rev: 0, inbox: Some(place) };
    let batch = vec![came_in.into(), event("e1")];
    begun.position = begun.lane.append(batch, begun.position).await.unwrap();
    begun
}

/// What a view tells apart from numbers.
fn content(view: &View) -> Vec<(u64, Option<ship_store::LedgerSeq>, ContextBody)> {
    view.lines.iter().map(|line| (line.rev, line.inbox, line.body.clone())).collect()
}

pub async fn an_import_goes_below_the_live_log_which_stays_as_it_was(store: &dyn Store) {
    let mut begun = in_use(store).await;
    let before = view(&begun).await;
    let pieces = logs(&[&["i1", "i2"], &["i3"]]);
    let imported = begun.lane.import(kept(begun.position, pieces)).await.unwrap();
    let after = view(&begun).await;
    assert_eq!((content(&after), after.inbox), (content(&before), before.inbox));
    assert_eq!((after.position, after.problems.len()), (imported.position, 0));
    assert_eq!(
        (&after.head.context, &after.head.title),
        (&before.head.context, &before.head.title)
    );
    assert_eq!(after.head.checkpoints, before.head.checkpoints);
    let carried = after.head.carry.to_object();
    assert_eq!(carried.str("anything"), Some("kept"));
    assert_eq!(after.head.carry.continues(), Some(imported.sealed.clone()));
    // The chain has the old live log and then the imported ones; numbers and generations go on.
    let chain: Vec<_> = begun.chat.log().sealed().await.unwrap();
    let names: Vec<&SealedName> = chain.iter().rev().map(|log| &log.name).collect();
    let expected = [&imported.sealed, &imported.logs[0], &imported.logs[1]];
    assert_eq!((names.len(), &names[1..]), (4, &expected[..]));
    assert_eq!(imported.logs.len(), 2);
    assert!(chain.windows(2).all(|two| two[1].last.next() == two[0].first));
    let generations: Vec<_> = chain.iter().rev().map(|log| log.head.generation.get()).collect();
    assert_eq!((generations, after.head.generation.get()), (vec![0, 1, 2, 3], 4));
    assert_eq!(sealed_ids(&begun, &imported.sealed).await, ["m1", "m2"]);
    assert_eq!(sealed_ids(&begun, &imported.logs[0]).await, ["i1", "i2"]);
    assert_eq!(
        (&chain[1].head.context, &chain[1].head.title),
        (&head(100).context, &head(100).title)
    );
    assert_eq!(chain[1].head.inbox, before.inbox);
    // And the chat goes on.
    begun.position = imported.position;
    begun.say("m3").await;
    begun.compact("s1", begun.position.seq).await;
    assert_eq!(ids(&*begun.chat).await, ["s1", "m3"]);
    assert_eq!(begun.chat.verify().await.unwrap(), []);
    assert_eq!(begun.chat.repair().await.unwrap(), []);
}

pub async fn imported_lines_come_once_between_the_old_and_the_live_ones(store: &dyn Store) {
    let begun = in_use(store).await;
    let log = begun.chat.log();
    let first = log.lines_after(None, 100).await.unwrap();
    let pieces = logs(&[&["i1", "i2"], &["i3"]]);
    let imported = begun.lane.import(kept(begun.position, pieces)).await.unwrap();
    let told = |lines: &[LoggedLine]| {
        lines.iter().map(|line| line.line.id().to_owned()).collect::<Vec<_>>()
    };
    let new = log.lines_after(Some(first.cursor), 100).await.unwrap();
    assert_eq!(told(&new.lines), ["i1", "i2", "i3", "m1", "m2", "e1"]);
    let marks: Vec<_> =
        new.lines.iter().map(|line| (line.log.clone(), line.is_published)).collect();
    assert_eq!(marks[0], (Some(imported.logs[0].clone()), false));
    assert_eq!((&marks[2], &marks[3]), (&(Some(imported.logs[1].clone()), false), &(None, true)));
    let whole = log.lines_after(None, 100).await.unwrap();
    assert_eq!(told(&whole.lines)[..first.lines.len()], told(&first.lines));
    assert_eq!(whole.lines[first.lines.len()..], new.lines);
}

pub async fn a_known_message_is_imported_only_with_the_same_content(store: &dyn Store) {
    let mut begun = in_use(store).await;
    begun.compact("s1", begun.position.seq.next()).await;
    let before = (view(&begun).await, begun.chat.log().sealed().await.unwrap());
    for (id, seq) in [("m2", true), ("s1", true), ("i1", false)] {
        let mut pieces = logs(&[&["i1", "m1"], &["i2"]]);
        pieces.push(ImportPiece::Line(message(id, "something else").into()));
        let refused = begun.lane.import(kept(begun.position, pieces)).await;
        let Err(error @ ImportError::Conflict { .. }) = refused else { panic!("{refused:?}") };
        assert!(error.to_string().contains(&format!("`{id}`")), "{error}");
        assert!(
            matches!(error, ImportError::Conflict { seq: found, .. } if found.is_some() == seq)
        );
    }
    assert_eq!((view(&begun).await, begun.chat.log().sealed().await.unwrap()), before);
    assert_eq!(begun.chat.verify().await.unwrap(), []);
    // Two branches share their beginning, and one of them is known.
    let mut same = message("m1", "m1");
    let parts = same.remove("parts").unwrap();
    let mut other_order = Object::from([("parts", parts)]);
    same.iter().for_each(|(key, value)| other_order.set(key.to_owned(), value.clone()));
    let mut pieces = logs(&[&["m2", "i1"], &["i1", "i2"]]);
    pieces.push(ImportPiece::Line(other_order.into()));
    let imported = begun.lane.import(kept(begun.position, pieces)).await.unwrap();
    assert_eq!(sealed_ids(&begun, &imported.logs[0]).await, ["m2", "i1"]);
    assert_eq!(sealed_ids(&begun, &imported.logs[1]).await, ["i1", "i2", "m1"]);
}

pub async fn an_import_that_is_refused_changes_nothing(store: &dyn Store) {
    let begun = in_use(store).await;
    let before = (view(&begun).await, begun.chat.log().sealed().await.unwrap());
    let line = |line: NewLine| ImportPiece::Line(line);
    let mut reserved = message("i3", "x");
    reserved.set("seq", Json::from(7u64));
    let twice = [logs(&[&["i1"]]), vec![line(message("i1", "i1").into())]].concat();
    let with = |piece| [logs(&[&["i1"]]), vec![piece]].concat();
    for (pieces, what) in [
        (Vec::new(), "head"),
        (vec![line(message("i1", "i1").into())], "head"),
        (with(line(reserved.into())), "seq"),
        (twice, "twice"),
    ] {
        let error = begun.lane.import(kept(begun.position, pieces)).await.unwrap_err();
        assert!(error.to_string().contains(what), "{error}");
    }
    let broken = logs(&[&["i1"], &["i2"]]).into_iter().map(Ok);
    let source = Box::new(broken.chain([Err("line 7 is broken".into())]));
    let (expected, live) = (begun.position, LiveAfterImport::Kept);
    let error = begun.lane.import(Import { expected, live, source }).await.unwrap_err();
    assert!(matches!(&error, ImportError::Source(_)) && error.to_string().contains("line 7"));
    let earlier = Position { seq: Seq::new(3), ..begun.position };
    let refused = begun.lane.import(kept(earlier, logs(&[&["i1"]]))).await;
    assert!(matches!(refused, Err(ImportError::Moved { .. })), "{refused:?}");
    let lines = vec![message("n1", "x").into(), message("n1", "x").into()];
    let live = LiveAfterImport::New { head: head(7), lines };
    let import = Import { live, ..kept(begun.position, logs(&[&["i1"]])) };
    let refused = begun.lane.import(import).await;
    assert!(matches!(refused, Err(ImportError::Refused(RefusedInput::Twice(_)))), "{refused:?}");
    assert_eq!((view(&begun).await, begun.chat.log().sealed().await.unwrap()), before);
    assert_eq!(begun.chat.verify().await.unwrap(), []);
}

pub async fn an_empty_chat_continues_with_the_end_of_an_import(store: &dyn Store) {
    let begun = Begun::new(store, "a").await;
    let long = "a long story ".repeat(4000);
    let mut pieces = logs(&[&["i1", "i2"]]);
    pieces.push(ImportPiece::Line(message("i3", &long).into()));
    let lines = vec![message("s1", "what was said").into(), message("i3", &long).into()];
    let live = LiveAfterImport::New { head: head(100), lines };
    let imported =
        begun.lane.import(Import { live, ..kept(begun.position, pieces) }).await.unwrap();
    let after = view(&begun).await;
    let texts: Vec<_> = after.messages().map(|message| message.text()).collect();
    assert_eq!(texts, ["what was said", &long]);
    assert_eq!((after.head.context, after.head.title), (head(100).context, head(100).title));
    assert_eq!(sealed_ids(&begun, &imported.logs[0]).await, ["i1", "i2", "i3"]);
    let sealed = begun.chat.log().sealed_view(&imported.logs[0]).await.unwrap();
    assert_eq!(sealed.messages().last().unwrap().text(), long);
    assert_eq!(begun.chat.verify().await.unwrap(), []);
    begun.lane.append(vec![message("m1", "x").into()], imported.position).await.unwrap();
}

/// An imported log is a sealed log like any other.
pub async fn an_imported_log_is_found_copied_and_purged(store: &dyn Store) {
    let mut begun = in_use(store).await;
    let pieces = logs(&[&["i1", "i2"], &["i3"]]);
    let imported = begun.lane.import(kept(begun.position, pieces)).await.unwrap();
    let place = begun.chat.log().find(&ship_store::MessageId::new("i2").unwrap(), None).await;
    assert_eq!(place.unwrap().unwrap().log, Some(imported.logs[0].clone()));
    let (first, last) = imported.logs[0].range();
    let log = imported.logs[0].clone();
    let pieces = vec![LogPiece::Sealed { log, first, last }];
    let expected = Some(imported.position.generation);
    let rotation = Rotation { expected, head: head(100), pieces };
    begun.position = begun.lane.rotate(rotation).await.unwrap().position;
    assert_eq!(ids(&*begun.chat).await, ["i1", "i2"]);
    begun.lane.purge(&imported.logs[0], "test").await.unwrap();
    assert_eq!(begun.chat.verify().await.unwrap(), []);
    assert_eq!(begun.chat.log().sealed().await.unwrap().len(), 5);
    // The old context comes back from the log that the import has sealed.
    let (first, last) = imported.sealed.range();
    let pieces = vec![LogPiece::Sealed { log: imported.sealed, first, last }];
    let expected = Some(begun.position.generation);
    begun.lane.rotate(Rotation { expected, head: head(1), pieces }).await.unwrap();
    assert_eq!(ids(&*begun.chat).await, ["m1", "m2"]);
}
