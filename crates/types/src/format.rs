//! The documents that can be read. Scope, fetcher, extraction, docs and tests read this one list.

use crate::{PageKind, Problem};
use serde::{Deserialize, Serialize};

/// A kind of document.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// How `[scope] documents` calls it.
    pub name: &'static str,
    /// What a page made of it is.
    pub kind: PageKind,
    /// Media types that servers give it; the first is the registered one.
    pub media_types: &'static [&'static str],
    /// Endings of file names.
    pub extensions: &'static [&'static str],
}

/// All of them.
pub const FORMATS: [Format; 11] = [
    Format {
        name: "pdf",
        kind: PageKind::Pdf,
        media_types: &["application/pdf", "application/x-pdf"],
        extensions: &["pdf"],
    },
    Format {
        name: "docx",
        kind: PageKind::Docx,
        media_types: &[
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.template",
            "application/vnd.ms-word.document.macroenabled.12",
        ],
        extensions: &["docx", "docm", "dotx"],
    },
    Format {
        name: "pptx",
        kind: PageKind::Pptx,
        media_types: &[
            "application/vnd.openxmlformats-officedocument.presentationml.presentation",
            "application/vnd.openxmlformats-officedocument.presentationml.slideshow",
            "application/vnd.openxmlformats-officedocument.presentationml.template",
            "application/vnd.ms-powerpoint.presentation.macroenabled.12",
        ],
        extensions: &["pptx", "pptm", "ppsx", "potx"],
    },
    Format {
        name: "xlsx",
        kind: PageKind::Xlsx,
        media_types: &[
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            "application/vnd.openxmlformats-officedocument.spreadsheetml.template",
            "application/vnd.ms-excel.sheet.macroenabled.12",
        ],
        extensions: &["xlsx", "xlsm", "xltx"],
    },
    Format {
        name: "odt",
        kind: PageKind::Odt,
        media_types: &[
            "application/vnd.oasis.opendocument.text",
            "application/vnd.oasis.opendocument.text-template",
        ],
        extensions: &["odt", "ott"],
    },
    Format {
        name: "odp",
        kind: PageKind::Odp,
        media_types: &[
            "application/vnd.oasis.opendocument.presentation",
            "application/vnd.oasis.opendocument.presentation-template",
        ],
        extensions: &["odp", "otp"],
    },
    Format {
        name: "ods",
        kind: PageKind::Ods,
        media_types: &[
            "application/vnd.oasis.opendocument.spreadsheet",
            "application/vnd.oasis.opendocument.spreadsheet-template",
        ],
        extensions: &["ods", "ots"],
    },
    Format {
        name: "epub",
        kind: PageKind::Epub,
        media_types: &["application/epub+zip"],
        extensions: &["epub"],
    },
    Format {
        name: "rtf",
        kind: PageKind::Rtf,
        media_types: &["application/rtf", "text/rtf", "application/x-rtf", "text/richtext"],
        extensions: &["rtf"],
    },
    Format {
        name: "markdown",
        kind: PageKind::Markdown,
        media_types: &["text/markdown", "text/x-markdown"],
        extensions: &["md", "markdown", "mkd"],
    },
    Format { name: "text", kind: PageKind::Text, media_types: &["text/plain"], extensions: &["txt", "text"] },
];

impl Format {
    /// The format that servers call so: lower case, without parameters.
    pub fn of_media_type(media_type: &str) -> Option<&'static Format> {
        FORMATS.iter().find(|f| f.media_types.contains(&media_type))
    }

    /// The format of files whose names end so, in whatever case.
    pub fn of_extension(extension: &str) -> Option<&'static Format> {
        FORMATS.iter().find(|f| f.extensions.iter().any(|e| e.eq_ignore_ascii_case(extension)))
    }

    /// The format that the path of a URL, or of a file, promises.
    pub fn of_path(path: &str) -> Option<&'static Format> {
        let name = path.rsplit('/').next()?;
        let (stem, extension) = name.rsplit_once('.')?;
        if stem.is_empty() { None } else { Format::of_extension(extension) }
    }
}

/// A choice of [`FORMATS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Formats(u32);

impl Default for Formats {
    fn default() -> Formats {
        Formats::all()
    }
}

impl Formats {
    /// Whatever can be read.
    pub fn all() -> Formats {
        Formats((1 << FORMATS.len()) - 1)
    }

    /// Those of these names.
    pub fn named<S: AsRef<str>>(names: &[S]) -> Result<Formats, Problem> {
        let mut all = 0;
        for name in names {
            let name = name.as_ref().trim().trim_start_matches('.').to_ascii_lowercase();
            let at = FORMATS.iter().position(|f| f.name == name).ok_or_else(|| {
                let known: Vec<&str> = FORMATS.iter().map(|f| f.name).collect();
                Problem::usage(format!("[scope] documents: `{name}` is no kind of document"))
                    .hint(format!("known: {}", known.join(", ")))
            })?;
            all |= 1 << at;
        }
        Ok(Formats(all))
    }

    /// Is a page of this kind among them? A page that is no document always is.
    pub fn has(self, kind: PageKind) -> bool {
        FORMATS.iter().position(|f| f.kind == kind).is_none_or(|at| self.0 & 1 << at != 0)
    }

    /// Those that were chosen.
    pub fn iter(self) -> impl Iterator<Item = &'static Format> {
        FORMATS.iter().filter(move |f| self.has(f.kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_types_and_endings_belong_to_one_format() {
        for (i, one) in FORMATS.iter().enumerate() {
            for other in FORMATS.iter().skip(i + 1) {
                assert_ne!(one.name, other.name);
                assert!(one.media_types.iter().all(|m| !other.media_types.contains(m)), "{}", one.name);
                assert!(one.extensions.iter().all(|e| !other.extensions.contains(e)), "{}", one.name);
            }
            assert!(one.media_types.iter().all(|m| *m == m.to_lowercase()));
        }
        assert_eq!(Format::of_path("/a/Notes.DOCX").map(|f| f.name), Some("docx"));
        assert!(Format::of_path("/a/.md").is_none() && Format::of_path("/a.docx/b").is_none());
    }

    #[test]
    fn a_choice() {
        let some = Formats::named(&["PDF", ".docx"]).unwrap();
        assert_eq!(some.iter().map(|f| f.name).collect::<Vec<_>>(), ["pdf", "docx"]);
        assert!(some.has(PageKind::Html) && !some.has(PageKind::Rtf));
        assert!(Formats::named(&["doc"]).unwrap_err().to_string().contains("known: pdf, docx"));
    }
}
