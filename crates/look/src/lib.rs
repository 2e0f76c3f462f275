//! One look for all that people see in a browser: the stylesheet, the charts, and the frame of a report.
//!
//! The dashboard serves [`APP_CSS`], [`CHART_CSS`] and [`CHART_JS`] as files; a report ([`Page`]) carries them
//! inside, with its data as JSON, and needs nothing else: no network, no other file. Text from the Web is text in
//! both. A report escapes it in the markup ([`escape`]) and in the data, and its policy lets no script run but ours.

mod chart;
mod page;

pub use chart::{Bin, Chart, Histogram, Lines, Ranked, Ranking, Series, Unit, number};
pub use page::{Page, escape, with_code};

pub const APP_CSS: &str = include_str!("../assets/app.css");
pub const CHART_CSS: &str = include_str!("../assets/chart.css");
pub const CHART_JS: &str = include_str!("../assets/chart.js");
pub const ICON: &str = include_str!("../assets/icon.svg");
