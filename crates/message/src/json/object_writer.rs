//! Writes the text of an object field by field, without a value in memory.

use super::{Json, Object, write_string};

/// Writes one JSON object field by field, and closes it when dropped.
#[derive(Debug)]
pub struct ObjectWriter<'o> {
    out: &'o mut String,
    first: bool,
}

impl<'o> ObjectWriter<'o> {
    /// Opens an object at the end of a text.
    pub fn open(out: &'o mut String) -> Self {
        out.push('{');
        Self { out, first: true }
    }

    /// Writes a key, and returns the text to which its value must be appended.
    pub fn key(&mut self, key: &str) -> &mut String {
        if !std::mem::take(&mut self.first) {
            self.out.push(',');
        }
        write_string(key, self.out);
        self.out.push(':');
        self.out
    }

    /// Writes a field with a string.
    pub fn str(&mut self, key: &str, text: &str) {
        write_string(text, self.key(key));
    }

    /// Writes a field with a value.
    pub fn json(&mut self, key: &str, value: &Json) {
        value.write_to(self.key(key));
    }

    /// Opens an object in a field.
    pub fn object(&mut self, key: &str) -> ObjectWriter<'_> {
        ObjectWriter::open(self.key(key))
    }

    /// Writes a field with a value as JSON text inside a string, as `JSON.stringify` gives it.
    pub fn stringified(&mut self, key: &str, value: &Json) {
        self.str(key, &value.stringify());
    }

    /// Writes a field with a list, whose items `write` appends.
    pub fn list<T>(
        &mut self,
        key: &str,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(T, &mut String),
    ) {
        let out = self.key(key);
        out.push('[');
        for (i, item) in items.into_iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            write(item, out);
        }
        out.push(']');
    }

    /// Writes every field of an object.
    pub fn fields(&mut self, fields: &Object) {
        for (key, value) in fields.iter() {
            self.json(key, value);
        }
    }
}

impl Drop for ObjectWriter<'_> {
    fn drop(&mut self) {
        self.out.push('}');
    }
}
