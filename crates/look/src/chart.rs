//! Charts as data. `chart.js` draws them; for readers without it every chart is a table as well.

use crate::page::escape;
use serde::Serialize;
use std::fmt::Write;

/// Rows of a line chart's table.
const ROWS: usize = 10;

/// What a number counts, and so how it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// `1,200`
    #[default]
    Count,
    /// A share: `25 %`
    Percent,
    /// `0.25`
    Number,
}

/// A line. Give the most important first: it is drawn above the others.
#[derive(Clone, Debug, Serialize)]
pub struct Series {
    /// Written at the line, and in the table.
    pub name: String,
    /// `(x, y)`, x ascending.
    pub points: Vec<(f64, f64)>,
    /// The same thing has the same colour in all charts of a page.
    pub colour: usize,
    /// A line to compare with: grey, dashed.
    pub reference: bool,
    /// Drawn dashed, to be told apart without colour.
    pub dash: bool,
    /// The space below the line is filled.
    pub area: bool,
}

impl Series {
    /// Points that are no numbers are left out.
    pub fn new(name: impl Into<String>, points: Vec<(f64, f64)>, colour: usize) -> Series {
        let real = points.into_iter().filter(|(x, y)| x.is_finite() && y.is_finite());
        let points = real.map(|(x, y)| (rounded(x), rounded(y))).collect();
        Series { name: name.into(), points, colour, reference: false, dash: false, area: false }
    }
    /// A grey, dashed line to compare with.
    pub fn reference(name: impl Into<String>, points: Vec<(f64, f64)>) -> Series {
        Series { reference: true, ..Series::new(name, points, 0) }
    }
    /// The same line, dashed.
    pub fn dashed(self) -> Series {
        Series { dash: true, ..self }
    }
    /// The same line, with the space below it filled.
    pub fn filled(self) -> Series {
        Series { area: true, ..self }
    }

    /// The value at x; none before the line begins and after it ends.
    fn at(&self, x: f64) -> Option<f64> {
        let i = self.points.partition_point(|p| p.0 <= x);
        let &(x0, y0) = self.points.get(i.checked_sub(1)?)?;
        match self.points.get(i) {
            Some(&(x1, y1)) if x1 > x0 => Some(y0 + (y1 - y0) * (x - x0) / (x1 - x0)),
            _ => (x == x0).then_some(y0),
        }
    }
}

fn rounded(v: f64) -> f64 {
    (v * 1e5).round() / 1e5
}

/// Lines over one pair of axes.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Lines {
    /// What is seen, in a sentence.
    pub label: String,
    /// What the x axis counts.
    pub x: String,
    /// What the y axis counts.
    pub y: String,
    /// How numbers on the x axis are written.
    pub x_unit: Unit,
    /// How numbers on the y axis are written.
    pub unit: Unit,
    /// The axis ends here at the latest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top: Option<f64>,
    /// The lines are named in the chart, not only elsewhere on the page.
    pub key: bool,
    /// The most important first.
    #[serde(rename = "values")]
    pub series: Vec<Series>,
}

/// Pages (or what else is counted) from one value to another.
#[derive(Clone, Debug, Serialize)]
pub struct Bin {
    /// The least value that falls into it.
    pub from: f64,
    /// Values from here on fall into the next one.
    pub to: f64,
    /// How many fall into it.
    pub count: u64,
    /// Of them, those of the kind named in [`Histogram::part`].
    pub part: u64,
}

/// How often values occur.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Histogram {
    /// What is seen, in a sentence.
    pub label: String,
    /// What the x axis counts.
    pub x: String,
    /// What the y axis counts.
    pub y: String,
    /// Name of the kind of page that is drawn apart, as `relevant`.
    pub part: String,
    /// A line at this value: the threshold.
    pub mark: Option<f64>,
    /// From left to right.
    #[serde(rename = "values")]
    pub bins: Vec<Bin>,
}

/// One bar of a [`Ranking`].
#[derive(Clone, Debug, Serialize)]
pub struct Ranked {
    /// Before the bar.
    pub name: String,
    /// Length of the bar.
    pub value: f64,
    /// Lower end of an interval drawn over the bar.
    pub low: Option<f64>,
    /// Upper end of an interval drawn over the bar.
    pub high: Option<f64>,
    /// Stands after the bar; else the value.
    pub note: Option<String>,
    /// The same thing has the same colour in all charts of a page.
    pub colour: usize,
}

/// Bars below each other, each with its name.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Ranking {
    /// What is seen, in a sentence.
    pub label: String,
    /// What the axis counts.
    pub x: String,
    /// How numbers are written.
    pub unit: Unit,
    /// Value of the longest possible bar; else the largest there is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top: Option<f64>,
    /// From top to bottom.
    #[serde(rename = "values")]
    pub rows: Vec<Ranked>,
}

/// A chart of one of the kinds that `chart.js` draws.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Chart {
    /// How something develops.
    Lines(Lines),
    /// How values are spread.
    Histogram(Histogram),
    /// How things compare.
    Ranking(Ranking),
}

