//! Which of these? A list to tick in the terminal, or numbers and ranges where there is none.

use console::{Key, Term, style};
use std::io::{BufRead, Write};
use types::Problem;

/// Lets the user choose; indexes in the order of the list. `input` is read when there is no terminal with
/// keys.
pub fn pick(
    what: &str,
    items: &[String],
    keys: bool,
    input: &mut dyn BufRead,
    out: &mut dyn Write,
) -> Result<Vec<usize>, Problem> {
    let ticked = vec![true; items.len()];
    match pick_or_back(what, items, &ticked, false, keys, input, out)? {
        PickResult::These(chosen) => Ok(chosen),
        PickResult::Back => Err(given_up()),
    }
}

/// What was chosen, or that the step before shall be done again.
#[derive(Debug, PartialEq, Eq)]
pub enum PickResult {
    These(Vec<usize>),
    Back,
}

/// As `pick`, with these ticked at first. `back`: Esc leads to the step before (in a pipe: a line with
/// `\u{1b}` alone).
pub fn pick_or_back(
    what: &str,
    items: &[String],
    ticked: &[bool],
    back: bool,
    keys: bool,
    input: &mut dyn BufRead,
    out: &mut dyn Write,
) -> Result<PickResult, Problem> {
    if items.is_empty() {
        return Ok(PickResult::These(Vec::new()));
    }
    let term = Term::stderr();
    if keys
        && term.is_term()
        && term.features().is_attended()
        && std::env::var("TERM").as_deref() != Ok("dumb")
    {
        return tick(what, items, ticked, back, &term);
    }
    for (i, item) in items.iter().enumerate() {
        let _ = writeln!(out, "  {:>3}  {item}", i + 1);
    }
    by_number(what, items.len(), ticked.contains(&true), back, input, out)
}

fn given_up() -> Problem {
    Problem::usage("given up").hint("nothing was written")
}

/// The list under the cursor.
struct List<'a> {
    items: &'a [String],
    chosen: Vec<bool>,
    at: usize,
}

enum Step {
    On,
    Done,
    Back,
    Cancel,
}

impl List<'_> {
    fn key(&mut self, key: &Key) -> Step {
        let last = self.items.len().saturating_sub(1);
        match key {
            Key::ArrowUp | Key::Char('k') => self.at = self.at.checked_sub(1).unwrap_or(last),
            Key::ArrowDown | Key::Char('j') | Key::Tab => {
                self.at = if self.at >= last { 0 } else { self.at + 1 }
            }
            Key::PageUp => self.at = self.at.saturating_sub(10),
            Key::PageDown => self.at = (self.at + 10).min(last),
            Key::Home => self.at = 0,
            Key::End => self.at = last,
            Key::Char(' ') | Key::Char('x') => {
                if let Some(c) = self.chosen.get_mut(self.at) {
                    *c = !*c;
                }
            }
            Key::Char('a') => self.chosen.fill(true),
            Key::Char('n') => self.chosen.fill(false),
            Key::Enter => return Step::Done,
            Key::Escape => return Step::Back,
            Key::Char('q') | Key::CtrlC => return Step::Cancel,
            _ => {}
        }
        Step::On
    }

    /// The part of the list that fits, around the cursor.
    fn lines(&self, rows: usize, columns: usize) -> Vec<String> {
        let rows = rows.clamp(1, self.items.len().max(1));
        let from = (self.at + 1).saturating_sub(rows);
        let shown = self.items.iter().zip(&self.chosen).enumerate().skip(from).take(rows);
        shown
            .map(|(i, (item, chosen))| {
                let mark = if *chosen { "[x]" } else { "[ ]" };
                let text = console::truncate_str(item, columns.saturating_sub(8).max(10), "…").to_string();
                if i == self.at {
                    format!("{} {}", style(format!("> {mark}")).cyan(), style(text).bold())
                } else {
                    format!("  {mark} {text}")
                }
            })
            .collect()
    }

    fn indexes(&self) -> Vec<usize> {
        self.chosen.iter().enumerate().filter(|(_, c)| **c).map(|(i, _)| i).collect()
    }
}

