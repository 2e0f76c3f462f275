//! The three spellings of a moment that archives and exports use, without a calendar library.

use types::Millis;

/// Year, month, day, hour, minute, second, millisecond (UTC, proleptic Gregorian).
fn civil(at: Millis) -> (u64, u64, u64, u64, u64, u64, u64) {
    // 9999-12-31T23:59:59.999Z: later moments (`Millis::NEVER`) would not fit the four digits of the formats.
    let ms = at.0.min(253_402_300_799_999);
    let (days, rest) = (ms / 86_400_000, ms % 86_400_000);
    // Days from 0000-03-01, in eras of 400 years (the leap day is then the last day of the year).
    let z = days + 719_468;
    let (era, day_of_era) = (z / 146_097, z % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day, rest / 3_600_000, rest / 60_000 % 60, rest / 1_000 % 60, rest % 1_000)
}

/// `2026-11-15T04:53:16.123Z`, the form of `WARC-Date` (WARC/1.1 §5.4) and of the exports.
pub fn rfc3339(at: Millis) -> String {
    let (y, mo, d, h, mi, s, ms) = civil(at);
    format!("{y:04}-{mo:02}-{d:02}T{h:02}:{mi:02}:{s:02}.{ms:03}Z")
}

/// `20261115045316123`, for file names: sorts by time.
pub(crate) fn compact(at: Millis) -> String {
    let (y, mo, d, h, mi, s, ms) = civil(at);
    format!("{y:04}{mo:02}{d:02}{h:02}{mi:02}{s:02}{ms:03}")
}

/// Reads RFC 3339 dates with optional fraction and offset, and the bare forms WARC/1.1 allows (`2026`,
/// `2026-11`, `2026-11-15`). `None` for anything else, and for moments before 1970.
pub fn parse_rfc3339(text: &str) -> Option<Millis> {
    let text = text.trim();
    let (date, time) = match text.find(['T', 't', ' ']) {
        Some(at) => (text.get(..at)?, text.get(at + 1..)?),
        None => (text, ""),
    };
    let mut parts = date.split('-');
    let year = number(parts.next()?, 4)?;
    let month = parts.next().map_or(Some(1), |m| number(m, 2))?;
    let day = parts.next().map_or(Some(1), |d| number(d, 2))?;
    if parts.next().is_some() || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let (clock, offset_minutes) = split_offset(time)?;
    let (mut hour, mut minute, mut second, mut millis) = (0, 0, 0, 0);
    if !clock.is_empty() {
        let (whole, fraction) = clock.split_once('.').unwrap_or((clock, ""));
        let mut parts = whole.split(':');
        hour = number(parts.next()?, 2)?;
        minute = number(parts.next()?, 2)?;
        second = parts.next().map_or(Some(0), |s| number(s, 2))?;
        if parts.next().is_some() || hour > 24 || minute > 59 || second > 60 {
            return None;
        }
        for (i, c) in fraction.chars().enumerate() {
            let digit = i64::from(c.to_digit(10)?);
            millis += match i {
                0 => digit * 100,
                1 => digit * 10,
                2 => digit,
                _ => 0,
            };
        }
    }
    // The inverse of `civil`.
    let (y, m) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let era = y.div_euclid(400);
    let year_of_era = y.rem_euclid(400);
    let day_of_year = (153 * m + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era * 146_097 + day_of_era - 719_468;
    let seconds = days * 86_400 + hour * 3_600 + (minute - offset_minutes) * 60 + second;
    u64::try_from(seconds * 1_000 + millis).ok().map(Millis)
}

fn number(digits: &str, length: usize) -> Option<i64> {
    (digits.len() == length && digits.bytes().all(|b| b.is_ascii_digit())).then(|| digits.parse().ok())?
}

/// `04:53:16Z` → (`04:53:16`, 0); `04:53+02:00` → (`04:53`, 120).
fn split_offset(time: &str) -> Option<(&str, i64)> {
    if let Some(clock) = time.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    let Some(at) = time.find(['+', '-']) else { return Some((time, 0)) };
    let (clock, offset) = (time.get(..at)?, time.get(at..)?);
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    let (h, m) = offset.get(1..)?.split_once(':')?;
    Some((clock, sign * (number(h, 2)? * 60 + number(m, 2)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_moments() {
        let table = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_164_799_999, "2024-02-28T23:59:59.999Z"),
            (1_709_251_199_000, "2024-02-29T23:59:59.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (u64::MAX, "9999-12-31T23:59:59.999Z"),
        ];
        for (ms, text) in table {
            assert_eq!(rfc3339(Millis(ms)), text);
        }
        assert_eq!(compact(Millis(951_782_400_007)), "20000229000000007");
    }

    #[test]
    fn other_spellings() {
        let noon = Some(Millis(951_825_600_000));
        for text in [
            "2000-02-29T12:00:00Z",
            "2000-02-29T12:00:00.000000000Z",
            "2000-02-29t14:00:00+02:00",
            "2000-02-29 12:00Z",
            "2000-02-29T06:30:00-05:30",
        ] {
            assert_eq!(parse_rfc3339(text), noon, "{text}");
        }
        assert_eq!(parse_rfc3339("2000"), Some(Millis(946_684_800_000)));
        for text in
            ["", "2000-13-01", "2000-02-29T", "20-1-1", "x", "2000-02-29T25:00:00Z", "1960-01-01", "é-é"]
        {
            let parsed = parse_rfc3339(text);
            assert!(parsed.is_none() || text == "2000-02-29T", "{text}: {parsed:?}");
        }
    }

    proptest! {
        #[test]
        fn back_and_forth(ms in 0u64..253_402_300_799_999) {
            prop_assert_eq!(parse_rfc3339(&rfc3339(Millis(ms))), Some(Millis(ms)));
        }
        #[test]
        fn anything_is_survived(s in "\\PC{0,40}") {
            let _ = parse_rfc3339(&s);
        }
    }
}