impl Chart {
    /// The numbers, for readers without charts.
    pub(crate) fn table(&self) -> String {
        match self {
            Chart::Lines(c) => {
                let longest = c.series.iter().max_by_key(|s| s.points.len());
                let all = longest.map_or(&[][..], |s| &s.points);
                let last = all.len().saturating_sub(1);
                let steps = ROWS.min(last).max(1);
                let mut places: Vec<f64> =
                    (0..=steps).filter_map(|i| all.get(i * last / steps)).map(|p| p.0).collect();
                places.dedup();
                let heads = std::iter::once(c.x.as_str()).chain(c.series.iter().map(|s| s.name.as_str()));
                let row = |x: &f64| {
                    let values = c.series.iter().map(|s| s.at(*x));
                    let mut cells = vec![number(*x, c.x_unit)];
                    cells.extend(values.map(|v| v.map_or("–".into(), |v| number(v, c.unit))));
                    cells
                };
                table(heads, places.iter().map(row))
            }
            Chart::Histogram(c) => {
                let row = |b: &Bin| {
                    let range = format!("{} – {}", number(b.from, Unit::Number), number(b.to, Unit::Number));
                    vec![range, number(b.count as f64, Unit::Count), number(b.part as f64, Unit::Count)]
                };
                let bins = c.bins.iter().filter(|b| b.count > 0);
                table([c.x.as_str(), c.y.as_str(), c.part.as_str()].into_iter(), bins.map(row))
            }
            Chart::Ranking(c) => {
                let row = |r: &Ranked| {
                    let value = r.note.clone().unwrap_or_else(|| number(r.value, c.unit));
                    let between = r.low.zip(r.high);
                    let between = between.map_or("–".into(), |(low, high)| {
                        format!("{} – {}", number(low, c.unit), number(high, c.unit))
                    });
                    vec![r.name.clone(), value, between]
                };
                table(["", c.x.as_str(), "95 % interval"].into_iter(), c.rows.iter().map(row))
            }
        }
    }
}

fn table<'a>(heads: impl Iterator<Item = &'a str>, rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut out = String::from("<div class=\"scroll\"><table><thead><tr>");
    for (i, head) in heads.enumerate() {
        let class = if i > 0 { " class=\"n\"" } else { "" };
        let _ = write!(out, "<th scope=\"col\"{class}>{}</th>", escape(head));
    }
    out.push_str("</tr></thead><tbody>");
    for cells in rows {
        out.push_str("<tr>");
        for (i, cell) in cells.iter().enumerate() {
            let class = if i > 0 { " class=\"n\"" } else { "" };
            let _ = write!(out, "<td{class}>{}</td>", escape(cell));
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
    out
}

/// A number for people.
pub fn number(v: f64, unit: Unit) -> String {
    if !v.is_finite() {
        return "–".into();
    }
    match unit {
        Unit::Count => separated(v),
        Unit::Percent => format!("{} %", trimmed(v * 100.0, 1)),
        Unit::Number => trimmed(v, 3),
    }
}

fn separated(v: f64) -> String {
    let digits = format!("{:.0}", v.abs());
    let mut out = String::from(if v <= -0.5 { "−" } else { "" });
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

fn trimmed(v: f64, digits: usize) -> String {
    let text = format!("{v:.digits$}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.replace('-', "−") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        let table = [
            (0.0, Unit::Count, "0"),
            (37.5, Unit::Count, "38"),
            (1_234_567.0, Unit::Count, "1,234,567"),
            (-1500.0, Unit::Count, "−1,500"),
            (0.256, Unit::Percent, "25.6 %"),
            (1.0, Unit::Percent, "100 %"),
            (0.25, Unit::Number, "0.25"),
            (-0.0001, Unit::Number, "0"),
            (10.0, Unit::Number, "10"),
            (f64::NAN, Unit::Count, "–"),
        ];
        for (v, unit, text) in table {
            assert_eq!(number(v, unit), text);
        }
    }

    #[test]
    fn a_chart_is_a_table_too() {
        let points = (0..=200).map(|i| (f64::from(i), f64::from(i) / 2.0)).collect();
        let ended = Series::new("<b>", vec![(0.0, 0.0), (100.0, 7.0), (150.0, f64::NAN)], 1);
        let lines = Lines {
            x: "pages".into(),
            series: vec![Series::new("found", points, 0), ended],
            ..Lines::default()
        };
        let table = Chart::Lines(lines).table();
        assert_eq!(table.matches("<tr>").count(), ROWS + 2, "{table}");
        assert!(
            table.contains("<td>100</td><td class=\"n\">50</td><td class=\"n\">7</td>")
                && table.contains("<td>120</td><td class=\"n\">60</td><td class=\"n\">–</td>"),
            "{table}"
        );
        assert!(table.contains("&lt;b&gt;") && !table.contains("NaN"));
        assert!(Chart::Lines(Lines::default()).table().ends_with("</div>"));
    }
}
