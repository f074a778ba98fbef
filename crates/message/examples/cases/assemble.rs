//! The answer to one case of the example `assemble`.

use ship_message::json::{Array, Json, Object};
use ship_message::{AssembleError, Assembler, Chunk, UiMessage};

pub(crate) fn answer(case: &mut Object) -> Object {
    let last = match case.remove("initial") {
        Some(Json::Array(messages)) => messages.into_vec().pop(),
        _ => None,
    };
    let last = last.and_then(|last| UiMessage::from_json(last).ok());
    let mut assembler = Assembler::new("gen-id", last);
    let chunks = match case.remove("chunks") {
        Some(Json::Array(chunks)) => chunks,
        _ => Array::default(),
    };
    let error =
        chunks.into_vec().into_iter().try_for_each(|chunk| push(&mut assembler, chunk)).is_err();
    let message = assembler.into_message().into_json();
    Object::from([("message", message), ("error", error.into())])
}

fn push(assembler: &mut Assembler, chunk: Json) -> Result<(), AssembleError> {
    let chunk = match chunk.as_str() {
        Some("[DONE]") => return Ok(()),
        Some(data) => Chunk::parse(data)?,
        None => Chunk::from_json(chunk)?,
    };
    assembler.push(chunk)
}
