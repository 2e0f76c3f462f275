//! Charts as SVG text: lines, bars, sparklines. No dependency on anything else here, so any report can use it.
//!
//! Colours are CSS classes (`c0` … `c9`), defined for light, dark and print in [`STYLE`]; beyond ten series the colours
//! repeat with another dash, so a line is never told by colour alone. Every chart has a title and a description for
//! readers who do not see it, and lines carry their name at their end instead of in a far-away legend.

use std::fmt::Write;

/// Styles of all charts; put it once into the page, next to the page's own.
pub const STYLE: &str = "
:root{--ink:#1c2430;--soft:#5b6675;--line:#d9dee5;--paper:#fff;--c0:#0b62c4;--c1:#c2410c;--c2:#0f7b53;--c3:#a21caf;--c4:#8a6100;
--c5:#0e7490;--c6:#be123c;--c7:#4d5b9e;--c8:#4d7c0f;--c9:#6b4a2f}
@media (prefers-color-scheme:dark){:root{--ink:#e8ecf2;--soft:#a4afbd;--line:#323b48;--paper:#12161c;--c0:#6bb0ff;--c1:#ff9a5c;--c2:#4fd1a1;
--c3:#e08bf0;--c4:#e6bd4a;--c5:#5fd0e6;--c6:#ff7d95;--c7:#a9b6ff;--c8:#a8d95b;--c9:#d3ab86}}
@media print{:root{--ink:#000;--soft:#444;--line:#ccc;--paper:#fff;--c0:#0b62c4;--c1:#c2410c;--c2:#0f7b53;--c3:#a21caf;--c4:#8a6100;
--c5:#0e7490;--c6:#be123c;--c7:#4d5b9e;--c8:#4d7c0f;--c9:#6b4a2f}}
svg.plot{display:block;width:100%;height:auto;font:12px system-ui,sans-serif;overflow:visible}
svg.plot text{fill:var(--soft)}svg.plot .grid{stroke:var(--line);stroke-width:1}svg.plot .axis{stroke:var(--soft);stroke-width:1}
svg.plot .curve{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
svg.plot .band{opacity:.14;stroke:none}svg.plot .ref{fill:none;stroke:var(--soft);stroke-width:1.5;stroke-dasharray:5 4}
svg.plot .strong{fill:var(--ink);font-weight:600}svg.plot .name{font-size:11px}svg.plot .lead{fill:none;stroke-width:1;opacity:.5}
svg.plot .series:hover .curve{stroke-width:3.5}svg.plot:has(.series:hover) .series:not(:hover){opacity:.25}
svg.plot .whisker{stroke:var(--ink);stroke-width:1.2}svg.plot .d1{stroke-dasharray:7 4}svg.plot .d2{stroke-dasharray:2 4}svg.plot .d3{stroke-dasharray:9 3 2 3}
.k0{stroke:var(--c0)}.k1{stroke:var(--c1)}.k2{stroke:var(--c2)}.k3{stroke:var(--c3)}.k4{stroke:var(--c4)}.k5{stroke:var(--c5)}.k6{stroke:var(--c6)}.k7{stroke:var(--c7)}.k8{stroke:var(--c8)}.k9{stroke:var(--c9)}
svg.plot .f0{fill:var(--c0)}svg.plot .f1{fill:var(--c1)}svg.plot .f2{fill:var(--c2)}svg.plot .f3{fill:var(--c3)}svg.plot .f4{fill:var(--c4)}svg.plot .f5{fill:var(--c5)}svg.plot .f6{fill:var(--c6)}svg.plot .f7{fill:var(--c7)}svg.plot .f8{fill:var(--c8)}svg.plot .f9{fill:var(--c9)}
svg.spark{width:120px;height:28px;vertical-align:middle}svg.spark path{fill:none;stroke:var(--c0);stroke-width:1.5}
";

/// How numbers on an axis are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// `1,200`, `0.25`.
    #[default]
    Plain,
    /// `25 %` of a share.
    Percent,
}

/// How a line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// The n-th colour.
    Colour(usize),
    /// A line to compare with: grey, dashed.
    Reference,
}

/// One line of a [`LineChart`].
#[derive(Clone, Debug)]
pub struct Series {
    /// Written at the end of the line.
    pub name: String,
    /// `(x, y)`, x ascending.
    pub points: Vec<(f64, f64)>,
    /// `(x, low, high)`: an interval around the line.
    pub band: Vec<(f64, f64, f64)>,
    /// Colour, or that of a line to compare with.
    pub look: Look,
}

impl Series {
    /// A line without an interval.
    pub fn new(name: impl Into<String>, points: Vec<(f64, f64)>, look: Look) -> Series {
        Series { name: name.into(), points, band: Vec::new(), look }
    }
}

/// Lines over one pair of axes.
#[derive(Clone, Debug)]
pub struct LineChart {
    /// Unique on the page, letters and digits.
    pub id: String,
    /// For those who do not see the chart; small multiples show it above.
    pub title: String,
    /// What the chart shows, in a sentence, for those who do not see it.
    pub desc: String,
    /// Below the x axis.
    pub x_label: String,
    /// Beside the y axis.
    pub y_label: String,
    /// How numbers on the x axis are written.
    pub x_format: Format,
    /// How numbers on the y axis are written.
    pub y_format: Format,
    /// Fixed range of the axis; else that of the data, from 0.
    pub x_max: Option<f64>,
    /// As `x_max`.
    pub y_max: Option<f64>,
    /// Small multiples: no names at the lines, fewer numbers.
    pub small: bool,
    /// Drawn in this order; later ones lie on top.
    pub series: Vec<Series>,
}

impl LineChart {
    /// An empty chart with plain numbers on both axes.
    pub fn new(id: impl Into<String>, title: impl Into<String>, desc: impl Into<String>) -> LineChart {
        LineChart {
            id: id.into(),
            title: title.into(),
            desc: desc.into(),
            x_label: String::new(),
            y_label: String::new(),
            x_format: Format::Plain,
            y_format: Format::Plain,
            x_max: None,
            y_max: None,
            small: false,
            series: Vec::new(),
        }
    }

    /// The chart as an `<svg>` element.
    pub fn svg(&self) -> String {
        let (width, height) = if self.small { (300.0, 190.0) } else { (860.0, 440.0) };
        let frame = Frame {
            left: if self.small { 42.0 } else { 58.0 },
            right: width - if self.small { 10.0 } else { 170.0 },
            top: if self.small { 26.0 } else { 14.0 },
            bottom: height - if self.small { 22.0 } else { 46.0 },
            x_max: self.x_max.unwrap_or_else(|| top(self.all().map(|p| p.0))),
            y_max: self.y_max.unwrap_or_else(|| top(self.all().map(|p| p.1))),
        };
        let mut out = open(&self.id, &self.title, &self.desc, width, height);
        self.axes(&frame, &mut out);
        for s in &self.series {
            draw(s, &frame, &mut out);
        }
        if !self.small {
            names(&self.series, &frame, &mut out);
        } else {
            let _ = write!(
                out,
                "<text class=\"strong\" x=\"{:.0}\" y=\"15\">{}</text>",
                frame.left,
                escape(&self.title)
            );
        }
        out.push_str("</svg>");
        out
    }

    fn all(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.series.iter().flat_map(|s| s.points.iter().copied().chain(s.band.iter().map(|b| (b.0, b.2))))
    }

    fn axes(&self, f: &Frame, out: &mut String) {
        let steps = if self.small { 3 } else { 6 };
        for y in ticks(f.y_max, steps) {
            let at = f.y(y);
            let _ = write!(
                out,
                "<line class=\"grid\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                f.left,
                f.right,
                f.left - 6.0,
                at + 4.0,
                number(y, self.y_format)
            );
        }
        for x in ticks(f.x_max, steps) {
            let at = f.x(x);
            let _ = write!(
                out,
                "<line class=\"axis\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{:.1}\" y2=\"{:.1}\"/><text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                f.bottom,
                f.bottom + 4.0,
                f.bottom + 17.0,
                number(x, self.x_format)
            );
        }
        let _ = write!(
            out,
            "<line class=\"axis\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{:.1}\" y2=\"{:.1}\"/>",
            f.left, f.right, f.bottom, f.bottom
        );
        if !self.small {
            let _ = write!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text><text transform=\"translate(14 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
                (f.left + f.right) / 2.0,
                f.bottom + 38.0,
                escape(&self.x_label),
                (f.top + f.bottom) / 2.0,
                escape(&self.y_label)
            );
        }
    }
}

struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    x_max: f64,
    y_max: f64,
}

impl Frame {
    fn x(&self, v: f64) -> f64 {
        self.left + (self.right - self.left) * share(v, self.x_max)
    }
    fn y(&self, v: f64) -> f64 {
        self.bottom - (self.bottom - self.top) * share(v, self.y_max)
    }
}

/// Position within an axis, kept inside; whatever is no number is at 0.
fn share(v: f64, max: f64) -> f64 {
    let s = v / max;
    if s.is_finite() { s.clamp(0.0, 1.0) } else { 0.0 }
}

fn top(values: impl Iterator<Item = f64>) -> f64 {
    let max = values.filter(|v| v.is_finite()).fold(0.0, f64::max);
    if max > 0.0 { max } else { 1.0 }
}

fn open(id: &str, title: &str, desc: &str, width: f64, height: f64) -> String {
    let (id, title, desc) = (escape(id), escape(title), escape(desc));
    format!(
        "<svg class=\"plot\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\"><title id=\"{id}-t\">{title}</title><desc id=\"{id}-d\">{desc}</desc>"
    )
}

fn classes(look: Look) -> (String, String, String) {
    match look {
        Look::Reference => ("ref".into(), String::new(), "ref".into()),
        Look::Colour(n) => {
            let dash = match n / 10 % 4 {
                0 => String::new(),
                d => format!(" d{d}"),
            };
            (format!("curve k{}{dash}", n % 10), format!("f{}", n % 10), format!("lead k{}", n % 10))
        }
    }
}

fn draw(s: &Series, f: &Frame, out: &mut String) {
    let (stroke, fill, _) = classes(s.look);
    let _ = write!(out, "<g class=\"series\"><title>{}</title>", escape(&s.name));
    if !s.band.is_empty() && !fill.is_empty() {
        let there = s.band.iter().map(|b| (b.0, b.2));
        let back = s.band.iter().rev().map(|b| (b.0, b.1));
        let _ = write!(out, "<path class=\"band {fill}\" d=\"{}Z\"/>", path(there.chain(back), f));
    }
    let _ = write!(out, "<path class=\"{stroke}\" d=\"{}\"/></g>", path(s.points.iter().copied(), f));
}

fn path(points: impl Iterator<Item = (f64, f64)>, f: &Frame) -> String {
    let mut d = String::new();
    for (i, (x, y)) in points.enumerate() {
        let _ = write!(d, "{}{:.1} {:.1}", if i == 0 { 'M' } else { 'L' }, f.x(x), f.y(y));
    }
    d
}

/// Names at the ends of the lines, moved apart so that they can be read.
fn names(series: &[Series], f: &Frame, out: &mut String) {
    let mut labels: Vec<(f64, f64, f64, &Series)> =
        series.iter().filter_map(|s| s.points.last().map(|p| (f.y(p.1), f.y(p.1), f.x(p.0), s))).collect();
    // Lines that end together are named in the order in which they ran, the highest first.
    let height =
        |s: &Series| s.points.iter().map(|p| share(p.1, f.y_max)).sum::<f64>() / s.points.len().max(1) as f64;
    labels.sort_by(|a, b| a.0.total_cmp(&b.0).then(height(b.3).total_cmp(&height(a.3))));
    let gap = (14.0f64).min((f.bottom - f.top + 20.0) / labels.len().max(1) as f64);
    // Push down, then back up from the bottom.
    let mut last = f64::NEG_INFINITY;
    for l in &mut labels {
        l.0 = l.0.max(last + gap);
        last = l.0;
    }
    let mut limit = f.bottom + 4.0;
    for l in labels.iter_mut().rev() {
        l.0 = l.0.min(limit);
        limit = l.0 - gap;
    }
    for (y, from, x, s) in labels {
        let (_, fill, lead) = classes(s.look);
        let _ = write!(
            out,
            "<path class=\"{lead}\" d=\"M{:.1} {from:.1}L{:.1} {y:.1}\"/><text class=\"name {fill}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            x + 2.0,
            f.right + 14.0,
            f.right + 18.0,
            y + 4.0,
            escape(&shorten(&s.name, 26))
        );
    }
}

fn shorten(s: &str, most: usize) -> String {
    if s.chars().count() <= most {
        return s.to_string();
    }
    s.chars().take(most - 1).chain(['…']).collect()
}

/// One bar of a [`BarChart`].
#[derive(Clone, Debug)]
pub struct Bar {
    /// Before the bar.
    pub label: String,
    /// Length of the bar.
    pub value: f64,
    /// Interval drawn over the bar.
    pub interval: Option<(f64, f64)>,
    /// The n-th colour.
    pub colour: usize,
    /// Text after the bar; else the value.
    pub note: Option<String>,
}

/// Horizontal bars, one below the other.
#[derive(Clone, Debug)]
pub struct BarChart {
    /// Unique on the page, letters and digits.
    pub id: String,
    /// For those who do not see the chart.
    pub title: String,
    /// What the chart shows, in a sentence, for those who do not see it.
    pub desc: String,
    /// How values are written.
    pub format: Format,
    /// Value of the longest possible bar; else the largest there is.
    pub max: Option<f64>,
    /// From top to bottom.
    pub bars: Vec<Bar>,
}

impl BarChart {
    /// The chart as an `<svg>` element.
    pub fn svg(&self) -> String {
        let row = 22.0;
        let (width, height) = (860.0, row * self.bars.len() as f64 + 8.0);
        let widest = self.bars.iter().map(|b| b.label.chars().count().min(30)).max().unwrap_or(0) as f64;
        let left = 20.0 + widest * 6.6;
        let right = width - 80.0;
        let highest = |b: &Bar| b.interval.map_or(b.value, |i| i.1.max(b.value));
        let max = self.max.unwrap_or_else(|| top(self.bars.iter().map(highest)));
        let mut out = open(&self.id, &self.title, &self.desc, width, height);
        for (i, b) in self.bars.iter().enumerate() {
            let y = 4.0 + row * i as f64;
            let x = |v: f64| left + (right - left) * share(v, max);
            let note = b.note.clone().unwrap_or_else(|| number(b.value, self.format));
            let end = x(highest(b)).max(x(b.value));
            let _ = write!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text><rect class=\"f{}\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"14\" rx=\"2\"/><text class=\"strong\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                left - 8.0,
                y + 13.0,
                escape(&shorten(&b.label, 30)),
                b.colour % 10,
                y + 2.0,
                (x(b.value) - left).max(0.5),
                end + 8.0,
                y + 13.0,
                escape(&note)
            );
            if let Some((low, high)) = b.interval {
                let mid = y + 9.0;
                let _ = write!(
                    out,
                    "<path class=\"whisker\" d=\"M{0:.1} {mid:.1}H{1:.1}M{0:.1} {2:.1}V{3:.1}M{1:.1} {2:.1}V{3:.1}\"/>",
                    x(low),
                    x(high),
                    mid - 4.0,
                    mid + 4.0
                );
            }
        }
        out.push_str("</svg>");
        out
    }
}

/// One row of a [`DifferenceChart`].
#[derive(Clone, Debug)]
pub struct Difference {
    /// Before the bar.
    pub label: String,
    /// Positive is better.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// Bars to the left and the right of zero, with intervals: what is better and what is worse than something else.
#[derive(Clone, Debug)]
pub struct DifferenceChart {
    /// Unique on the page, letters and digits.
    pub id: String,
    /// Shown above the bars.
    pub title: String,
    /// What the chart shows, in a sentence, for those who do not see it.
    pub desc: String,
    /// From top to bottom.
    pub rows: Vec<Difference>,
}

impl DifferenceChart {
    /// The chart as an `<svg>` element.
    pub fn svg(&self) -> String {
        let row = 20.0;
        let (width, head) = (860.0, 40.0);
        let height = head + row * self.rows.len() as f64 + 8.0;
        let (left, right) = (210.0, width - 70.0);
        let reach = top(self.rows.iter().flat_map(|r| [r.value, r.low, r.high]).map(f64::abs));
        let middle = f64::midpoint(left, right);
        let x = |v: f64| {
            middle + (right - left) / 2.0 * if v < 0.0 { -share(-v, reach) } else { share(v, reach) }
        };
        let mut out = open(&self.id, &self.title, &self.desc, width, height);
        let _ = write!(out, "<text class=\"strong\" x=\"8\" y=\"15\">{}</text>", escape(&self.title));
        for tick in ticks(reach, 3).iter().flat_map(|t| [-t, *t]) {
            let _ = write!(
                out,
                "<path class=\"{}\" d=\"M{1:.1} {head:.1}V{2:.1}\"/><text x=\"{1:.1}\" y=\"{3:.1}\" text-anchor=\"middle\">{4}</text>",
                if tick == 0.0 { "axis" } else { "grid" },
                x(tick),
                height - 4.0,
                head - 6.0,
                number(tick, Format::Plain)
            );
        }
        for (i, r) in self.rows.iter().enumerate() {
            let y = head + 2.0 + row * i as f64;
            let (from, to) = (x(r.value.min(0.0)), x(r.value.max(0.0)));
            let mid = y + 8.0;
            // Only what is surely not zero has a colour.
            let colour = if r.high < 0.0 {
                "f1"
            } else if r.low > 0.0 {
                "f2"
            } else {
                "f7"
            };
            let _ = write!(
                out,
                "<text x=\"{0:.1}\" y=\"{1:.1}\" text-anchor=\"end\">{2}</text><rect class=\"{colour}\" x=\"{from:.1}\" y=\"{3:.1}\" width=\"{4:.1}\" height=\"12\"/><path class=\"whisker\" d=\"M{5:.1} {mid:.1}H{6:.1}\"/><text class=\"strong\" x=\"{7:.1}\" y=\"{1:.1}\">{8:+.3}</text>",
                left - 8.0,
                y + 12.0,
                escape(&shorten(&r.label, 34)),
                y + 2.0,
                (to - from).max(0.5),
                x(r.low),
                x(r.high),
                right + 8.0,
                r.value
            );
        }
        out.push_str("</svg>");
        out
    }
}

/// A chart as a file of its own, with its styles.
pub fn standalone(svg: &str) -> String {
    let start = svg.find('>').map_or(0, |i| i + 1);
    let (open, rest) = svg.split_at(start);
    let open = open.replacen("<svg ", "<svg xmlns=\"http://www.w3.org/2000/svg\" ", 1);
    format!("{open}<style>{STYLE}</style>{rest}\n")
}

/// A line without axes, to stand in a table or a sentence.
pub fn sparkline(values: &[f64], desc: &str) -> String {
    let max = top(values.iter().copied());
    let mut d = String::new();
    let last = values.len().saturating_sub(1).max(1) as f64;
    for (i, v) in values.iter().enumerate() {
        let (x, y) = (2.0 + 116.0 * i as f64 / last, 25.0 - 22.0 * share(*v, max));
        let _ = write!(d, "{}{x:.1} {y:.1}", if i == 0 { 'M' } else { 'L' });
    }
    format!(
        "<svg class=\"spark\" viewBox=\"0 0 120 28\" role=\"img\" aria-label=\"{}\"><path d=\"{d}\"/></svg>",
        escape(desc)
    )
}

/// Round numbers from 0 to about `max`, at most `steps + 1` of them.
pub fn ticks(max: f64, steps: usize) -> Vec<f64> {
    if !(max.is_finite() && max > 0.0) {
        return vec![0.0];
    }
    let rough = max / steps.max(1) as f64;
    let power = libm::pow(10.0, libm::floor(libm::log10(rough)));
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .map(|m| m * power)
        .find(|s| *s >= rough * 0.999)
        .unwrap_or(rough);
    (0..=steps).map(|i| i as f64 * step).take_while(|v| *v <= max * 1.0001).collect()
}

/// A number for people.
pub fn number(v: f64, format: Format) -> String {
    if !v.is_finite() {
        return "–".into();
    }
    match format {
        Format::Percent => format!("{} %", plain(v * 100.0)),
        Format::Plain => plain(v),
    }
}

fn plain(v: f64) -> String {
    let a = v.abs();
    if a >= 1000.0 {
        let whole = format!("{a:.0}");
        let mut out = String::new();
        for (i, c) in whole.chars().enumerate() {
            if i > 0 && (whole.len() - i).is_multiple_of(3) {
                out.push(',');
            }
            out.push(c);
        }
        return if v < 0.0 { format!("−{out}") } else { out };
    }
    let digits = if a >= 100.0 {
        0
    } else if a >= 10.0 {
        1
    } else {
        3
    };
    let s = format!("{v:.digits$}");
    let s = if s.contains('.') { s.trim_end_matches('0').trim_end_matches('.').to_string() } else { s };
    if s == "-0" { "0".into() } else { s }
}

/// Text for HTML and SVG, in content and in quoted attributes.
pub fn escape(s: &str) -> String {
    let mut out = String::with_capacity(s.len());
    for c in s.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Not allowed in XML, and nothing to see.
            c if (c as u32) < 32 && !matches!(c, '\n' | '\t') => {}
            c => out.push(c),
        }
    }
    out
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
        let svg = DifferenceChart { id: "d".into(), title: "T".into(), desc: "D".into(), rows }.svg();
        // From 210 to 790, zero at 500, 290 for the widest (0.2): 0.1 is half of that.
        assert!(svg.contains("<rect class=\"f1\" x=\"355.0\"") && svg.contains("width=\"145.0\""), "{svg}");
        assert!(svg.contains("<rect class=\"f2\" x=\"500.0\"") && svg.contains("class=\"f7\""));
        assert!(svg.contains("worse &lt;") && svg.contains(">-0.100<") && svg.contains(">+0.050<"));
        let file = standalone(&svg);
        assert!(file.starts_with("<svg xmlns=") && file.contains("<style>") && file.ends_with("</svg>\n"));
        let none = DifferenceChart { id: "d".into(), title: "T".into(), desc: "D".into(), rows: Vec::new() };
        assert!(none.svg().ends_with("</svg>"));
    }

    #[test]
    fn round_ticks() {
        assert_eq!(ticks(1.0, 5), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        assert_eq!(ticks(4700.0, 6), [0.0, 1000.0, 2000.0, 3000.0, 4000.0]);
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(ticks(bad, 5), [0.0]);
        }
    }

    #[test]
    fn numbers_for_people() {
        let table = [
            (0.0, "0"),
            (0.25, "0.25"),
            (1234567.0, "1,234,567"),
            (-1500.0, "−1,500"),
            (12.34, "12.3"),
            (999.6, "1000"),
            (-0.0001, "0"),
        ];
        for (v, s) in table {
            assert_eq!(number(v, Format::Plain), s);
        }
        assert_eq!(number(0.256, Format::Percent), "25.6 %");
        assert_eq!(number(f64::NAN, Format::Plain), "–");
    }

    fn chart() -> LineChart {
        let mut c = LineChart::new("a", "Recall <of> \"x\"", "Shows & tells");
        c.series.push(Series::new(
            "<script>",
            vec![(0.0, 0.0), (5.0, f64::NAN), (10.0, 2.0)],
            Look::Colour(13),
        ));
        c.series.push(Series::new("chance", vec![(0.0, 0.0), (10.0, 1.0)], Look::Reference));
        c
    }

    #[test]
    fn hostile_names_and_values_are_harmless() {
        let svg = chart().svg();
        assert!(!svg.contains("<script") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        assert!(
            svg.contains("Recall &lt;of&gt; &quot;x&quot;")
                && svg.contains("role=\"img\"")
                && svg.contains("<desc")
        );
        // The 14th series has the 4th colour, dashed.
        assert!(svg.contains("curve k3 d1"));
        let empty = LineChart::new("e", "", "").svg();
        assert!(empty.ends_with("</svg>") && !empty.contains("NaN"));
        let bars = BarChart {
            id: "b".into(),
            title: "t".into(),
            desc: "d".into(),
            format: Format::Plain,
            max: None,
            bars: vec![Bar {
                label: "a&b".into(),
                value: f64::INFINITY,
                interval: Some((0.0, 2.0)),
                colour: 99,
                note: None,
            }],
        };
        let svg = bars.svg();
        assert!(svg.contains("a&amp;b") && !svg.contains("inf\""), "{svg}");
        assert!(sparkline(&[], "nothing").contains("<path d=\"\"/>"));
    }

    #[test]
    fn names_do_not_overlap() {
        let mut c = LineChart::new("a", "t", "d");
        for i in 0..20 {
            c.series.push(Series::new(
                format!("s{i}"),
                vec![(0.0, 0.0), (1.0, 0.9 + i as f64 * 0.001)],
                Look::Colour(i),
            ));
        }
        let svg = c.svg();
        let mut ys: Vec<f64> = svg
            .split("class=\"name")
            .skip(1)
            .filter_map(|t| t.split("y=\"").nth(1)?.split('"').next()?.parse().ok())
            .collect();
        assert_eq!(ys.len(), 20);
        ys.sort_by(f64::total_cmp);
        assert!(ys.windows(2).all(|w| w[1] - w[0] > 10.0), "{ys:?}");
        assert!(ys[0] > 0.0 && ys[19] < 440.0);
    }
}
