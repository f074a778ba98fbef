//! The switch that a model's call asks for, when it is made and again after a crash or a pause.

use ship_context::contexts::{Switch, switch_of};
use ship_message::ToolPart;
use ship_message::json::{Json, Object, from_json};
use ship_store::ContextId;

use crate::context_operation::{ContextName, ContextOperation};
use crate::context_tool_input::{ClearContext, ForkContext, NewContext};

/// A switch that a call asks for.
pub(crate) struct SwitchRequest {
    pub(super) switch: Switch,
    pub(crate) operation: ContextOperation,
    /// The title of a copy, if the call names one.
    pub(crate) title: Option<String>,
    /// The context that an answered call has promised.
    pub(crate) promised: Option<ContextId>,
}

impl SwitchRequest {
    fn new(switch: Switch, operation: ContextOperation) -> Self {
        Self { switch, operation, title: None, promised: None }
    }

    pub(super) fn load(which: String) -> Self {
        Self::new(Switch::Load, ContextOperation::Load { which })
    }

    /// Reads the switch of an answered call from the journal; `None` if the call makes none. The output of the call
    /// names the context that it promised, and a load goes exactly there.
    pub(crate) fn of_answered_call(call: &ToolPart) -> Option<Self> {
        let nothing = Json::Object(Object::default());
        let input = call.input().unwrap_or(&nothing);
        let active = call.output().and_then(|output| output.get("active"));
        let promised = active.and_then(ContextName::from_json).map(|name| name.context);
        let request = match switch_of(call.name()?, Some(input))? {
            Switch::New => from_json::<NewContext>(input).ok()?.into(),
            Switch::Clear => ClearContext {}.into(),
            Switch::Fork => from_json::<ForkContext>(input).ok()?.into(),
            Switch::Load => {
                Self::load(promised.as_ref().map_or("last", ContextId::as_str).to_owned())
            }
        };
        Some(Self { promised, ..request })
    }
}

impl From<NewContext> for SwitchRequest {
    fn from(NewContext { title, reason }: NewContext) -> Self {
        Self::new(Switch::New, ContextOperation::New { title, reason })
    }
}

impl From<ClearContext> for SwitchRequest {
    fn from(ClearContext {}: ClearContext) -> Self {
        Self::new(Switch::Clear, ContextOperation::Clear)
    }
}

impl From<ForkContext> for SwitchRequest {
    fn from(ForkContext { name, at }: ForkContext) -> Self {
        let request = Self::new(Switch::Fork, ContextOperation::Fork { at, to: None });
        Self { title: name, ..request }
    }
}
