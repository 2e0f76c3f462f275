//! The OpenAPI document, made from the list of routes.

use super::route::{Answer, Kind, Param, ROUTES, Route, in_path};
use super::schemas;
use serde_json::{Map, Value, json};

pub fn document() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for route in ROUTES {
        let entry = paths.entry(route.path).or_insert_with(|| json!({}));
        if let Some(methods) = entry.as_object_mut() {
            methods.insert(route.method.to_lowercase(), operation(route));
        }
    }
    json!({
        "openapi": "3.0.3",
        "info": {
            "title": "Gleaner",
            "version": "1",
            "description": "Collections of a focused crawler: watch, search, explain, correct. Every \
                            request needs the token.",
            "license": { "name": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "schemas": schemas::all(),
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
    })
}

fn operation(route: &Route) -> Value {
    let error = |about: &str| {
        json!({
            "description": about,
            "content": { "application/json": { "schema": reference("Error") } },
        })
    };
    let fine = match route.answer {
        Answer::Json(schema) => json!({ "application/json": { "schema": reference(schema) } }),
        Answer::JsonAs(kind, schema) => json!({ kind: { "schema": reference(schema) } }),
        Answer::Other(kind) => json!({ kind: { "schema": { "type": "string" } } }),
    };
    let unknown = match route.path.starts_with("/api/") {
        true => error("No token, or a wrong one"),
        // People get a page.
        false => json!({
            "description": "No token, or a wrong one",
            "content": { "text/html": { "schema": { "type": "string" } } },
        }),
    };
    let mut responses = json!({
        "200": { "description": "As asked", "content": fine },
        "401": unknown,
        "403": error("Not from here: a foreign Host or Origin"),
        "429": error("Too many requests, or as many crawls as may run at once"),
    });
    let takes = !route.params.is_empty() || route.body.is_some();
    let mut add = |status: &str, about: &str, wanted: bool| {
        if wanted && let Some(r) = responses.as_object_mut() {
            r.insert(status.into(), error(about));
        }
    };
    add("400", "A parameter or the body is not what it must be, or two Host headers", true);
    add("404", "There is no such thing", takes);
    add("409", "Not possible as things are", route.conflicts);
    add("413", "The body is too large", route.body.is_some());
    add("415", "The body is not JSON", route.body.is_some());
    add("503", "The folder cannot be read", route.path == "/healthz");
    let mut operation = json!({
        "operationId": name(route),
        "summary": route.summary,
        "parameters": route.params.iter().map(|p| parameter(route, p)).collect::<Vec<_>>(),
        "responses": responses,
    });
    if let (Some(schema), Some(o)) = (route.body, operation.as_object_mut()) {
        let content = json!({ "application/json": { "schema": reference(schema) } });
        o.insert("requestBody".into(), json!({ "required": true, "content": content }));
    }
    operation
}

fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

/// `GET /api/v1/collections/{collection}/pages` → `get_collections_collection_pages`
fn name(route: &Route) -> String {
    let path = route.path.trim_start_matches("/api/v1").replace(['{', '}', '.'], "");
    format!("{}{}", route.method.to_lowercase(), path.replace('/', "_"))
}

fn parameter(route: &Route, p: &Param) -> Value {
    let path = in_path(route.path, p.name);
    let schema = match p.kind {
        // An empty segment is no segment.
        Kind::Text(most) => json!({ "type": "string", "maxLength": most, "minLength": usize::from(path) }),
        Kind::Int(from, to) => {
            json!({ "type": "integer", "format": "int64", "minimum": from, "maximum": to })
        }
        Kind::Number(from, to) => json!({ "type": "number", "minimum": from, "maximum": to }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::OneOf(list) => json!({ "type": "string", "enum": list }),
    };
    json!({
        "name": p.name,
        "in": if path { "path" } else { "query" },
        "required": path,
        "description": p.about,
        "schema": schema,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Every `$ref` in a document.
    fn references(v: &Value, out: &mut BTreeSet<String>) {
        match v {
            Value::Object(m) => {
                for (k, v) in m {
                    if let (true, Some(r)) = (k == "$ref", v.as_str()) {
                        out.insert(r.trim_start_matches("#/components/schemas/").to_string());
                    }
                    references(v, out);
                }
            }
            Value::Array(a) => a.iter().for_each(|v| references(v, out)),
            _ => {}
        }
    }

    #[test]
    fn the_document_and_the_routes_agree() {
        let doc = document();
        let paths = doc["paths"].as_object().unwrap();
        let methods: usize = paths.values().map(|m| m.as_object().unwrap().len()).sum();
        assert_eq!(methods, ROUTES.len());
        for route in ROUTES {
            let op = &doc["paths"][route.path][route.method.to_lowercase()];
            assert_eq!(op["summary"], route.summary);
            assert_eq!(op["parameters"].as_array().unwrap().len(), route.params.len());
            assert_eq!(op.get("requestBody").is_some(), route.body.is_some());
        }
        let names: BTreeSet<String> = ROUTES.iter().map(name).collect();
        assert_eq!(names.len(), ROUTES.len(), "operations have names of their own");
    }

    #[test]
    fn every_schema_is_there_and_used() {
        let doc = document();
        let mut used = BTreeSet::new();
        references(&doc, &mut used);
        let there: BTreeSet<String> = schemas::all().as_object().unwrap().keys().cloned().collect();
        assert_eq!(used, there);
    }
}
