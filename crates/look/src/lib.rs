//! One look for all that people see in a browser: the stylesheet, the charts, and the frame of a report.
//!
//! The dashboard serves [`APP_CSS`], [`CHART_CSS`] and [`CHART_JS`] as files; a report ([`Page`]) carries
//! them inside, with its data as JSON, and needs nothing else: no network, no other file. Text from the Web
//! is text in both. A report escapes it in the markup ([`escape`]) and in the data, and its policy lets no
//! script run but ours.

#![warn(missing_docs)]

mod chart;
mod page;

pub use chart::{Bin, Chart, Histogram, Lines, Ranked, Ranking, Series, Unit, number};
pub use page::{Page, escape, with_code};

/// Colours, type and controls of the dashboard and of reports.
pub const APP_CSS: &str = include_str!("../assets/app.css");
/// What `chart.js` draws looks like this.
pub const CHART_CSS: &str = include_str!("../assets/chart.css");
/// Draws charts from their data in the browser.
pub const CHART_JS: &str = include_str!("../assets/chart.js");
/// The program's icon, for the tab of the browser.
pub const ICON: &str = include_str!("../assets/icon.svg");
