//! A small plot of two curves for a terminal.

/// A curve: its value after each step, and how it is drawn and called.
pub struct Curve<'a> {
    pub values: &'a [usize],
    pub mark: char,
    pub name: &'a str,
}

const WIDTH: usize = 56;
const HEIGHT: usize = 10;

/// The curves over the same steps, up to `top`. Later curves are drawn above earlier ones.
pub fn plot(curves: &[Curve<'_>], top: usize, unit: &str) -> Vec<String> {
    let steps = curves.iter().map(|c| c.values.len()).max().unwrap_or(0);
    let mut cells = vec![vec![' '; WIDTH]; HEIGHT + 1];
    let mut names = vec![String::new(); HEIGHT + 1];
    let row = |value: usize| HEIGHT - (value.min(top) * HEIGHT + top / 2) / top.max(1);
    for curve in curves {
        for column in 0..WIDTH {
            let step = ((column + 1) * steps / WIDTH).max(1) - 1;
            if let Some(value) = curve.values.get(step)
                && let Some(cell) = cells.get_mut(row(*value)).and_then(|r| r.get_mut(column))
            {
                *cell = curve.mark;
            }
        }
        if let Some(last) = curve.values.last()
            && let Some(name) = names.get_mut(row(*last))
        {
            *name = format!(" {} {} {last}", curve.mark, curve.name);
        }
    }
    let mut lines = Vec::new();
    for (i, (cells, name)) in cells.iter().zip(&names).enumerate() {
        let label = match i {
            0 => top.to_string(),
            HEIGHT => "0".into(),
            _ => String::new(),
        };
        let text: String = cells.iter().collect();
        lines.push(format!("{label:>5} │{text}{name}").trim_end().to_string());
    }
    lines.push(format!("      └{}", "─".repeat(WIDTH)));
    let end = format!("{} {unit}", crate::text::count(steps as u64));
    lines.push(format!("       0{end:>width$}", width = WIDTH - 1));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_end_where_their_numbers_say() {
        let up: Vec<usize> = (1..=100).collect();
        let flat = vec![0; 100];
        let curves =
            [Curve { values: &flat, mark: 'o', name: "low" }, Curve { values: &up, mark: '#', name: "high" }];
        let lines = plot(&curves, 100, "pages");
        assert_eq!(lines.len(), HEIGHT + 3);
        assert!(lines[0].starts_with("  100 │") && lines[0].ends_with("# high 100"), "{lines:#?}");
        assert!(lines[HEIGHT].starts_with("    0 │") && lines[HEIGHT].ends_with("o low 0"), "{lines:#?}");
        assert!(lines[HEIGHT].contains("oooo") && lines[HEIGHT / 2].contains('#'), "{lines:#?}");
        assert!(lines[HEIGHT + 2].ends_with("100 pages"), "{lines:#?}");
    }

    #[test]
    fn nothing_is_a_plot_too() {
        assert_eq!(plot(&[], 0, "pages").len(), HEIGHT + 3);
    }
}
