//! The wordings themselves, by provider.

use super::{Place, Wording};

/// Every way of saying that a request does not fit.
pub const WORDINGS: &[Wording] = &[
    Wording {
        name: "openai",
        place: Place::Body(400),
        body: r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
    },
    Wording {
        name: "openai-completion",
        place: Place::Body(400),
        body: r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, you requested 8292 tokens (158 in the messages, 8134 in the completion). Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
    },
    Wording {
        name: "openai-functions",
        place: Place::Body(400),
        body: r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, you requested 9300 tokens (7158 in the messages, 142 in the functions, and 2000 in the completion). Please reduce the length of the messages, functions, or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
    },
    Wording {
        name: "openai-gpt-5",
        place: Place::Body(400),
        body: r#"{"error":{"message":"Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 280001 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
    },
    Wording {
        name: "openai-responses",
        place: Place::Event,
        body: r#"{"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"Your input exceeds the context window of this model. Please adjust your input and try again.","param":"input"}}"#,
    },
    Wording {
        name: "openai-legacy",
        place: Place::Body(400),
        body: r#"{"error":{"message":"This model's maximum context length is 4097 tokens, however you requested 4569 tokens (3545 in your prompt; 1024 for the completion). Please reduce your prompt; or completion length.","type":"invalid_request_error","param":null,"code":null}}"#,
    },
    Wording {
        name: "azure",
        place: Place::Body(400),
        body: r#"{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 130012 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
    },
    Wording {
        name: "anthropic",
        place: Place::Body(400),
        body: r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 200251 tokens > 200000 maximum"},"request_id":"req_x"}"#,
    },
    Wording {
        name: "anthropic-max-tokens",
        place: Place::Body(400),
        body: r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease input length or `max_tokens` and try again"},"request_id":"req_x"}"#,
    },
    Wording {
        name: "anthropic-bytes",
        place: Place::Body(413),
        body: r#"{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
    },
    Wording {
        name: "anthropic-window-413",
        place: Place::Body(413),
        body: r#"{"type":"error","error":{"type":"invalid_request_error","message":"Request size exceeds model context window"},"request_id":"req_x"}"#,
    },
    Wording { name: "anthropic-stop-reason", place: Place::Stop, body: "" },
    Wording {
        name: "gemini",
        place: Place::Body(400),
        body: r#"{"error":{"code":400,"message":"The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#,
    },
    Wording {
        name: "gemini-no-number",
        place: Place::Body(400),
        body: r#"{"error":{"code":400,"message":"The input token count exceeds the maximum number of tokens allowed 1048576.","status":"INVALID_ARGUMENT"}}"#,
    },
    Wording {
        name: "gemini-array",
        place: Place::Body(400),
        body: r#"[{"error":{"code":400,"message":"The input token count (134123) exceeds the maximum number of tokens allowed (131072).","errors":[{"message":"The input token count (134123) exceeds the maximum number of tokens allowed (131072).","domain":"global","reason":"badRequest"}],"status":"INVALID_ARGUMENT"}}]"#,
    },
    Wording {
        name: "groq",
        place: Place::Body(400),
        body: r#"{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
    },
    Wording {
        name: "groq-no-code",
        place: Place::Body(400),
        body: r#"{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error"}}"#,
    },
    Wording {
        name: "deepseek",
        place: Place::Body(400),
        body: r#"{"error":{"message":"This model's maximum context length is 131072 tokens. However, you requested 131749 tokens (131749 in the messages, 0 in the completion). Please reduce the length of the messages or completion.","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}"#,
    },
    Wording {
        name: "openrouter",
        place: Place::Body(400),
        body: r#"{"error":{"message":"This endpoint's maximum context length is 131072 tokens. However, you requested about 135349 tokens (60662 of text input, 10687 of tool input, 64000 in the output). Please reduce the length of either one, or use the \"middle-out\" transform to compress your prompt automatically.","code":400}}"#,
    },
    Wording {
        name: "openrouter-2026",
        place: Place::Body(400),
        body: r#"{"error":{"message":"This endpoint’s maximum context length is 131072 tokens. However, you requested about 135349 tokens (60662 of text input, 10687 of tool input, 64000 in the output). Please reduce the length of either one, or use the context-compression plugin to compress your prompt automatically.","code":400}}"#,
    },
    Wording {
        name: "openrouter-raw",
        place: Place::Body(400),
        body: r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"type\": \"error\", \"error\": {\"type\": \"invalid_request_error\", \"message\": \"prompt is too long: 200251 tokens > 200000 maximum\"}, \"request_id\": \"req_x\"}","provider_name":"Anthropic"}}}"#,
    },
    Wording {
        name: "openrouter-poolside",
        place: Place::Body(400),
        body: r#"{"error":{"message":"Input length 131393 exceeds the maximum allowed input length of 131040 tokens.","code":400}}"#,
    },
    Wording {
        name: "bedrock",
        place: Place::Amazon(400, "ValidationException"),
        body: r#"{"message":"Input is too long for requested model."}"#,
    },
    Wording {
        name: "bedrock-converse",
        place: Place::Amazon(400, "ValidationException"),
        body: r#"{"message":"The model returned the following errors: Input is too long for requested model."}"#,
    },
    Wording {
        name: "bedrock-converse-prompt",
        place: Place::Amazon(400, "ValidationException"),
        body: r#"{"message":"The model returned the following errors: prompt is too long: 200251 tokens > 200000 maximum"}"#,
    },
    Wording {
        name: "llama-cpp",
        place: Place::Body(400),
        body: r#"{"error":{"code":400,"message":"request (9001 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9001,"n_ctx":4096}}"#,
    },
    Wording {
        name: "llama-cpp-older",
        place: Place::Body(400),
        body: r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"invalid_request_error"}}"#,
    },
    Wording {
        name: "llama-cpp-decode",
        place: Place::Body(500),
        body: r#"{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}"#,
    },
    Wording {
        name: "llama-cpp-decode-event",
        place: Place::Event,
        body: r#"{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}"#,
    },
    Wording {
        name: "vllm",
        place: Place::Body(400),
        body: r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, you requested 1024 output tokens and your prompt contains at least 7169 input tokens, for a total of at least 8193 tokens. Please reduce the length of the input prompt or the number of requested output tokens.","type":"BadRequestError","param":"input_tokens","code":400}}"#,
    },
    Wording {
        name: "vllm-decoder",
        place: Place::Body(400),
        body: r#"{"object":"error","message":"The decoder prompt (length 10127) is longer than the maximum model length of 8192. Make sure that `max_model_len` is no smaller than the number of text tokens plus multimodal tokens.","type":"BadRequestError","param":null,"code":400}"#,
    },
    Wording {
        name: "vllm-input-length",
        place: Place::Body(400),
        body: r#"{"error":{"message":"Input length (10127) exceeds model's maximum context length (8192).","type":"BadRequestError","param":"input_text","code":400}}"#,
    },
    Wording {
        name: "vllm-responses",
        place: Place::Body(400),
        body: r#"{"error":{"message":"The engine prompt length 40960 exceeds the max_model_len 40960. Please reduce prompt.","type":"invalid_request_error","param":"input","code":400}}"#,
    },
    Wording {
        name: "sglang",
        place: Place::Body(400),
        body: r#"{"object":"error","message":"The input (61709 tokens) is longer than the model's context length (40960 tokens).","type":"BadRequestError","param":null,"code":400}"#,
    },
    Wording {
        name: "together",
        place: Place::Body(400),
        body: r#"{"error":{"message":"The input (61709 tokens) is longer than the model's context length (40960 tokens).","type":"BadRequestError","param":null,"code":null}}"#,
    },
    Wording { name: "ollama-silent", place: Place::Nowhere, body: "" },
    Wording {
        name: "ollama",
        place: Place::Body(400),
        body: r#"{"error":{"message":"the prompt is longer than the context length currently available to the model; shorten the prompt, or increase the context length","type":"invalid_request_error","param":null,"code":null}}"#,
    },
    Wording {
        name: "ollama-cloud",
        place: Place::Body(400),
        body: r#"{"error":{"message":"prompt too long; exceeded max context length by 1204 tokens","type":"invalid_request_error","param":null,"code":null}}"#,
    },
    Wording {
        name: "lm-studio",
        place: Place::Body(400),
        body: r#"{"error":"The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter input."}"#,
    },
    Wording {
        name: "lm-studio-event",
        place: Place::Event,
        body: r#"{"error":"Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input"}"#,
    },
    Wording {
        name: "lm-studio-truncate",
        place: Place::Body(400),
        body: r#"{"error":"Cannot truncate prompt with n_keep (13055) >= n_ctx (4096)"}"#,
    },
    Wording {
        name: "xai",
        place: Place::Body(400),
        body: r#"{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 136973 tokens."}"#,
    },
    Wording {
        name: "mistral",
        place: Place::Body(400),
        body: r#"{"object":"error","message":"Prompt contains 40001 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_prompt","param":null,"code":"3051"}"#,
    },
    Wording {
        name: "cerebras",
        place: Place::Body(400),
        body: r#"{"message":"Please reduce the length of the messages or completion. Current length is 9001 while limit is 8192","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}"#,
    },
    Wording { name: "cerebras-empty-400", place: Place::Body(400), body: "" },
    Wording { name: "cerebras-empty-413", place: Place::Body(413), body: "" },
    Wording {
        name: "copilot",
        place: Place::Body(400),
        body: r#"{"error":{"message":"prompt token count of 138898 exceeds the limit of 64000","code":"model_max_prompt_tokens_exceeded"}}"#,
    },
    Wording {
        name: "copilot-no-code",
        place: Place::Body(400),
        body: r#"{"error":{"message":"prompt token count of 138898 exceeds the limit of 64000","code":""}}"#,
    },
    Wording {
        name: "moonshot",
        place: Place::Body(400),
        body: r#"{"error":{"message":"Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)","type":"invalid_request_error"}}"#,
    },
    Wording {
        name: "dashscope",
        place: Place::Body(400),
        body: r#"{"error":{"code":"invalid_parameter_error","param":null,"message":"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]","type":"invalid_request_error"}}"#,
    },
    Wording {
        name: "minimax",
        place: Place::Body(400),
        body: r#"{"error":{"message":"invalid params, context window exceeds limit (2013)","type":"bad_request_error"}}"#,
    },
    Wording { name: "zai-stop-reason", place: Place::Stop, body: "" },
    Wording { name: "mimo-truncated", place: Place::EmptyLength, body: "" },
    Wording {
        name: "fireworks",
        place: Place::Body(400),
        body: r#"{"error":{"object":"error","type":"invalid_request_error","message":"The prompt is too long: 140012, model maximum context length: 131072"}}"#,
    },
    Wording {
        name: "tgi",
        place: Place::Body(422),
        body: r#"{"error":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4001 `inputs` tokens and 512 `max_new_tokens`","error_type":"validation"}"#,
    },
    Wording {
        name: "tgi-inputs",
        place: Place::Body(422),
        body: r#"{"error":"Input validation error: `inputs` must have less than 4096 tokens. Given: 5001","error_type":"validation"}"#,
    },
    Wording {
        name: "litellm",
        place: Place::Body(400),
        body: r#"{"error":{"message":"litellm.ContextWindowExceededError: litellm.BadRequestError: AnthropicException - prompt is too long: 250000 tokens > 200000 maximum","type":null,"param":null,"code":"400"}}"#,
    },
    Wording {
        name: "litellm-requested",
        place: Place::Body(400),
        body: r#"{"error":{"message":"Requested token count exceeds the model's maximum context length of 131072 tokens.","type":null,"param":null,"code":"400"}}"#,
    },
];

