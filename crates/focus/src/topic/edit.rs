//! Changes topic files as a careful person would: only what is asked for, with comments, order and layout
//! kept.

use crate::text::TextOptions;
use toml_edit::{Array, DocumentMut, Item, RawString, Table, TableLike, Value};
use types::Problem;

/// A topic file under change.
pub struct TopicFile {
    doc: DocumentMut,
    name: String,
}

/// Longer lists of a file that had none are written one item a line.
const WIDTH: usize = 100;

impl TopicFile {
    /// `name` is how errors call the file.
    pub fn parse(text: &str, name: &str) -> Result<TopicFile, Problem> {
        let doc = text.parse::<DocumentMut>().map_err(|e| {
            Problem::usage(format!("{name} is not a TOML file"))
                .because(e)
                .hint("nothing was changed; correct the file and try again")
        })?;
        Ok(TopicFile { doc, name: name.to_string() })
    }

    /// The file's new text.
    pub fn text(&self) -> String {
        self.doc.to_string()
    }

    /// The strings of a list; empty when there is none.
    pub fn list(&self, section: &str, key: &str) -> Vec<String> {
        let array = self.doc.get(section).and_then(Item::as_table_like).and_then(|t| t.get(key));
        let items = array.and_then(Item::as_array).into_iter().flatten();
        items.filter_map(|v| v.as_str().map(str::to_string)).collect()
    }

    /// Adds terms to a list, after those that are there. A term that is there already, however spelt, is not
    /// added again. Returns how many were.
    pub fn add_terms(&mut self, section: &str, key: &str, terms: &[String]) -> Result<usize, Problem> {
        let words = |t: &str| -> Vec<u64> {
            TextOptions::default().tokens(t).iter().map(|token| token.hash).collect()
        };
        self.add(section, key, terms, &|a, b| words(a) == words(b))
    }

    /// Adds exact strings (URLs, files) to a list.
    pub fn add_strings(&mut self, section: &str, key: &str, items: &[String]) -> Result<usize, Problem> {
        self.add(section, key, items, &|a, b| a == b)
    }

    fn add(
        &mut self,
        section: &str,
        key: &str,
        items: &[String],
        same: &dyn Fn(&str, &str) -> bool,
    ) -> Result<usize, Problem> {
        let mut known = self.list(section, key);
        let mut new: Vec<String> = Vec::new();
        for item in items.iter().map(|i| i.trim()).filter(|i| !i.is_empty()) {
            if !known.iter().any(|k| same(k, item)) {
                known.push(item.to_string());
                new.push(item.to_string());
            }
        }
        if new.is_empty() {
            return Ok(0);
        }
        let name = self.name.clone();
        let table = self.section(section)?;
        let item = table.entry(key).or_insert_with(|| Item::Value(Value::Array(Array::new())));
        let array = item.as_array_mut().ok_or_else(|| {
            Problem::usage(format!("{name}: [{section}] {key} is not a list"))
                .hint(format!("write {key} = [\"…\"]"))
        })?;
        append(array, &new, key.len() + 3);
        Ok(new.len())
    }

    /// Sets a value; comments around an old one stay.
    pub fn set(&mut self, section: &str, key: &str, value: impl Into<Value>) -> Result<(), Problem> {
        let mut value = value.into();
        let table = self.section(section)?;
        match table.get_mut(key).and_then(Item::as_value_mut) {
            Some(old) => {
                *value.decor_mut() = old.decor().clone();
                *old = value;
            }
            None => {
                table.insert(key, Item::Value(value));
            }
        }
        Ok(())
    }

    /// A section in whatever form it is written; made at the end of the file when there is none.
    fn section(&mut self, name: &str) -> Result<&mut dyn TableLike, Problem> {
        let file = self.name.clone();
        let empty = self.doc.is_empty();
        let item = self.doc.entry(name).or_insert_with(|| {
            let mut table = Table::new();
            table.decor_mut().set_prefix(if empty { "" } else { "\n" });
            Item::Table(table)
        });
        item.as_table_like_mut().ok_or_else(|| Problem::usage(format!("{file}: `{name}` is not a section")))
    }
}

fn raw(text: Option<&RawString>) -> String {
    text.and_then(RawString::as_str).unwrap_or("").to_string()
}

