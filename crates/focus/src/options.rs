//! Options of judges and strategies: a table of the topic file, checked against the chosen one's own struct.

use crate::topic::nearest;
use serde::de::{self, DeserializeOwned, Deserializer, Visitor};
use types::Problem;

/// Keys of the two sections that are for all judges and strategies.
const JUDGE: &[&str] = &["kind", "threshold", "weights", "model"];
const STRATEGY: &[&str] = &["kind", "model"];

/// Reads `table` into a struct with `deny_unknown_fields`. `what` is what the user chose: "strategy `genre`".
pub(crate) fn parse<T: DeserializeOwned>(what: &str, table: &toml::Table) -> Result<T, Problem> {
    let known = fields_of::<T>();
    if let Some(key) = table.keys().find(|k| !known.contains(&k.as_str())) {
        let problem = Problem::usage(format!("{what} has no option `{key}`"));
        // What stands beside the options may be what was meant.
        let beside = if what.starts_with("judge") { JUDGE } else { STRATEGY };
        let all: Vec<&str> = known.iter().chain(beside).copied().collect();
        let hint = match nearest(key, all) {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.is_empty() => {
                format!("it has no options; beside them there are {}", beside.join(", "))
            }
            None => format!("known: {}; beside them {}", known.join(", "), beside.join(", ")),
        };
        return Err(problem.hint(hint));
    }
    table.clone().try_into().map_err(|e: toml::de::Error| {
        Problem::usage(format!("an option of {what} is not right")).because(e.message())
    })
}

/// Names of the fields of a struct, as serde knows them.
fn fields_of<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut fields: &'static [&'static str] = &[];
    let _ = T::deserialize(Probe(&mut fields));
    fields
}

/// A deserializer that only listens to which fields are asked for.
struct Probe<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = de::value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(de::Error::custom("only asked for its fields"))
    }
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        *self.0 = fields;
        self.deserialize_any(visitor)
    }
    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// For those without options of their own.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoOptions {}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize, Debug, PartialEq)]
    #[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
    struct Some {
        policy: String,
        change_at: f64,
    }
    impl Default for Some {
        fn default() -> Self {
            Some { policy: "FS-2".into(), change_at: 0.2 }
        }
    }

    fn read(text: &str) -> Result<Some, String> {
        parse("strategy `x`", &toml::from_str(text).unwrap()).map_err(|p| p.to_string())
    }

    #[test]
    fn options_are_checked() {
        assert_eq!(read("").unwrap(), Some::default());
        assert_eq!(read("change-at = 0.5").unwrap().change_at, 0.5);
        let e = read("chang-at = 0.5").unwrap_err();
        assert_eq!(e, "strategy `x` has no option `chang-at`\n\nhint: did you mean `change-at`?");
        assert!(read("policy = 3").unwrap_err().contains("because: "));
        assert!(parse::<NoOptions>("judge `y`", &toml::from_str("a = 1").unwrap()).is_err());
    }
}