/// What sounds alike and means something else: a limit per minute, or on the length of the answer.
pub const LOOK_ALIKES: &[Wording] = &[
    Wording {
        name: "groq-tpm",
        place: Place::Body(413),
        body: r#"{"error":{"message":"Request too large for model `llama-test` in organization `org_x` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 9001, please reduce your message size and try again.","type":"tokens","code":"rate_limit_exceeded"}}"#,
    },
    Wording {
        name: "openai-tpm",
        place: Place::Body(429),
        body: r#"{"error":{"message":"Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 342389. The input or output tokens must be reduced in order to run successfully.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}"#,
    },
    Wording {
        name: "anthropic-rate",
        place: Place::Body(429),
        body: r#"{"type":"error","error":{"type":"rate_limit_error","message":"Number of request tokens has exceeded your per-minute rate limit."},"request_id":"req_x"}"#,
    },
    Wording {
        name: "bedrock-throttle",
        place: Place::Amazon(429, "ThrottlingException"),
        body: r#"{"message":"Too many tokens, please wait before trying again."}"#,
    },
    Wording {
        name: "bedrock-max-output",
        place: Place::Amazon(400, "ValidationException"),
        body: r#"{"message":"The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens value that is lower than 4096."}"#,
    },
    Wording {
        name: "xai-team-rate",
        place: Place::Body(429),
        body: r#"{"code":"Some resource has been exhausted","error":"Too many tokens for team e9fe and model grok-4-0709. Your team's rate limit is — Tokens per Minute (actual/limit): 65605/16000."}"#,
    },
];