/// Appends to an array in the layout it has: on its line, or one item a line with the indentation of the
/// others. A comment after the last item stays with that item.
fn append(array: &mut Array, items: &[String], before: usize) {
    let prefixes: Vec<String> = array.iter().map(|v| raw(v.decor().prefix())).collect();
    let had = !prefixes.is_empty();
    let trailing = raw(Some(array.trailing()));
    let length: usize = items.iter().map(|i| i.chars().count() + 4).sum();
    let last_suffix = array.iter().last().map(|v| raw(v.decor().suffix())).unwrap_or_default();
    let lines = trailing.contains('\n')
        || last_suffix.contains('\n')
        || prefixes.iter().any(|p| p.contains('\n'))
        || (!had && before + length > WIDTH);
    if !lines {
        for item in items {
            let mut value = Value::from(item.as_str());
            value.decor_mut().set_prefix(if array.is_empty() { "" } else { " " });
            array.push_formatted(value);
        }
        return;
    }
    let indent = prefixes
        .iter()
        .rev()
        .find_map(|p| p.rsplit_once('\n').map(|(_, indent)| indent.to_string()))
        .unwrap_or_else(|| "  ".into());
    // What stands between the last item and the bracket (its comment) goes before the first new item.
    let mut between = String::new();
    if had {
        if let Some(last) = array.len().checked_sub(1).and_then(|n| array.get_mut(n)) {
            last.decor_mut().set_suffix("");
        }
        between = format!("{last_suffix}{trailing}");
    } else if trailing.contains('#') {
        between = trailing;
    }
    let between = between.trim_end();
    for (i, item) in items.iter().enumerate() {
        let mut value = Value::from(item.as_str());
        let comment = if i == 0 { between } else { "" };
        value.decor_mut().set_prefix(format!("{comment}\n{indent}"));
        array.push_formatted(value);
    }
    array.set_trailing("\n");
    array.set_trailing_comma(true);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn add(text: &str, terms: &[&str]) -> String {
        let mut file = TopicFile::parse(text, "t.toml").unwrap();
        let terms: Vec<String> = terms.iter().map(|t| t.to_string()).collect();
        file.add_terms("content", "terms", &terms).unwrap();
        file.text()
    }

    #[test]
    fn a_list_on_one_line_stays_on_it() {
        let text = "# about\nname = 'x' # why\n\n[content] # what\nterms = [\"sql\",  'joins']   # mine\n\n\
                    [judge]\n";
        let expected = text.replace("'joins']", "'joins', \"b-tree\"]");
        assert_eq!(add(text, &["b-tree", "SQL"]), expected);
    }

    #[test]
    fn a_list_of_lines_keeps_its_comments_in_place() {
        let text = "[content]\nterms = [\n    # the basics\n    \"sql\", # language\n    \"joins\", # \
                    operator\n]\n# end\n";
        let expected = "[content]\nterms = [\n    # the basics\n    \"sql\", # language\n    \"joins\", # \
                        operator\n    \"b-tree\",\n    \"hash\",\n]\n# end\n";
        assert_eq!(add(text, &["b-tree", "hash"]), expected);
        // Without a comma after the last item.
        let text = "[content]\nterms = [\n  \"sql\",\n  \"joins\" # operator\n]\n";
        let expected = "[content]\nterms = [\n  \"sql\",\n  \"joins\", # operator\n  \"b-tree\",\n]\n";
        assert_eq!(add(text, &["b-tree"]), expected);
    }

    #[test]
    fn empty_and_missing_lists() {
        let text = "name = 'x'\n[content]\nterms = []           # your own\n[url]\n";
        assert_eq!(add(text, &["sql"]), text.replace("[] ", "[\"sql\"] "));
        assert_eq!(add("name = 'x'\n", &["sql"]), "name = 'x'\n\n[content]\nterms = [\"sql\"]\n");
        assert_eq!(add("", &["sql"]), "[content]\nterms = [\"sql\"]\n");
        assert_eq!(
            add("content = { terms = ['a'] } # c\n", &["b"]),
            "content = { terms = ['a', \"b\"] } # c\n"
        );
        assert_eq!(add("content.terms = ['a'] # c\n", &["b"]), "content.terms = ['a', \"b\"] # c\n");
        assert_eq!(
            add("[content]\nterms = [ # none yet\n]\n", &["b"]),
            "[content]\nterms = [ # none yet\n  \"b\",\n]\n"
        );
        let long: Vec<String> = (0..12).map(|i| format!("a long phrase {i}")).collect();
        let long: Vec<&str> = long.iter().map(String::as_str).collect();
        let text = add("[content]\nterms = []\n", &long);
        assert!(text.starts_with("[content]\nterms = [\n  \"a long phrase 0\",\n"), "{text}");
        assert!(text.ends_with("  \"a long phrase 11\",\n]\n"), "{text}");
    }

    #[test]
    fn values_are_set_in_place() {
        let text =
            "[judge] # who\nkind = 'genre' # how\nthreshold = \"auto\"           # or a number\n# end\n";
        let mut file = TopicFile::parse(text, "t").unwrap();
        file.set("judge", "threshold", 0.25).unwrap();
        assert_eq!(file.text(), text.replace("\"auto\"", "0.25"));
        let mut file = TopicFile::parse("name = 'x'\n", "t").unwrap();
        file.set("judge", "threshold", 0.25).unwrap();
        assert_eq!(file.text(), "name = 'x'\n\n[judge]\nthreshold = 0.25\n");
    }

    #[test]
    fn what_cannot_be_edited_is_said() {
        let message = |text: &str| {
            let mut f = TopicFile::parse(text, "t.toml")?;
            f.add_terms("content", "terms", &["x".into()]).map(|_| ())
        };
        assert!(message("a = = 1").unwrap_err().to_string().contains("t.toml is not a TOML file"));
        assert!(message("[content]\nterms = 1").unwrap_err().to_string().contains("not a list"));
        assert!(message("content = 1").unwrap_err().to_string().contains("not a section"));
    }

    proptest! {
        /// Whatever is in the terms, the file can be read again and has the old and the new.
        #[test]
        fn any_term_survives(terms in proptest::collection::vec("\\PC{1,12}", 0..6), lines in any::<bool>()) {
            let text = if lines { "# a\n[content]\nterms = [\n  'one', # b\n]\n" } else { "# a\n[content]\nterms = ['one'] # b\n" };
            let mut file = TopicFile::parse(text, "t").unwrap();
            let added = file.add_strings("content", "terms", &terms).unwrap();
            let again = TopicFile::parse(&file.text(), "t").unwrap();
            let list = again.list("content", "terms");
            prop_assert_eq!(list.len(), 1 + added);
            for t in terms.iter().map(|t| t.trim()).filter(|t| !t.is_empty()) {
                prop_assert!(list.iter().any(|l| l == t));
            }
            prop_assert!(file.text().contains("# a") && file.text().contains("# b"));
        }
    }
}
