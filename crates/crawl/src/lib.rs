//! crawl
