//! Durations and sizes with units, as people write them: `500ms`, `2h`, `5MB`.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A duration such as `500ms`, `1.5s`, `2m`, `3h`, `1d`. A bare number would be a guess, so it is an error
/// (except 0).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

/// A number of bytes such as `100KB`, `5MB`, `1GiB`; a bare number is bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    Some((number, text[end..].trim()))
}

impl FromStr for Span {
    type Err = String;
    fn from_str(text: &str) -> Result<Span, String> {
        let bad =
            || format!("`{text}` is not a duration; write it with a unit, as in 500ms, 2s, 10m, 2h or 1d");
        let (number, unit) = split(text).ok_or_else(bad)?;
        let ms = match unit {
            "ms" => 1.0,
            "s" | "sec" => 1e3,
            "m" | "min" => 60e3,
            "h" => 3600e3,
            "d" => 86400e3,
            "" if number == 0.0 => 1.0,
            _ => return Err(bad()),
        };
        let total = number * ms;
        if !(0.0..=3.2e12).contains(&total) {
            return Err(format!("`{text}` is too long a duration (at most 100 years)"));
        }
        Ok(Span(Duration::from_micros((total * 1e3) as u64)))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.as_millis();
        let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s")];
        match units.iter().find(|(size, _)| ms > 0 && ms.is_multiple_of(*size)) {
            Some((size, unit)) => write!(f, "{}{unit}", ms / size),
            None => write!(f, "{ms}ms"),
        }
    }
}

impl FromStr for Size {
    type Err = String;
    fn from_str(text: &str) -> Result<Size, String> {
        let bad = || format!("`{text}` is not a size; write it as in 100KB, 5MB or 1GiB");
        let (number, unit) = split(text).ok_or_else(bad)?;
        let factor = match unit.to_ascii_lowercase().as_str() {
            "" | "b" => 1.0,
            "k" | "kb" => 1e3,
            "kib" => 1024.0,
            "m" | "mb" => 1e6,
            "mib" => 1048576.0,
            "g" | "gb" => 1e9,
            "gib" => 1073741824.0,
            _ => return Err(bad()),
        };
        let total = number * factor;
        if !(0.0..=1e15).contains(&total) {
            return Err(format!("`{text}` is too large a size"));
        }
        Ok(Size(total as u64))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [
            (1 << 30, "GiB"),
            (1_000_000_000, "GB"),
            (1 << 20, "MiB"),
            (1_000_000, "MB"),
            (1024, "KiB"),
            (1000, "KB"),
        ];
        match units.iter().find(|(size, _)| self.0 > 0 && self.0.is_multiple_of(*size)) {
            Some((size, unit)) => write!(f, "{}{unit}", self.0 / size),
            None => write!(f, "{}B", self.0),
        }
    }
}

macro_rules! as_text {
    ($t:ty, $what:literal) => {
        impl Serialize for $t {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $t {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<$t, D::Error> {
                struct V;
                impl de::Visitor<'_> for V {
                    type Value = $t;
                    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                        f.write_str($what)
                    }
                    fn visit_str<E: de::Error>(self, s: &str) -> Result<$t, E> {
                        s.parse().map_err(E::custom)
                    }
                    fn visit_i64<E: de::Error>(self, n: i64) -> Result<$t, E> {
                        n.to_string().parse().map_err(E::custom)
                    }
                }
                d.deserialize_any(V)
            }
        }
    };
}
as_text!(Span, "a duration with a unit, as in \"500ms\" or \"2h\"");
as_text!(Size, "a size, as in \"5MB\"");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        let ms = |s: &str| s.parse::<Span>().map(|d| d.0.as_millis());
        assert_eq!(ms("500ms"), Ok(500));
        assert_eq!(ms("1.5s"), Ok(1500));
        assert_eq!(ms("2h"), Ok(7_200_000));
        assert_eq!(ms("0"), Ok(0));
        assert!(ms("5").unwrap_err().contains("unit"));
        assert!(ms("-5s").is_err());
        assert!(ms("fast").is_err());
        assert!(ms("999999999999d").is_err());
        for text in ["500ms", "2s", "90m", "2h", "1d"] {
            assert_eq!(text.parse::<Span>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn sizes() {
        assert_eq!("5MB".parse(), Ok(Size(5_000_000)));
        assert_eq!("1GiB".parse(), Ok(Size(1 << 30)));
        assert_eq!("123".parse(), Ok(Size(123)));
        assert!("5 parsecs".parse::<Size>().is_err());
        assert_eq!(Size(1 << 20).to_string(), "1MiB");
    }
}
