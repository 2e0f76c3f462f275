//! What of a reply is an answer. Servers that ignore the schema wrap it in prose and fences, models think
//! aloud, and some answer nonsense. Pure.

use serde_json::{Value, json};

/// What the model says of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TeacherAnswer {
    No,
    Yes,
    Unsure,
}

impl TeacherAnswer {
    pub fn label(self) -> Option<bool> {
        match self {
            TeacherAnswer::Yes => Some(true),
            TeacherAnswer::No => Some(false),
            TeacherAnswer::Unsure => None,
        }
    }

    fn parse(value: &Value) -> Option<TeacherAnswer> {
        match value {
            Value::Bool(true) => Some(TeacherAnswer::Yes),
            Value::Bool(false) => Some(TeacherAnswer::No),
            Value::String(s) => match s.trim().to_lowercase().as_str() {
                "yes" | "true" => Some(TeacherAnswer::Yes),
                "no" | "false" => Some(TeacherAnswer::No),
                "unsure" => Some(TeacherAnswer::Unsure),
                _ => None,
            },
            _ => None,
        }
    }
}

/// The shape of an answer about so many pages, for servers that keep to one.
pub fn schema(pages: usize) -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["answers"],
        "properties": { "answers": {
            "type": "array",
            "minItems": pages,
            "maxItems": pages,
            "items": {
                "type": "object",
                "additionalProperties": false,
                "required": ["page", "relevant"],
                "properties": {
                    "page": { "type": "integer", "minimum": 1, "maximum": pages },
                    "relevant": { "type": "string", "enum": ["yes", "no", "unsure"] },
                },
            },
        } },
    })
}

/// What is said of each of so many pages; `None` of those that no valid entry is about. An entry about a page
/// that was not asked about, or two that contradict each other, make nothing of the rest.
pub fn read(content: &str, pages: usize) -> Result<Vec<Option<TeacherAnswer>>, String> {
    let object = object(content, "answers")?;
    let list = object.get("answers").and_then(Value::as_array).ok_or("it has no list of answers")?;
    let mut said: Vec<Option<TeacherAnswer>> = vec![None; pages];
    let mut doubtful = Vec::new();
    for entry in list.iter().take(10 * pages.max(1)) {
        let number = match entry.get("page") {
            Some(Value::Number(n)) => n.as_u64(),
            Some(Value::String(s)) => s.trim().parse().ok(),
            _ => None,
        };
        let at = number.and_then(|n| usize::try_from(n).ok()).and_then(|n| n.checked_sub(1));
        let (Some(at), Some(now)) =
            (at.filter(|at| *at < pages), entry.get("relevant").and_then(TeacherAnswer::parse))
        else {
            continue;
        };
        match said[at] {
            Some(before) if before != now => doubtful.push(at),
            _ => said[at] = Some(now),
        }
    }
    doubtful.into_iter().for_each(|at| said[at] = None);
    if said.iter().all(Option::is_none) {
        return Err("it says nothing about the pages".into());
    }
    Ok(said)
}

/// The one JSON object with this key in a text: the whole text, what is in its fence, or what stands between
/// prose. Several that differ are as good as none: a page may have been quoted.
pub fn object(content: &str, key: &str) -> Result<Value, String> {
    // A model that thinks aloud says what it means afterwards.
    let content = content.rsplit("</think>").next().unwrap_or(content).trim();
    if let Ok(value) = serde_json::from_str::<Value>(content)
        && value.get(key).is_some()
    {
        return Ok(value);
    }
    let mut found: Vec<Value> = Vec::new();
    let mut rest = content;
    // Bounded: each brace is tried once, and there are not many in an answer of a few hundred tokens.
    for _ in 0..1_000 {
        let Some(at) = rest.find('{') else { break };
        rest = &rest[at..];
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                let end = values.byte_offset().max(1);
                if value.get(key).is_some() && !found.contains(&value) {
                    found.push(value);
                }
                rest = rest.get(end..).unwrap_or("");
            }
            _ => rest = &rest[1..],
        }
    }
    match found.len() {
        1 => found.pop().ok_or_else(|| "it is not JSON".to_string()),
        0 => Err("it is not JSON of the shape that was asked for".into()),
        _ => Err("it has several answers that differ".into()),
    }
}

