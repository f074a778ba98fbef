//! Handles files that are given by their address: lists those that must be fetched, and keeps their content.
//!
//! A provider takes some addresses as they are. The content of the others must be in the request, so it is fetched
//! before. This module lists them, and keeps their content until the request is written.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use ship_message::json::Json;
use ship_message::{ModelMessage, ModelPart, ModelRole, ToolOutput};

use super::super::Format;
use super::super::error::WireError;
use super::super::file_content::{self, FileContent};
use super::super::json_text::text_of;
use super::{approvals, check};

/// The fetched files, by address.
#[derive(Clone, Debug, Default)]
pub struct Files {
    found: HashMap<String, FetchedFile>,
    left_to_provider: bool,
}

#[derive(Clone, Debug)]
pub(in crate::wire) struct FetchedFile {
    pub(in crate::wire) bytes: Vec<u8>,
    pub(in crate::wire) media_type: Option<String>,
}

impl Files {
    /// Fetches nothing here: the provider gets every address as it is.
    pub fn left_to_provider() -> Self {
        Self { left_to_provider: true, ..Self::default() }
    }

    /// Adds the file at an address that [`addresses`] returned.
    pub fn add(&mut self, address: String, bytes: Vec<u8>, media_type: Option<String>) {
        self.found.insert(address, FetchedFile { bytes, media_type });
    }
}

/// Returns the addresses whose files must be in the request, because the provider would not fetch them.
///
/// # Errors
/// Fails if the messages are not messages, or a file in them has neither data nor an address.
pub fn addresses(messages: &[ModelMessage<'_>], format: Format) -> Result<Vec<String>, WireError> {
    check::messages(messages)?;
    // Nothing is fetched for messages that would be refused for another reason.
    approvals::denied(messages)?;
    let mut seen = HashSet::new();
    let mut addresses = find_addresses(messages, format)?;
    addresses.retain(|address| seen.insert(address.clone()));
    Ok(addresses)
}

/// The files that are sent in the place of their addresses.
pub(in crate::wire) struct FetchedFiles<'a>(HashMap<String, &'a FetchedFile>);

impl<'a> FetchedFiles<'a> {
    /// Finds the fetched files of the messages.
    pub(in crate::wire) fn new(
        messages: &[ModelMessage<'_>],
        format: Format,
        files: &'a Files,
    ) -> Result<Self, WireError> {
        let mut found = HashMap::new();
        if files.left_to_provider {
            return Ok(Self(found));
        }
        for address in find_addresses(messages, format)? {
            match files.found.get(&address) {
                Some(file) => found.insert(address, file),
                None => return Err(WireError::NotFetched(address)),
            };
        }
        Ok(Self(found))
    }

    pub(in crate::wire) fn get(&self, address: &str) -> Option<&'a FetchedFile> {
        self.0.get(address).copied()
    }
}

/// A file that a message gives as a string, with its media type if it is known.
struct GivenFile<'m> {
    data: Cow<'m, str>,
    media_type: Option<Cow<'m, str>>,
}

fn find_addresses(messages: &[ModelMessage<'_>], format: Format) -> Result<Vec<String>, WireError> {
    let mut given = Vec::new();
    for message in messages {
        for part in message.parts() {
            match (part, message.role) {
                (ModelPart::Image(part), ModelRole::User) => given.push(GivenFile {
                    data: part.image().and_then(text_of).unwrap_or_default(),
                    media_type: part.media_type().map_or(Some("image/*".into()), text_of),
                }),
                (ModelPart::File(part), ModelRole::User) => given.push(GivenFile {
                    data: part.data().and_then(text_of).unwrap_or_default(),
                    media_type: part.media_type().and_then(text_of),
                }),
                (ModelPart::ToolResult(part), _) => {
                    if let Some(ToolOutput::Other(output)) = part.output() {
                        for item in output.get("value").and_then(Json::as_array).unwrap_or_default()
                        {
                            given.extend(file_in_result(item)?);
                        }
                    }
                }
                _ => {}
            }
        }
    }
    let mut addresses = Vec::new();
    for file in given {
        if let (FileContent::Url(address), _) = file_content::read(&file.data)?
            && !is_taken(&address, file.media_type.as_deref(), format)
        {
            addresses.push(address);
        }
    }
    Ok(addresses)
}

/// Returns the file that an item of a tool's result gives by its address.
fn file_in_result(item: &Json) -> Result<Option<GivenFile<'_>>, WireError> {
    let text = |key: &str| item.get(key).and_then(Json::as_str);
    let media_type = match text("type") {
        Some("image-url") => Some("image/*"),
        Some("file-url") => text("mediaType"),
        _ => return Ok(None),
    };
    let address = file_content::parse_address(text("url").unwrap_or_default())
        .ok_or(WireError::InvalidUrl)?;
    Ok(Some(GivenFile { data: address.into(), media_type: media_type.map(Cow::Borrowed) }))
}

/// Whether the provider takes an address as it is.
fn is_taken(address: &str, media_type: Option<&str>, format: Format) -> bool {
    let Some(media_type) = media_type else { return false };
    let media_type = media_type.to_lowercase();
    let web = address.starts_with("https://") || address.starts_with("http://");
    match format {
        Format::OpenAi => false,
        Format::Anthropic => {
            web && (media_type.starts_with("image/") || media_type == "application/pdf")
        }
    }
}
