//! Delivers the texts of `chat_send` to the chat, up to the limit of a run, and none twice by accident.

use ship_message::json::{Json, Object};

use crate::engine::ActiveRun;
use crate::events::RunEvent;
use crate::outbound::{DeliveredCall, DeliveredCalls, Outbound};

/// Delivers the text of a call, unless it was delivered before, and answers the call.
pub(crate) async fn deliver_call(
    work: &ActiveRun,
    before: &mut DeliveredCalls,
    call_id: String,
    sending: Outbound,
) -> Result<Json, String> {
    let rules = &work.locked.engine.rules;
    if before.count() >= rules.chat_sends_max as u64 {
        return Err(format!(
            "chat_send may be called {} times in one run, and was. Finish your answer instead.",
            rules.chat_sends_max
        ));
    }
    let said_before = before.calls.iter().any(|delivered| match rules.chat_send_once {
        true => delivered.sending == sending,
        false => delivered.call_id == call_id,
    });
    if !said_before {
        // The key is derived from the content or the call, so a call that is repeated after a crash sends nothing.
        let what = match rules.chat_send_once {
            true => sending.digest(),
            false => call_id.clone(),
        };
        let key = format!("send:{}:{what}", work.request_id);
        let recorded = work.record_outgoing(key, &sending.text, Some(sending.meta())).await;
        if recorded.map_err(|error| error.to_string())? {
            work.notify(RunEvent::Sent(sending.text_with_attachments()));
        }
    }
    before.calls.push(DeliveredCall { call_id, sending });
    // The answer is the same for a delivery now and one before: a call that is repeated after a crash must look
    // to the model like one that was made once.
    Ok(Json::Object(Object::from([("delivered", true)])))
}
