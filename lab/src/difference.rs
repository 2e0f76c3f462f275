//! A picture for a note: bars to the left and the right of zero, with intervals. A file of its own.

use look::{Unit, escape, number};
use std::fmt::Write;

/// Light and dark as in all that people see (`crates/look/assets`).
const STYLE: &str = "svg{font:12px system-ui,sans-serif;
--ink:#221f18;--soft:#6a6353;--line:#e3dccb;--leaf:#24734a;--rust:#b0402a}
@media (prefers-color-scheme:dark){svg{
--ink:#ece6d8;--soft:#a79f8c;--line:#37332a;--leaf:#6cc48f;--rust:#ee8a70}}
text{fill:var(--soft)}.strong{fill:var(--ink);font-weight:600}
path{stroke:var(--line)}.zero{stroke:var(--soft)}.whisker{stroke:var(--ink)}
.worse{fill:var(--rust)}.better{fill:var(--leaf)}.open{fill:var(--soft)}";

pub struct Difference {
    pub label: String,
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

pub struct DifferenceChart {
    pub title: String,
    pub desc: String,
    pub rows: Vec<Difference>,
}

const WIDTH: f64 = 860.0;
const HEAD: f64 = 40.0;
const ROW: f64 = 20.0;
const LEFT: f64 = 210.0;
const RIGHT: f64 = WIDTH - 70.0;

impl DifferenceChart {
    pub fn svg(&self) -> String {
        let height = HEAD + ROW * self.rows.len() as f64 + 8.0;
        let reach = self.rows.iter().flat_map(|r| [r.value, r.low, r.high]);
        let reach = reach.filter(|v| v.is_finite()).map(f64::abs).fold(1e-6, f64::max);
        let x = |v: f64| f64::midpoint(LEFT, RIGHT) + (RIGHT - LEFT) / 2.0 * (v / reach).clamp(-1.0, 1.0);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
             role=\"img\" aria-label=\"{0}: {1}\">\
             <style>{STYLE}</style><text class=\"strong\" x=\"8\" y=\"15\">{0}</text>",
            escape(&self.title),
            escape(&self.desc)
        );
        let step = step(reach / 3.0);
        let most = (reach / step + 1e-9) as i32;
        for tick in -most..=most {
            let value = f64::from(tick) * step;
            let class = if tick == 0 { "zero" } else { "grid" };
            let _ = write!(
                out,
                "<path class=\"{class}\" d=\"M{0:.1} {HEAD}V{1:.1}\"/>\
                 <text x=\"{0:.1}\" y=\"{2:.1}\" text-anchor=\"middle\">{3}</text>",
                x(value),
                height - 4.0,
                HEAD - 6.0,
                number(value, Unit::Number)
            );
        }
        for (i, r) in self.rows.iter().enumerate() {
            let y = HEAD + 2.0 + ROW * i as f64;
            let (from, to) = (x(r.value.min(0.0)), x(r.value.max(0.0)));
            // Only what is surely not zero has a colour.
            let class = match () {
                () if r.high < 0.0 => "worse",
                () if r.low > 0.0 => "better",
                () => "open",
            };
            let label: String = r.label.chars().take(34).collect();
            let _ = write!(
                out,
                "<text x=\"{0:.1}\" y=\"{1:.1}\" text-anchor=\"end\">{2}</text>\
                 <rect class=\"{class}\" x=\"{from:.1}\" y=\"{3:.1}\" width=\"{4:.1}\" height=\"12\"/><path \
                 class=\"whisker\" d=\"M{5:.1} {6:.1}H{7:.1}\"/>\
                 <text class=\"strong\" x=\"{8:.1}\" y=\"{1:.1}\">{9:+.3}</text>",
                LEFT - 8.0,
                y + 12.0,
                escape(&label),
                y + 2.0,
                (to - from).max(0.5),
                x(r.low),
                y + 8.0,
                x(r.high),
                RIGHT + 8.0,
                r.value
            );
        }
        out.push_str("</svg>\n");
        out
    }
}

/// 1, 2 or 5 times a power of ten, `least` or the next above it.
fn step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0].into_iter().map(|m| m * power).find(|s| *s >= least * 0.999).unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_stand_on_both_sides_of_zero() {
        let row = |label: &str, value: f64, low: f64, high: f64| Difference {
            label: label.into(),
            value,
            low,
            high,
        };
        let rows = vec![
            row("worse <", -0.1, -0.2, -0.05),
            row("better", 0.05, 0.01, 0.1),
            row("who knows", 0.0, -0.1, 0.1),
        ];
        let svg = DifferenceChart { title: "T".into(), desc: "D".into(), rows }.svg();
        // From 210 to 790, zero at 500, 290 for the widest (0.2): 0.1 is half of that.
        assert!(
            svg.contains("<rect class=\"worse\" x=\"355.0\"") && svg.contains("width=\"145.0\""),
            "{svg}"
        );
        assert!(svg.contains("<rect class=\"better\" x=\"500.0\"") && svg.contains("class=\"open\""));
        assert!(svg.contains("worse &lt;") && svg.contains(">-0.100<") && svg.contains(">+0.050<"));
        let none = DifferenceChart { title: "T".into(), desc: "D".into(), rows: Vec::new() };
        assert!(none.svg().ends_with("</svg>\n"));
        assert_eq!([step(0.07), step(0.2), step(0.3)], [0.1, 0.2, 0.5]);
    }
}
