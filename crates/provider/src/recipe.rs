//! The recipe of a body: everything that decides its bytes besides the content.
//!
//! A [`Recipe`] and a [`Request`] give the same bytes again, even if the settings have changed. So a request can be
//! recorded by its recipe and explained later.

use ship_message::json::{Json, Object};

use crate::wire::{Format, MaxTokensField, Parameters};
use crate::{CompileTarget, HostForm, HostForms, ProviderError, Request, SendFiles, compile};

/// Everything that decides the bytes of a body besides the [`Request`].
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    /// The format of the provider; none for a model that needs none.
    pub format: Option<Format>,
    /// The name of the provider.
    pub provider: String,
    /// The name of the model.
    pub model: String,
    /// Whether images and other files are sent.
    pub files: SendFiles,
    /// The name of the field that limits the answer.
    pub max_tokens_field: MaxTokensField,
    /// The forms that the host wants besides.
    pub forms: HostForms,
    /// The randomness of the answer.
    pub temperature: Option<f64>,
    /// Whether the places are marked where a cache may end.
    pub cache_marks: bool,
}

impl Recipe {
    /// Makes the recipe of a model that needs no format.
    pub fn plain(provider: &str, model: &str) -> Self {
        Self {
            format: None,
            provider: provider.to_owned(),
            model: model.to_owned(),
            files: SendFiles::Yes,
            max_tokens_field: MaxTokensField::MaxTokens,
            forms: HostForms::default(),
            temperature: None,
            cache_marks: false,
        }
    }

    /// Writes the body of a request.
    ///
    /// # Errors
    /// Fails if the format cannot express something in the request.
    pub fn body(&self, request: &Request<'_>) -> Result<String, ProviderError> {
        let Some(format) = self.format else { return Ok(request.plain_body()) };
        let target = CompileTarget {
            format,
            provider: &self.provider,
            files: self.files,
            forms: self.forms,
            parameters: Parameters {
                model: &self.model,
                max_tokens: Some(request.max_tokens),
                max_tokens_field: self.max_tokens_field,
                temperature: self.temperature,
                stream: true,
                stream_usage: !self.forms.has(HostForm::NoStreamOptions),
                cache_marks: self.cache_marks,
            },
        };
        compile(request, &target).map_err(|error| ProviderError::Failed {
            provider: self.provider.clone(),
            reason: error.to_string(),
        })
    }

    /// Returns the recipe in the form of a record.
    pub fn to_object(&self) -> Object {
        let mut object = Object::from([
            ("format", Json::from(self.format.map_or(PLAIN, Format::name))),
            ("provider", self.provider.as_str().into()),
            ("model", self.model.as_str().into()),
            ("maxTokensField", self.max_tokens_field.name().into()),
            ("files", (self.files == SendFiles::Yes).into()),
            ("cacheMarks", self.cache_marks.into()),
        ]);
        object.set_or_remove("temperature", self.temperature.map(Json::from));
        if self.forms != HostForms::default() {
            object.set("forms", self.forms.names().map(Json::from).collect::<Vec<_>>());
        }
        object
    }

    /// Reads a recipe from a record; `None` if it is not one of ours.
    pub fn from_object(object: &Object) -> Option<Self> {
        let is = |key: &str| object.get(key).and_then(Json::as_bool);
        Some(Self {
            format: match object.str("format")? {
                PLAIN => None,
                name => Some(Format::named(name)?),
            },
            provider: object.str("provider")?.to_owned(),
            model: object.str("model")?.to_owned(),
            files: if is("files")? { SendFiles::Yes } else { SendFiles::No },
            max_tokens_field: MaxTokensField::named(object.str("maxTokensField")?)?,
            forms: object
                .get("forms")
                .and_then(Json::as_array)
                .map(|forms| HostForms::named(forms.iter().filter_map(Json::as_str)))
                .unwrap_or_default(),
            temperature: object.get("temperature").and_then(Json::as_number),
            cache_marks: is("cacheMarks")?,
        })
    }
}

const PLAIN: &str = "plain";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recipe_survives_being_written_down() {
        let plain = Recipe::plain("offline", "offline");
        let other = Recipe {
            format: Some(Format::Anthropic),
            files: SendFiles::No,
            max_tokens_field: MaxTokensField::MaxCompletionTokens,
            forms: HostForms::default().with(HostForm::NoTools),
            temperature: Some(0.1 + 0.2),
            cache_marks: true,
            ..Recipe::plain("anthropic", "m")
        };
        for recipe in [plain, other] {
            let written = Json::from(recipe.to_object()).to_string();
            let Ok(Json::Object(read)) = Json::parse(&written) else { panic!("{written}") };
            assert_eq!(Recipe::from_object(&read), Some(recipe));
        }
        assert_eq!(Recipe::from_object(&Object::from([("format", "telepathy")])), None);
    }
}
