//! The shapes of what is sent and answered, for the OpenAPI document. Closed: a field that is not here is an
//! error of the tests that compare answers with them.

use serde_json::{Map, Value, json};

/// An object with these fields, all of them there unless the name ends in `?`, and no others.
fn object(fields: &[(&str, Value)]) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, schema) in fields {
        let bare = name.trim_end_matches('?');
        if bare == *name {
            required.push(json!(bare));
        }
        properties.insert(bare.to_string(), schema.clone());
    }
    let mut out = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        out["required"] = Value::Array(required);
    }
    out
}

fn list(of: Value) -> Value {
    json!({ "type": "array", "items": of })
}
fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}
/// It, or null.
fn maybe(mut schema: Value) -> Value {
    if schema.get("$ref").is_some() {
        return json!({ "nullable": true, "allOf": [schema] });
    }
    schema["nullable"] = json!(true);
    schema
}

pub fn all() -> Value {
    let text = || json!({ "type": "string" });
    let count = || json!({ "type": "integer", "minimum": 0 });
    let number = || json!({ "type": "number" });
    let flag = || json!({ "type": "boolean" });
    let share = || json!({ "type": "number", "minimum": 0, "maximum": 1 });
    let id = || json!({ "type": "integer", "minimum": 0 });
    let pair = || json!({ "type": "array", "items": { "type": "number" }, "minItems": 2, "maxItems": 2 });
    let counted = || list(object(&[("name", text()), ("count", count())]));
    let budget =
        object(&[("pages", maybe(count())), ("relevant", maybe(count())), ("time_ms", maybe(count()))]);
    let newest = list(object(&[
        ("id", id()),
        ("url", text()),
        ("title", text()),
        ("score", maybe(number())),
        ("relevant", flag()),
    ]));
    let progress = [
        ("name", text()),
        (
            "state",
            json!({ "type": "string", "enum": ["starting", "running", "paused", "stopping", "stopped"] }),
        ),
        ("controlled", flag()),
        ("shared", flag()),
        ("paused", flag()),
        ("problem", maybe(text())),
        ("pages", count()),
        ("relevant", count()),
        ("harvest", share()),
        ("recent_harvest", share()),
        ("recall", maybe(share())),
        ("recall_low", maybe(share())),
        ("recall_high", maybe(share())),
        ("expected", maybe(number())),
        ("rate", number()),
        ("pending", count()),
        (
            "hosts",
            object(&[("active", count()), ("waiting", count()), ("blocked", count()), ("idle", count())]),
        ),
        ("threshold", maybe(number())),
        ("labelled", count()),
        ("elapsed_ms", count()),
        ("eta_ms", maybe(count())),
        ("idle", maybe(text())),
        ("budget", budget),
        ("newest", newest.clone()),
        ("found", newest.clone()),
        ("stopped", maybe(text())),
        ("limit", maybe(json!({ "type": "string", "enum": ["pages", "relevant", "time", "requests"] }))),
    ];
    let mut overview = progress.to_vec();
    overview.extend([
        ("title", text()),
        ("urls", count()),
        ("curve", list(pair())),
        ("frontier", list(object(&[("from", maybe(number())), ("to", maybe(number())), ("urls", count())]))),
        ("outcomes", counted()),
        ("errors", counted()),
        ("refused", counted()),
        ("disk", object(&[("ledger", count()), ("archive", count()), ("index", count())])),
        ("strategy", text()),
        ("judge", text()),
        (
            "workers",
            list(object(&[
                ("name", text()),
                ("shards", count()),
                ("pages", count()),
                ("relevant", count()),
                ("in_flight", count()),
                ("idle", flag()),
                ("applied", count()),
            ])),
        ),
        (
            "timings",
            list(object(&[
                ("stage", text()),
                ("on", json!({ "type": "string", "enum": ["loop", "readers", "network"] })),
                ("ms", number()),
                ("times", count()),
            ])),
        ),
        (
            "commands",
            list(object(&[
                ("n", count()),
                ("kind", text()),
                ("what", text()),
                ("who", text()),
                ("given", count()),
                ("applied", count()),
                ("of", count()),
                ("changed", count()),
                ("failure", maybe(text())),
            ])),
        ),
        ("damage", maybe(text())),
        ("best", newest),
        ("began", maybe(count())),
        ("ended", maybe(count())),
        ("version", maybe(text())),
        ("settings", list(object(&[("name", text()), ("value", text()), ("from", text())]))),
    ]);
    let terms = || object(&[("own", list(text())), ("all", list(text())), ("presets", list(text()))]);
    let problem = || object(&[("what", text()), ("because", maybe(text())), ("hint", maybe(text()))]);
    let pieces = || list(reference("Piece"));
    let rule = || json!({ "type": "string", "enum": ["none", "block", "boost"] });
    let short = || json!({ "type": "string", "minLength": 1, "maxLength": 200 });
    let most = |n: u64| json!({ "type": "integer", "minimum": 1, "maximum": n });
    let mut all = json!({
        "Any": { "type": "object" },
        "Error": object(&[("error", problem())]),
        "Health": object(&[("status", text()), ("version", text())]),
        "Collections": object(&[("collections", list(object(&[
            ("name", text()), ("title", text()), ("pages", count()), ("relevant", count()), ("pending", count()),
            ("running", flag()), ("problem", maybe(text())), ("stopped", maybe(text())), ("began", maybe(count())),
            ("fetched", maybe(count())), ("trend", list(pair())),
        ])))]),
        "Overview": object(&overview),
        "Pages": object(&[
            ("pages", list(object(&[
                ("id", id()), ("url", text()), ("title", text()), ("score", maybe(number())), ("relevant", flag()),
                ("label", maybe(flag())), ("language", text()), ("depth", count()), ("fetched", count()),
                ("status", count()), ("media_type", text()), ("links", count()), ("bytes", count()),
                ("duplicate", flag()), ("copies", count()),
            ]))),
            ("next", maybe(text())),
            ("matching", maybe(count())),
        ]),
        "Changes": object(&[
            ("since", count()), ("totals", object(&[
                ("new", count()), ("changed", count()), ("back", count()), ("moved", count()), ("gone", count()),
            ])),
            ("changes", list(object(&[
                ("kind", text()), ("id", id()), ("url", text()), ("title", text()), ("relevant", flag()),
                ("score", maybe(number())), ("at", count()), ("since", count()), ("times", count()),
                ("added", count()), ("removed", count()),
                ("diff", list(object(&[("mark", text()), ("text", text())]))), ("to?", text()), ("begins?", text()),
            ]))),
            ("next", maybe(text())),
        ]),
        "JsonFeed": object(&[
            ("version", text()), ("title", text()), ("items", list(object(&[
                ("id", text()), ("url", text()), ("title", text()), ("content_html", text()),
                ("date_published", text()), ("date_modified", text()), ("tags", list(text())),
            ]))),
        ]),
        "Misses": object(&[
            ("misses", list(object(&[
                ("id", id()), ("url", text()), ("kind", text()), ("error", text()), ("what", text()),
                ("at", maybe(count())), ("since", maybe(count())), ("attempts", count()), ("depth", count()), ("parent", maybe(text())), ("anchor", text()),
            ]))),
            ("next", maybe(text())),
        ]),
        "Piece": object(&[("text", text()), ("set?", text())]),
        "Priority": object(&[("lane", count()), ("key", maybe(number()))]),
        "Source": object(&[
            ("parent", text()), ("anchor", text()), ("priority", reference("Priority")),
            ("reasons", list(object(&[("label", text()), ("value", maybe(number()))]))),
        ]),
        "Explanation": object(&[
            ("url", text()), ("state", text()), ("strategy", text()), ("priority", reference("Priority")),
            ("path", list(object(&[
                ("url", text()), ("title", text()), ("anchor", text()), ("score", maybe(number())),
            ]))),
            ("sources", list(reference("Source"))),
            ("rescored_by", maybe(text())), ("duplicate_of", maybe(text())), ("near_duplicate_of", maybe(text())),
        ]),
        "Page": object(&[
            ("id", id()), ("url", text()), ("title", text()), ("description", text()), ("language", text()),
            ("about", object(&[
                ("authors", list(text())), ("published", text()), ("modified", text()), ("kind", text()),
                ("publisher", text()),
            ])),
            ("media_type", text()), ("charset", text()), ("status", count()), ("fetched", count()),
            ("elapsed_ms", count()), ("bytes", count()), ("depth", count()), ("links_found", count()),
            ("links", list(object(&[
                ("id", id()), ("url", text()), ("state", text()), ("page", flag()), ("relevant", maybe(flag())),
            ]))),
            ("text", pieces()), ("text_cut", flag()), ("relevant", flag()), ("label", maybe(flag())),
            ("score", maybe(number())), ("threshold", maybe(number())),
            ("parts", list(object(&[("name", text()), ("value", maybe(number()))]))),
            ("hits", list(object(&[("set", text()), ("term", text()), ("count", count())]))),
            ("excluded", maybe(text())), ("archived", flag()), ("explanation", reference("Explanation")),
        ]),
        "Frontier": object(&[
            ("urls", list(object(&[
                ("id", id()), ("url", text()), ("priority", reference("Priority")), ("depth", count()),
                ("attempts", count()), ("seen", count()), ("sources", list(reference("Source"))),
            ]))),
            ("pending", count()),
        ]),
        "Hosts": object(&[
            ("hosts", list(object(&[
                ("host", text()), ("state", text()), ("pages", count()), ("relevant", count()),
                ("share", maybe(share())), ("mean_score", maybe(number())), ("pending", count()),
                ("best_pending", maybe(number())), ("robots", text()), ("robots_status", count()),
                ("robots_expires", count()), ("delay_ms", count()), ("next_allowed", count()),
                ("failures", count()), ("rule", rule()), ("address", maybe(text())),
                ("rendered", maybe(object(&[
                    ("tried", count()), ("worthwhile", count()), ("failed", count()), ("ms", count()),
                ]))),
            ]))),
            ("next", maybe(text())),
            ("total", count()),
        ]),
        "Found": object(&[
            ("results", list(object(&[
                ("id", id()), ("url", text()), ("title", text()), ("rank", number()), ("score", maybe(number())),
                ("relevant", flag()), ("language", text()), ("fetched", count()), ("snippet", pieces()),
            ]))),
            ("facets", list(object(&[
                ("name", text()), ("values", list(object(&[("value", text()), ("count", count())]))),
            ]))),
            ("counted", count()), ("more", flag()), ("indexed", count()),
        ]),
        "SearxResults": object(&[
            ("query", text()), ("number_of_results", count()),
            ("results", list(object(&[
                ("url", text()), ("title", text()), ("content", text()), ("engine", text()),
                ("engines", list(text())), ("score", number()), ("category", text()), ("template", text()),
                ("positions", list(count())), ("parsed_url", list(text())), ("publishedDate", maybe(text())),
                ("collection", text()), ("relevance", maybe(number())),
            ]))),
            ("answers", list(text())), ("corrections", list(text())), ("infoboxes", list(text())),
            ("suggestions", list(text())), ("unresponsive_engines", list(text())),
        ]),
    });
    // In two parts: the macro does not take more at once.
    let topics_and_commands = json!({
        "Meaning": object(&[
            ("name", text()), ("description", maybe(text())), ("examples", list(text())), ("query", maybe(text())), ("genre", terms()), ("content", terms()), ("url", terms()),
            ("exclude", list(text())), ("judge", text()), ("strategy", text()), ("seeds", list(text())),
            ("limits", object(&[
                ("pages", maybe(count())), ("relevant", maybe(count())), ("time_ms", maybe(count())),
                ("depth", maybe(count())), ("per_host", maybe(count())),
            ])),
            ("fetch", object(&[("concurrency", count()), ("delay_ms", count()), ("contact", maybe(text()))])),
        ]),
        "Wish": object(&[("sentence", json!({ "type": "string", "maxLength": 1_000 }))]),
        "Drafted": object(&[
            ("name", text()), ("genre", maybe(text())), ("subject", list(text())), ("exclude", list(text())),
        ]),
        "Topic": object(&[("text", text()), ("meaning", reference("Meaning"))]),
        "TopicText": object(&[("topic", json!({ "type": "string", "maxLength": 500_000 }))]),
        "TopicChecked": object(&[
            ("ok", flag()), ("problem", maybe(problem())), ("meaning", maybe(reference("Meaning"))),
        ]),
        "Effect": object(&[
            ("text", text()), ("changed", count()), ("relevant", maybe(flag())),
            // Of a shared crawl: how many of its workers have done it by now.
            ("workers?", object(&[("applied", count()), ("of", count())])),
        ]),
        "Action": object(&[
            ("action", json!({ "type": "string", "enum": ["start", "pause", "resume", "stop"] })),
            ("settings?", maybe(reference("Settings"))),
        ]),
        "Label": object(&[("label", maybe(flag()))]),
        "Rule": object(&[("rule", rule())]),
        "Seeds": object(&[("urls", json!({ "type": "array", "items": text(), "maxItems": 10_000 }))]),
        "Retry": object(&[
            ("ids?", json!({ "type": "array", "items": id(), "maxItems": 10_000 })),
            ("kind?", maybe(text())), ("host?", maybe(text())),
        ]),
        "NewCrawl": object(&[
            ("name?", maybe(text())), ("topic", json!({ "type": "string", "maxLength": 500_000 })),
            ("seeds?", json!({ "type": "array", "items": text(), "maxItems": 10_000 })),
            ("settings?", maybe(reference("Settings"))),
        ]),
        "Started": object(&[("name", text())]),
        "Settings": object(&[
            ("limits?", maybe(object(&[
                ("pages?", maybe(most(1 << 40))), ("relevant?", maybe(most(1 << 40))),
                ("time_ms?", maybe(json!({ "type": "integer", "minimum": 0, "maximum": 1u64 << 40 }))),
            ]))),
            ("fetch?", maybe(object(&[
                ("concurrency?", maybe(most(4096))),
                ("delay_ms?", maybe(json!({ "type": "integer", "minimum": 0, "maximum": 86_400_000 }))),
            ]))),
            ("add_terms?", json!({ "type": "array", "maxItems": 1000, "items": object(&[
                ("set", json!({ "type": "string", "enum": ["genre", "content", "url", "exclude"] })), ("term", short()),
            ]) })),
            ("mute_terms?", json!({ "type": "array", "maxItems": 1000, "items": short() })),
            ("strategy?", maybe(json!({ "type": "string", "maxLength": 20_000 }))),
        ]),
        "Trial": object(&[
            ("topic", json!({ "type": "string", "maxLength": 500_000 })),
            ("urls", json!({ "type": "array", "items": text(), "maxItems": 30 })),
        ]),
        "Tried": object(&[
            ("pages", list(object(&[
                ("url", text()), ("title", text()), ("score", maybe(number())), ("relevant", maybe(flag())),
                ("parts", list(object(&[("name", text()), ("value", maybe(number()))]))),
                ("hits", list(object(&[("set", text()), ("term", text()), ("count", count())]))),
                ("problem", maybe(text())),
            ]))),
            ("threshold", maybe(number())), ("why", maybe(text())), ("suggestions", list(text())),
        ]),
        "WordReasons": list(object(&[("word", text()), ("field", text()), ("value", maybe(number()))])),
        "Reasons": object(&[
            ("parts", list(object(&[("name", text()), ("value", maybe(number()))]))),
            ("words_for", reference("WordReasons")), ("words_against", reference("WordReasons")),
            ("like", maybe(object(&[
                ("label", flag()), ("similarity", maybe(share())), ("id", maybe(id())), ("url", maybe(text())),
                ("title", maybe(text())),
            ]))),
        ]),
        "Interval": object(&[("value", share()), ("low", share()), ("high", share())]),
        "Taught": object(&[
            ("answered", count()), ("yes", count()), ("relevant", count()),
            ("estimate", maybe(object(&[
                ("precision", reference("Interval")), ("recall", reference("Interval")), ("relevant", number()),
            ]))),
            ("settled", maybe(object(&[
                ("answers", count()), ("changed", count()), ("sure", count()), ("right", count()), ("settled", flag()),
            ]))),
        ]),
        "Questions": object(&[
            ("questions", list(object(&[
                ("id", id()), ("url", text()), ("title", text()), ("passage", pieces()), ("score", maybe(number())),
                ("relevant", flag()), ("label", maybe(flag())),
                ("reason", json!({ "type": "string", "enum": ["uncertain", "top", "random", "spread", "asked"] })),
                ("why", text()),
            ]))),
            ("pages", count()), ("threshold", maybe(number())), ("taught", reference("Taught")),
        ]),
        "Choices": object(&[("choices", list(object(&[("name", text()), ("summary", text())])))]),
        "Backtests": object(&[("backtests", list(text()))]),
        "Backtest": object(&[
            ("name", text()), ("web", text()),
            ("summary", list(object(&[
                ("topic", text()), ("all", flag()), ("strategy", text()), ("auc", maybe(number())),
                ("low", maybe(number())), ("high", maybe(number())), ("normalised", maybe(number())),
                ("harvest", maybe(number())), ("runs", count()),
            ]))),
            ("curves", list(object(&[
                ("topic", text()), ("strategy", text()), ("recall", list(pair())), ("reachable", count()),
                ("relevant", count()),
            ]))),
        ]),
    });
    if let (Some(all), Value::Object(more)) = (all.as_object_mut(), topics_and_commands) {
        all.extend(more);
    }
    all
}

