//! The form of a row in the catalogue, and the macro that makes everything from the rows.

use ship_message::json::Json;

use super::{GROUPS, Settings};

/// A group of keys that belong together.
pub(crate) struct SettingGroup {
    /// The topic of the group.
    pub(crate) about: &'static str,
    /// The keys, in the order in which they are shown.
    pub(crate) keys: &'static [SettingKey],
}

/// One key of `ship.json`.
pub(crate) struct SettingKey {
    /// The full name, such as `llm.maxTokens`.
    pub(crate) name: &'static str,
    /// Whether any part of the program obeys the setting.
    pub(crate) has_effect: bool,
    /// The purpose, in a sentence or two.
    pub(crate) about: &'static str,
    /// A description of valid values, as a phrase after "must be".
    pub(crate) expected: fn() -> String,
    /// The words among the valid values.
    pub(crate) words: &'static [&'static str],
    /// Whether a wrong value may be a secret, so that no error shows it.
    pub(crate) hidden: bool,
    /// Sets the value. Returns false if the value is invalid.
    pub(crate) put: fn(&mut Settings, &Json) -> bool,
    /// Returns the value in a form that may be shown.
    pub(crate) show: fn(&Settings) -> Json,
    /// Returns the secrets in the value.
    pub(crate) secrets: fn(&Settings) -> Vec<String>,
}

/// Returns all keys in the order in which they are shown.
pub(crate) fn keys() -> impl Iterator<Item = &'static SettingKey> {
    GROUPS.iter().flat_map(|group| group.keys)
}

/// Finds a key by its full name.
pub(crate) fn key(name: &str) -> Option<&'static SettingKey> {
    keys().find(|key| key.name == name)
}

/// Whether there are keys below `name`.
pub(crate) fn is_group(name: &str) -> bool {
    keys().any(|key| key.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
}

/// The groups and keys that belong to one project: a user-wide port, bot or folder of skills would be shared by all.
const PROJECT_ONLY: [&str; 4] = ["adapters", "skills", "start", "store"];

/// Whether a key has no place in the user-wide file.
pub(crate) fn is_project_only(name: &str) -> bool {
    PROJECT_ONLY.contains(&name.split('.').next().unwrap_or(name))
}

/// Makes a struct with defaults for each group, and the catalogue of all groups.
///
/// A group is `Type at (place.in.settings) { rows }`, a row is `"full.name" pub field: Type = default, bounds;`
/// with its purpose as documentation. Without `pub`, the setting has no effect.
macro_rules! settings {
    ($(
        $(#[doc = $group_about:literal])+
        $group:ident at $place:tt {
            $(
                $(#[doc = $about:literal])+
                $name:literal $vis:vis $field:ident: $type:ty = $default:expr $(, $bounds:expr)?;
            )+
        }
    )+) => {
        $(
            $(#[doc = $group_about])+
            #[derive(Debug, Clone, PartialEq)]
            pub struct $group {
                $(
                    #[doc = concat!("`", $name, "`:")]
                    $(#[doc = $about])+
                    $vis $field: $type,
                )+
            }

            impl Default for $group {
                fn default() -> Self {
                    Self { $($field: $default,)+ }
                }
            }
        )+

        /// The catalogue of all settings, group by group.
        pub(crate) const GROUPS: &[$crate::settings::SettingGroup] = &[$(
            $crate::settings::SettingGroup {
                about: concat!($($group_about),+),
                keys: &[$(
                    $crate::settings::SettingKey {
                        name: $name,
                        has_effect: !stringify!($vis).is_empty(),
                        about: concat!($($about),+),
                        expected: || {
                            <$type as $crate::settings::value::SettingValue>::expected(
                                &$crate::settings::key::bounds!($($bounds)?),
                            )
                        },
                        words: <$type as $crate::settings::value::SettingValue>::WORDS,
                        hidden: <$type as $crate::settings::value::SettingValue>::HIDDEN,
                        put: |settings, json| {
                            let bounds = $crate::settings::key::bounds!($($bounds)?);
                            let value = $crate::settings::value::SettingValue::read(json, &bounds);
                            let Some(value) = value else { return false };
                            $crate::settings::key::at!(settings, $place, $field) = value;
                            true
                        },
                        show: |settings| {
                            let value = &$crate::settings::key::at!(settings, $place, $field);
                            $crate::settings::value::SettingValue::show(value)
                        },
                        secrets: |settings| {
                            let value = &$crate::settings::key::at!(settings, $place, $field);
                            $crate::settings::value::SettingValue::secrets(value)
                        },
                    },
                )+],
            },
        )+];
    };
}

/// Names a field of the settings by the place of its group.
macro_rules! at {
    ($settings:ident, ($($place:ident).+), $field:ident) => { $settings.$($place).+.$field };
}

/// Gives the bounds of a number; by default, every whole number that a double holds exactly.
macro_rules! bounds {
    () => {
        0..=9_007_199_254_740_992
    };
    ($bounds:expr) => {
        $bounds
    };
}

pub(super) use {at, bounds, settings};
