//! The errors of messages that cannot be sent, in the words of the AI SDK.

/// The reason why there is no request. Nothing was sent.
///
/// The words are those of the AI SDK, so that they can be looked up. The doc of each variant has the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// There are no messages, or the AI SDK does not know them. Send messages that the conversion made.
    #[error("Invalid prompt: {0}")]
    InvalidPrompt(&'static str),
    /// A call has no result before the next user message, or before the end. Add a result, or leave the call out.
    #[error(
        "Tool result{} missing for tool call{} {}.",
        if .0.len() > 1 { "s are" } else { " is" },
        if .0.len() > 1 { "s" } else { "" },
        .0.join(", ")
    )]
    MissingToolResults(Vec<String>),
    /// The last message answers an approval request that does not exist. Leave the answer out.
    #[error(
        "Tool approval response references unknown approvalId: \"{0}\". \
         No matching tool-approval-request found in message history."
    )]
    UnknownApproval(String),
    /// The last message answers an approval request for a call that does not exist. Leave both out.
    #[error("Tool call \"{call}\" not found for approval request \"{approval}\".")]
    ApprovalWithoutCall {
        /// The id of the call.
        call: String,
        /// The id of the approval request.
        approval: String,
    },
    /// A `data:` URL has no data. Leave the file out.
    #[error("Invalid data URL format in content {0}")]
    InvalidDataUrl(String),
    /// The data of a file should be base64 and is not. Leave the file out.
    #[error("{0}")]
    NotBase64(&'static str),
    /// A file in a tool's result has an invalid address. Leave the file out.
    #[error("Invalid URL")]
    InvalidUrl,
    /// The provider does not take this address, and [`Files`](super::Files) does not have its content. Fetch the
    /// addresses that [`addresses`](super::addresses) returns first.
    #[error("Failed to download {0}")]
    NotFetched(String),
    /// The provider's format cannot express this. Leave it out, or ask another provider.
    #[error("'{0}' functionality not supported.")]
    Unsupported(String),
    /// `providerOptions.anthropic` has invalid options. Correct or remove them.
    #[error("invalid anthropic provider options")]
    InvalidOptions,
    /// The result of one of Anthropic's own tools does not have its form. Leave the result out.
    #[error("Type validation failed: the result is not one of `{0}`.")]
    InvalidResult(String),
    /// The failure of Anthropic's code execution is the text `null`. Leave the result out.
    #[error("Cannot read properties of null (reading 'type')")]
    NullFailure,
}

impl WireError {
    /// Returns the name of the AI SDK's error.
    pub fn name(&self) -> &'static str {
        match self {
            Self::InvalidPrompt(_) => "AI_InvalidPromptError",
            Self::MissingToolResults(_) => "AI_MissingToolResultsError",
            Self::UnknownApproval(_) => "AI_InvalidToolApprovalError",
            Self::ApprovalWithoutCall { .. } => "AI_ToolCallNotFoundForApprovalError",
            Self::InvalidDataUrl(_) => "InvalidDataContentError",
            Self::NotBase64(_) => "InvalidCharacterError",
            Self::InvalidUrl | Self::NullFailure => "TypeError",
            Self::NotFetched(_) => "AI_DownloadError",
            Self::Unsupported(_) => "AI_UnsupportedFunctionalityError",
            Self::InvalidOptions => "AI_InvalidArgumentError",
            Self::InvalidResult(_) => "AI_TypeValidationError",
        }
    }
}
