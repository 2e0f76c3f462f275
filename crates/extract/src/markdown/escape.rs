//! Text that Markdown must not take for markup.

/// Running text. Escapes no more than it must: people and models read it as it is.
pub fn text(s: &str) -> String {
    let mut out = String::with_capacity(s.len() + 8);
    let mut before = ' ';
    let mut chars = s.chars().peekable();
    while let Some(c) = chars.next() {
        let after = chars.peek().copied().unwrap_or(' ');
        let marks = match c {
            '\\' | '`' | '*' | '~' => true,
            // Inside a word it is no emphasis.
            '_' => !(before.is_alphanumeric() && after.is_alphanumeric()),
            '<' => after.is_ascii_alphabetic() || matches!(after, '/' | '!' | '?'),
            '&' => after.is_ascii_alphanumeric() || after == '#',
            '[' | ']' => true,
            _ => false,
        };
        if marks {
            out.push('\\');
        }
        out.push(c);
        before = c;
    }
    out
}

/// A line that would begin a heading, a list, a quote or a rule does not. `s` is escaped as running text.
pub fn start_of_line(s: &str) -> String {
    let digits = s.bytes().take_while(u8::is_ascii_digit).count();
    let rest = s.get(digits..).unwrap_or("");
    let ends =
        |rest: &str, n: usize| rest.get(n..).is_some_and(|r| r.is_empty() || r.starts_with([' ', '\t']));
    if (1..=9).contains(&digits) && rest.starts_with(['.', ')']) && ends(rest, 1) {
        return format!("{}\\{rest}", s.get(..digits).unwrap_or(""));
    }
    let hashes = s.bytes().take_while(|b| *b == b'#').count();
    let rule = s.starts_with(['-', '=']) && s.trim_end().bytes().all(|b| b == s.as_bytes()[0] || b == b' ');
    let marks = s.starts_with('>')
        || (s.starts_with(['-', '+']) && ends(s, 1))
        || ((1..=6).contains(&hashes) && ends(s, hashes))
        || rule;
    if marks { format!("\\{s}") } else { s.to_string() }
}

/// Code within a line: the fence is longer than any run of back ticks inside.
pub fn code(s: &str) -> String {
    let fence = "`".repeat(longest_run(s, '`') + 1);
    let blank = if s.starts_with('`') || s.ends_with('`') { " " } else { "" };
    format!("{fence}{blank}{s}{blank}{fence}")
}

/// The longest run of this character.
pub fn longest_run(s: &str, of: char) -> usize {
    s.split(|c| c != of).map(str::len).max().unwrap_or(0)
}

/// A target that cannot end its own parentheses.
pub fn target(url: &str) -> String {
    let mut out = String::with_capacity(url.len());
    for c in url.chars() {
        match c {
            '(' => out.push_str("%28"),
            ')' => out.push_str("%29"),
            '<' => out.push_str("%3C"),
            '>' => out.push_str("%3E"),
            '\\' => out.push_str("%5C"),
            '|' => out.push_str("%7C"),
            // `&amp;` in a target would be read as `&`.
            '&' => out.push_str("&amp;"),
            // In a target these may be escaped, and are kept as they are.
            '*' | '_' | '`' | '~' | '[' | ']' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_whitespace() || c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}