/// Is a body what its schema says? As much of JSON Schema as the schemas above use.
pub fn fits(value: &Value, schema: &Value, at: &str) -> Result<(), String> {
    if value.is_null() && schema["nullable"] == true {
        return Ok(());
    }
    let within = |n: u64, least: &str, most: &str| {
        schema[least].as_u64().is_none_or(|m| n >= m) && schema[most].as_u64().is_none_or(|m| n <= m)
    };
    let fine = match schema["type"].as_str().unwrap_or("") {
        "object" => {
            let Some(object) = value.as_object() else { return Err(format!("{at} must be an object")) };
            for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                if !object.contains_key(name) {
                    return Err(format!("{at} lacks `{name}`"));
                }
            }
            for (name, value) in object {
                let Some(schema) = schema["properties"].get(name) else {
                    let shown: String = name.chars().take(60).collect();
                    return Err(format!("{at} has an unknown field `{shown}`"));
                };
                fits(value, schema, &format!("{at}.{name}"))?;
            }
            true
        }
        "array" => {
            let Some(list) = value.as_array() else { return Err(format!("{at} must be a list")) };
            for v in list {
                fits(v, &schema["items"], &format!("an entry of {at}"))?;
            }
            within(list.len() as u64, "minItems", "maxItems")
        }
        "string" => value.as_str().is_some_and(|s| {
            within(s.chars().count() as u64, "minLength", "maxLength")
                && schema["enum"].as_array().is_none_or(|e| e.contains(value))
        }),
        "integer" => value.as_u64().is_some_and(|n| within(n, "minimum", "maximum")),
        "boolean" => value.is_boolean(),
        _ => true,
    };
    if fine { Ok(()) } else { Err(format!("{at} is not what it must be; /api/v1/openapi.json says more")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_compared_with_their_schemas() {
        let all = all();
        let fine = |schema: &str, body: Value| fits(&body, &all[schema], "the body").is_ok();
        assert!(fine("Label", json!({ "label": null })) && fine("Label", json!({ "label": true })));
        assert!(
            !fine("Label", json!({}))
                && !fine("Label", json!([null]))
                && !fine("Label", json!({ "label": 1 }))
        );
        assert!(
            fine("Settings", json!({}))
                && !fine("Settings", json!([]))
                && !fine("Settings", json!({ "limits": [1] }))
        );
        assert!(
            !fine("Settings", json!({ "limits": { "pages": 0 } })) && !fine("Settings", json!({ "x": 1 }))
        );
        assert!(fine("Settings", json!({ "limits": { "pages": 1, "time_ms": null }, "mute_terms": ["a"] })));
        assert!(!fine("Settings", json!({ "mute_terms": [""] })) && !fine("Rule", json!({ "rule": "x" })));
        assert!(!fine("TopicText", json!({ "topic": "x".repeat(500_001) })));
    }
}