/// The text of a chat completion, and the tokens it cost as far as the server says.
pub fn content(body: &[u8]) -> Result<(String, Option<u64>), String> {
    let value: Value = serde_json::from_slice(body).map_err(|_| "it is not JSON".to_string())?;
    let usage = value.get("usage");
    let number = |name: &str| usage.and_then(|u| u.get(name)).and_then(Value::as_u64);
    let both = || Some(number("prompt_tokens")?.saturating_add(number("completion_tokens").unwrap_or(0)));
    let tokens = number("total_tokens").or_else(both);
    if let Some(error) = value.get("error").filter(|e| !e.is_null()) {
        return Err(format!("it reports an error: {}", error_text(error)));
    }
    let message = value.pointer("/choices/0/message/content");
    let text = match message {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().filter_map(|p| p.get("text")?.as_str()).collect(),
        _ => return Err("it is no chat completion".into()),
    };
    Ok((text, tokens))
}

/// A server's own words, short and harmless.
pub fn error_text(error: &Value) -> String {
    let text = error.get("message").and_then(Value::as_str).or_else(|| error.as_str()).unwrap_or("no reason");
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use TeacherAnswer::{No, Unsure, Yes};

    #[test]
    fn answers_in_every_dress() {
        let plain = r#"{"answers": [{"page": 1, "relevant": "yes"}, {"page": 2, "relevant": "no"}, {"page": 3, "relevant": "unsure"}]}"#;
        let all = vec![Some(Yes), Some(No), Some(Unsure)];
        for text in [
            plain.to_string(),
            format!("```json\n{plain}\n```"),
            format!("Sure! Here it is:\n{plain}\nAnything else?"),
            format!("<think>{{\"answers\": []}} hm {{</think>\n{plain}"),
            format!("I repeat it: {plain} {plain}"),
            r#"{"answers":[{"page":"1","relevant":true},{"page":2,"relevant":"No"},{"page":3,"relevant":"UNSURE","why":"x"}]}"#.into(),
        ] {
            assert_eq!(read(&text, 3), Ok(all.clone()), "{text}");
        }
        // Of some pages only; of pages that were not asked about; twice and differently.
        assert_eq!(read(plain, 4), Ok(vec![Some(Yes), Some(No), Some(Unsure), None]));
        assert_eq!(read(plain, 1), Ok(vec![Some(Yes)]));
        let twice = r#"{"answers": [{"page": 1, "relevant": "yes"}, {"page": 1, "relevant": "no"}, {"page": 2, "relevant": "no"}]}"#;
        assert_eq!(read(twice, 2), Ok(vec![None, Some(No)]));
    }

    #[test]
    fn nonsense() {
        let huge = "{".repeat(100_000);
        let deep = "[".repeat(100_000);
        for text in [
            "",
            "yes",
            "the pages 1 and 2 are relevant",
            "<html><body>It works!</body></html>",
            r#"{"answers": [{"page": 1, "relev"#,
            r#"{"answers": []}"#,
            r#"{"answers": {"1": "yes"}}"#,
            r#"{"answers": [{"page": 0, "relevant": "yes"}, {"page": -1, "relevant": "yes"}, {"page": 99, "relevant": "yes"}]}"#,
            r#"{"answers": [{"page": 1.5, "relevant": "yes"}, {"page": 1, "relevant": "maybe"}, {"page": 1}]}"#,
            // It quoted a page, then answered.
            r#"The page says {"answers": [{"page": 1, "relevant": "yes"}]} but {"answers": [{"page": 1, "relevant": "no"}]}"#,
            huge.as_str(),
            deep.as_str(),
        ] {
            assert!(read(text, 2).is_err(), "{}", text.chars().take(80).collect::<String>());
        }
    }

    #[test]
    fn envelopes() {
        let reply = br#"{"choices": [{"message": {"role": "assistant", "content": "x"}}], "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}}"#;
        assert_eq!(content(reply), Ok(("x".into(), Some(10))));
        let parts = br#"{"choices": [{"message": {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}}]}"#;
        assert_eq!(content(parts), Ok(("ab".into(), None)));
        for bad in [
            &b"<html>"[..],
            b"",
            b"{}",
            b"null",
            br#"{"choices": []}"#,
            br#"{"choices": [{"message": {"content": null}}]}"#,
            br#"{"choices": [{"message": {"content": "x""#,
            br#"{"error": {"message": "quota"}}"#,
        ] {
            assert!(content(bad).is_err());
        }
    }
}