fn tick(
    what: &str,
    items: &[String],
    ticked: &[bool],
    back: bool,
    term: &Term,
) -> Result<PickResult, Problem> {
    let io = |e: std::io::Error| Problem::new("cannot use the terminal").because(e);
    let chosen = (0..items.len()).map(|i| ticked.get(i).copied().unwrap_or(false)).collect();
    let mut list = List { items, chosen, at: 0 };
    let help = match back {
        true => "↑ ↓ move · space tick · a all · n none · enter done · esc back · q give up",
        false => "↑ ↓ move · space tick · a all · n none · enter done · esc give up",
    };
    term.write_line(&format!("{}  {}", style(format!("Which {what}?")).bold(), style(help).dim()))
        .map_err(io)?;
    let _ = term.hide_cursor();
    let mut drawn = 0;
    let result = loop {
        let (rows, columns) = term.size();
        let lines = list.lines(usize::from(rows).saturating_sub(3), usize::from(columns));
        let draw =
            term.clear_last_lines(drawn).and_then(|()| lines.iter().try_for_each(|l| term.write_line(l)));
        if let Err(e) = draw {
            break Err(io(e));
        }
        drawn = lines.len();
        match term.read_key_raw().map(|key| list.key(&key)) {
            Ok(Step::On) => {}
            Ok(Step::Done) => break Ok(PickResult::These(list.indexes())),
            Ok(Step::Back) if back => break Ok(PickResult::Back),
            Ok(Step::Back | Step::Cancel) => break Err(given_up()),
            Err(e) => break Err(io(e)),
        }
    };
    let _ = term.clear_last_lines(drawn);
    let _ = term.show_cursor();
    if let Ok(PickResult::These(chosen)) = &result {
        let _ = term.write_line(&format!("  {} of {} {what}", chosen.len(), items.len()));
    }
    result
}

/// Asks for numbers until the answer makes sense.
fn by_number(
    what: &str,
    n: usize,
    all: bool,
    back: bool,
    input: &mut dyn BufRead,
    out: &mut dyn Write,
) -> Result<PickResult, Problem> {
    loop {
        let usual = if all { "all" } else { "none" };
        let _ = write!(
            out,
            "Which {what}? Numbers and ranges (1-5 8 11), all, all but 3 7-9, or none [{usual}]: "
        );
        let _ = out.flush();
        let mut line = String::new();
        let read =
            input.read_line(&mut line).map_err(|e| Problem::new("cannot read your answer").because(e))?;
        if read == 0 {
            return Err(Problem::usage("no answer").hint("nothing was written"));
        }
        if back && line.trim() == "\u{1b}" {
            return Ok(PickResult::Back);
        }
        let line = if line.trim().is_empty() { usual } else { line.as_str() };
        match selection(line, n) {
            Ok(chosen) => return Ok(PickResult::These(chosen)),
            Err(why) => {
                let _ = writeln!(out, "{why}");
            }
        }
    }
}

/// `1-5 8, 11`, `all`, `all but 3`, `none`, or nothing for all: indexes, each once, in the order of the list.
fn selection(text: &str, n: usize) -> Result<Vec<usize>, String> {
    let text = text.trim().to_lowercase();
    let (rest, but) = match text.strip_prefix("all") {
        Some(rest) => match rest.trim().strip_prefix("but") {
            Some(rest) => (rest.trim().to_string(), true),
            None if rest.trim().is_empty() => return Ok((0..n).collect()),
            None => return Err(format!("`{text}`: say `all`, or `all but 3 7-9`")),
        },
        None if text.is_empty() => return Ok((0..n).collect()),
        None if text == "none" => return Ok(Vec::new()),
        None => (text.clone(), false),
    };
    let mut chosen = vec![false; n];
    let mut any = false;
    for part in rest.split([' ', ',', ';', '\t']).filter(|p| !p.is_empty()) {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let number = |s: &str| s.parse::<usize>().ok().filter(|i| (1..=n).contains(i));
        let (Some(from), Some(to)) = (number(from), number(to)) else {
            return Err(format!("`{part}` is not a number or range within 1 to {n}"));
        };
        if from > to {
            return Err(format!("`{part}`: ranges go upwards"));
        }
        chosen.iter_mut().take(to).skip(from - 1).for_each(|c| *c = true);
        any = true;
    }
    if !any {
        return Err("no number".into());
    }
    Ok((0..n).filter(|i| chosen.get(*i).is_some_and(|c| *c != but)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selections() {
        let pick = |s: &str| selection(s, 9);
        assert_eq!(pick("1-3 8").unwrap(), [0, 1, 2, 7]);
        assert_eq!(pick(" 8, 1-3;2").unwrap(), [0, 1, 2, 7]);
        assert_eq!(pick("").unwrap().len(), 9);
        assert_eq!(pick("ALL").unwrap().len(), 9);
        assert_eq!(pick("all but 2-9").unwrap(), [0]);
        assert!(pick("none").unwrap().is_empty());
        for wrong in
            ["0", "10", "3-1", "x", "1-", "-", "all but", "all but 99", "allow", "1-99999999999999999999"]
        {
            assert!(pick(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_picker_asks_until_the_answer_makes_sense() {
        let mut out = Vec::new();
        let mut ask =
            |said: &str, all, back| by_number("genre terms", 5, all, back, &mut said.as_bytes(), &mut out);
        assert_eq!(ask("12\nfoo\n2-3\n", true, false).unwrap(), PickResult::These(vec![1, 2]));
        // Nothing said: what is ticked.
        assert_eq!(ask("\n", false, true).unwrap(), PickResult::These(Vec::new()));
        assert_eq!(ask("\u{1b}\n", false, true).unwrap(), PickResult::Back);
        let said = String::from_utf8(out).unwrap();
        assert_eq!(said.matches("Which genre terms?").count(), 5);
        assert!(said.contains("`12` is not a number or range within 1 to 5"));
        assert!(by_number("genre terms", 5, true, false, &mut "".as_bytes(), &mut Vec::new()).is_err());
    }

    #[test]
    fn ticking_with_keys() {
        let items: Vec<String> = (0..30).map(|i| format!("term {i}")).collect();
        let mut list = List { items: &items, chosen: vec![true; 30], at: 0 };
        let mut press = |keys: &[Key]| keys.iter().for_each(|k| assert!(matches!(list.key(k), Step::On)));
        // None; the first; two down; the last, around the top.
        press(&[Key::Char('n'), Key::Char(' '), Key::ArrowDown, Key::Char('j'), Key::Char('x')]);
        press(&[Key::Home, Key::ArrowUp, Key::Char(' '), Key::Unknown]);
        assert_eq!(list.indexes(), [0, 2, 29]);
        assert_eq!(list.at, 29);
        // What fits is around the cursor, and is marked.
        let lines = list.lines(5, 80);
        assert_eq!(lines.len(), 5);
        assert!(lines[4].contains("[x]") && lines[4].contains("term 29"), "{lines:?}");
        assert!(lines[0].contains("[ ] term 25"), "{lines:?}");
        assert_eq!(list.lines(0, 0).len(), 1);
        list.key(&Key::ArrowDown);
        assert_eq!(list.at, 0);
        list.key(&Key::Char('a'));
        assert_eq!(list.indexes().len(), 30);
        assert!(matches!(list.key(&Key::Enter), Step::Done));
        assert!(matches!(list.key(&Key::Escape), Step::Back));
        assert!(matches!(list.key(&Key::CtrlC), Step::Cancel));
    }

    #[test]
    fn nothing_to_choose_from() {
        assert!(pick("x", &[], true, &mut "".as_bytes(), &mut Vec::new()).unwrap().is_empty());
        let mut list = List { items: &[], chosen: Vec::new(), at: 0 };
        for key in [Key::ArrowUp, Key::ArrowDown, Key::PageDown, Key::End, Key::Char(' ')] {
            list.key(&key);
        }
        assert!(list.indexes().is_empty() && list.lines(5, 80).is_empty());
    }
}
