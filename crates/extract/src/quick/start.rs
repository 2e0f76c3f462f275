//! What a start tag does, by insertion mode (§13.2.6.4).

use super::{Builder, Done, Form, Formatting, Mode, Odd, is_integration_point};
use crate::names::*;
use crate::source::{Quirks, TagToken, decoded};
use memchr::memmem;
use std::borrow::Cow;

impl<'s> Builder<'s, '_> {
    /// `at`: where the tag begins in the source.
    pub(super) fn start_tag(&mut self, token: &TagToken<'s>, at: usize) -> Done {
        if let Some(current) = self.open.last().filter(|o| !o.html) {
            if is_integration_point(current) {
                return Err(Odd("HTML inside foreign content"));
            }
            return self.foreign_start(token);
        }
        let tag = token.name.id;
        match self.mode {
            Mode::InBody => self.start_in_body(token, at),
            Mode::Initial | Mode::BeforeHtml => {
                // Without a doctype the page is in quirks mode, which is how it starts.
                if tag == HTML {
                    self.push(token.name, true)?;
                    self.mode = Mode::BeforeHead;
                    return Ok(());
                }
                self.push_implied(HTML)?;
                self.mode = Mode::BeforeHead;
                self.start_tag(token, at)
            }
            Mode::BeforeHead => match tag {
                HTML => self.html_again(),
                HEAD => {
                    self.push(token.name, true)?;
                    self.mode = Mode::InHead;
                    Ok(())
                }
                _ => {
                    self.push_implied(HEAD)?;
                    self.mode = Mode::InHead;
                    self.start_tag(token, at)
                }
            },
            Mode::InHead => match tag {
                HTML => self.html_again(),
                HEAD => Ok(()),
                NOSCRIPT => {
                    self.push(token.name, true)?;
                    self.mode = Mode::InHeadNoscript;
                    Ok(())
                }
                BASE | BASEFONT | BGSOUND | LINK | META | TITLE | NOFRAMES | STYLE | SCRIPT | TEMPLATE => {
                    self.in_head(token)
                }
                _ => {
                    self.pop();
                    self.mode = Mode::AfterHead;
                    self.start_tag(token, at)
                }
            },
            Mode::InHeadNoscript => match tag {
                HTML => self.html_again(),
                BASEFONT | BGSOUND | LINK | META | NOFRAMES | STYLE => self.in_head(token),
                HEAD | NOSCRIPT => Ok(()),
                _ => {
                    self.pop();
                    self.mode = Mode::InHead;
                    self.start_tag(token, at)
                }
            },
            Mode::AfterHead => match tag {
                HTML => self.html_again(),
                BODY => {
                    self.leave_head();
                    self.push(token.name, true)?;
                    self.mode = Mode::InBody;
                    Ok(())
                }
                FRAMESET => Err(Odd("a frameset")),
                BASE | BASEFONT | BGSOUND | LINK | META | TITLE | NOFRAMES | STYLE | SCRIPT | TEMPLATE => {
                    // It goes into the head, which is why that is left only when it must be.
                    if self.current() == HEAD {
                        self.in_head(token)
                    } else {
                        Err(Odd("metadata after the head and a comment"))
                    }
                }
                HEAD => Ok(()),
                _ => {
                    self.leave_head();
                    self.push_implied(BODY)?;
                    self.mode = Mode::InBody;
                    self.start_tag(token, at)
                }
            },
            Mode::AfterBody | Mode::AfterAfterBody => {
                if tag == HTML {
                    return self.html_again();
                }
                self.mode = Mode::InBody;
                self.start_tag(token, at)
            }
            Mode::InTable => self.start_in_table(token, at),
            Mode::InTableBody => match tag {
                TR => {
                    self.clear_back_to(&[TBODY, TFOOT, THEAD])?;
                    self.push(token.name, true)?;
                    self.mode = Mode::InRow;
                    Ok(())
                }
                TH | TD => {
                    self.clear_back_to(&[TBODY, TFOOT, THEAD])?;
                    self.push_implied(TR)?;
                    self.mode = Mode::InRow;
                    self.start_tag(token, at)
                }
                CAPTION | COL | COLGROUP | TBODY | TFOOT | THEAD => {
                    self.end_table_body()?;
                    self.start_tag(token, at)
                }
                _ => self.start_in_table(token, at),
            },
            Mode::InRow => match tag {
                TH | TD => {
                    self.clear_back_to(&[TR])?;
                    self.push(token.name, true)?;
                    self.mode = Mode::InCell;
                    self.formatting.push(Formatting::Marker);
                    Ok(())
                }
                CAPTION | COL | COLGROUP | TBODY | TFOOT | THEAD | TR => {
                    self.end_row()?;
                    self.start_tag(token, at)
                }
                _ => self.start_in_table(token, at),
            },
            Mode::InCell => {
                if rules(tag) & TABLE_PART != 0 {
                    self.close_cell()?;
                    return self.start_tag(token, at);
                }
                self.start_in_body(token, at)
            }
            Mode::InCaption => {
                if rules(tag) & TABLE_PART != 0 {
                    return match self.close_caption() {
                        true => self.start_tag(token, at),
                        false => Ok(()),
                    };
                }
                self.start_in_body(token, at)
            }
            Mode::InColumnGroup => match tag {
                HTML => self.html_again(),
                COL => self.void(token.name),
                TEMPLATE => Err(Odd("a template")),
                _ => {
                    if self.current() == COLGROUP {
                        self.pop();
                        self.mode = Mode::InTable;
                        return self.start_tag(token, at);
                    }
                    Ok(())
                }
            },
        }
    }

    /// A second `<html>` only adds attributes to the first, and few of those mean anything.
    pub(super) fn html_again(&mut self) -> Done {
        const ASKED: [Attr; 5] = [Attr::Lang, Attr::XmlLang, Attr::Role, Attr::Id, Attr::Class];
        if ASKED.iter().any(|a| self.attrs.has(*a)) {
            return Err(Odd("attributes of a second html tag"));
        }
        Ok(())
    }

    /// So does a second `<body>`. Often it is the only one in the source: text in the head has begun the body
    /// before.
    fn body_again(&mut self) -> Done {
        if self.attrs.has(Attr::Role) || !self.walk.body_again(&mut self.attrs) {
            return Err(Odd("attributes of a second body tag"));
        }
        Ok(())
    }

    /// After its end tag the head stays open for metadata that comes too late.
    pub(super) fn leave_head(&mut self) {
        if self.current() == HEAD {
            self.pop();
        }
    }

    /// Brings the tree to where the body begins.
    pub(super) fn begin_body(&mut self) {
        // None of these can nest too deeply.
        if matches!(self.mode, Mode::Initial | Mode::BeforeHtml) {
            let _ = self.push_implied(HTML);
            self.mode = Mode::BeforeHead;
        }
        if self.mode == Mode::BeforeHead {
            let _ = self.push_implied(HEAD);
            self.mode = Mode::InHead;
        }
        if self.mode == Mode::InHeadNoscript {
            self.pop();
            self.mode = Mode::InHead;
        }
        if self.mode == Mode::InHead {
            self.pop();
            self.mode = Mode::AfterHead;
        }
        if self.mode == Mode::AfterHead {
            self.leave_head();
            let _ = self.push_implied(BODY);
            self.mode = Mode::InBody;
        }
    }

    /// What the rules of the head say, wherever it is met.
    pub(super) fn in_head(&mut self, token: &TagToken<'s>) -> Done {
        match token.name.id {
            BASE | BASEFONT | BGSOUND | LINK | META => self.void(token.name),
            TITLE => self.rcdata(token.name),
            NOFRAMES | STYLE => self.rawtext(token.name),
            SCRIPT => self.script(token.name),
            _ => Err(Odd("a template")),
        }
    }

    /// An element whose contents are text without tags.
    pub(super) fn rawtext(&mut self, name: Name<'s>) -> Done {
        self.push(name, true)?;
        let text = self.source.raw(name.text);
        self.push_text(text);
        self.raw_end()
    }

    pub(super) fn rcdata(&mut self, name: Name<'s>) -> Done {
        self.push(name, true)?;
        let text = decoded(self.source.raw(name.text), false);
        let skipped = usize::from(name.id == TEXTAREA && text.starts_with('\n'));
        match text {
            Cow::Borrowed(text) => self.push_text(text.get(skipped..).unwrap_or_default()),
            Cow::Owned(text) => {
                self.move_to_buffer();
                self.buffer.push_str(text.get(skipped..).unwrap_or_default());
            }
        }
        self.raw_end()
    }

    pub(super) fn script(&mut self, name: Name<'s>) -> Done {
        self.push(name, true)?;
        let text = self.source.raw(name.text);
        if let Some(n) = memmem::find(text.as_bytes(), b"<!--")
            && text.as_bytes()[n..].windows(7).any(|w| w.eq_ignore_ascii_case(b"<script"))
        {
            return Err(Odd("a script in a comment in a script"));
        }
        self.raw_end()
    }

    /// The end tag of raw text is next, or the end of the source is.
    pub(super) fn raw_end(&mut self) -> Done {
        if self.source.peek(0).is_some() {
            self.source.at += 2;
            let mut attrs = std::mem::take(&mut self.attrs);
            let token = self.source.tag(&mut attrs, false)?;
            self.attrs = attrs;
            if token.is_none() {
                return Err(Odd("an unfinished end tag"));
            }
        }
        self.pop();
        Ok(())
    }

    pub(super) fn start_in_body(&mut self, token: &TagToken<'s>, at: usize) -> Done {
        let tag = token.name.id;
        let r = rules(tag);
        if r & FORMAT != 0 {
            if tag == A {
                self.close_open_link()?;
            }
            self.reconstruct()?;
            if tag == NOBR && self.in_scope(NOBR).is_some() {
                self.adoption_agency(NOBR)?;
                self.reconstruct()?;
            }
            return self.push_formatting(token, at);
        }
        if r & CONTAINER != 0 {
            self.close_paragraph();
            return self.push(token.name, true);
        }
        match tag {
            P => {
                self.close_paragraph();
                self.push(token.name, true)
            }
            LI | DD | DT => {
                self.close_item(tag == LI);
                self.close_paragraph();
                self.push(token.name, true)
            }
            H1 | H2 | H3 | H4 | H5 | H6 => {
                self.close_paragraph();
                if rules(self.current()) & HEADING_TAG != 0 {
                    self.pop();
                }
                self.push(token.name, true)
            }
            PREFORMATTED | LISTING => {
                self.close_paragraph();
                self.push(token.name, true)?;
                self.skip_newline = true;
                Ok(())
            }
            FORM => {
                if self.form != Form::None {
                    return Ok(());
                }
                self.close_paragraph();
                self.push(token.name, true)?;
                self.form = Form::Open(self.open.len() - 1);
                Ok(())
            }
            BUTTON => {
                if let Some(place) = self.in_scope(BUTTON) {
                    self.truncate(place);
                }
                self.reconstruct()?;
                self.push(token.name, true)
            }
            APPLET | MARQUEE | OBJECT => {
                self.reconstruct()?;
                self.push(token.name, true)?;
                self.formatting.push(Formatting::Marker);
                Ok(())
            }
            TABLE => {
                if self.in_button_scope(P).is_some() {
                    match self.quirks {
                        Quirks::No => self.close_paragraph(),
                        Quirks::Yes => {}
                        Quirks::Unknown => {
                            return Err(Odd("a table in a paragraph under an unusual doctype"));
                        }
                    }
                }
                self.push(token.name, true)?;
                self.mode = Mode::InTable;
                Ok(())
            }
            AREA | BR | EMBED | IMG | KEYGEN | WBR => {
                self.reconstruct()?;
                self.void(token.name)
            }
            IMAGE => {
                self.reconstruct()?;
                self.void(Name::known(IMG))
            }
            INPUT => {
                if let Some(place) = self.in_scope(SELECT) {
                    self.truncate(place);
                }
                self.reconstruct()?;
                self.void(token.name)
            }
            PARAM | SOURCE | TRACK => self.void(token.name),
            HR => {
                self.close_paragraph();
                if self.in_scope(SELECT).is_some() {
                    self.implied_ends(UNKNOWN);
                }
                self.void(token.name)
            }
            TEXTAREA => self.rcdata(token.name),
            XMP => {
                self.close_paragraph();
                self.reconstruct()?;
                self.rawtext(token.name)
            }
            IFRAME | NOEMBED => self.rawtext(token.name),
            SELECT => {
                if let Some(place) = self.in_scope(SELECT) {
                    self.truncate(place);
                    return Ok(());
                }
                self.reconstruct()?;
                self.push(token.name, true)
            }
            OPTION | OPTGROUP => {
                if self.in_scope(SELECT).is_some() {
                    self.implied_ends(if tag == OPTION { OPTGROUP } else { UNKNOWN });
                } else if self.current() == OPTION {
                    self.pop();
                }
                self.reconstruct()?;
                self.push(token.name, true)
            }
            RB | RTC | RP | RT => {
                if self.in_scope(RUBY).is_some() {
                    self.implied_ends(if matches!(tag, RP | RT) { RTC } else { UNKNOWN });
                }
                self.push(token.name, true)
            }
            SVG | MATH => {
                self.reconstruct()?;
                self.foreign_element(token)
            }
            BASE | BASEFONT | BGSOUND | LINK | META | NOFRAMES | SCRIPT | STYLE | TEMPLATE | TITLE => {
                self.in_head(token)
            }
            HTML => self.html_again(),
            BODY => self.body_again(),
            FRAME | HEAD => Ok(()),
            FRAMESET => Err(Odd("a frameset")),
            PLAINTEXT => Err(Odd("plaintext")),
            _ if r & TABLE_PART != 0 => Ok(()),
            _ => {
                self.reconstruct()?;
                self.push(token.name, true)
            }
        }
    }

    /// An unclosed link ends where the next one begins.
    pub(super) fn close_open_link(&mut self) -> Done {
        let mut entry = None;
        for f in self.formatting.iter().rev() {
            match f {
                Formatting::Marker => break,
                Formatting::Element { tag: A, at, open } => {
                    entry = Some((*at, *open));
                    break;
                }
                Formatting::Element { .. } => {}
            }
        }
        let Some((at, open)) = entry else { return Ok(()) };
        self.adoption_agency(A)?;
        let listed = |f: &Formatting| matches!(f, Formatting::Element { tag: A, at: a, open: o } if *a == at && *o == open);
        if self.formatting.iter().any(listed) {
            return Err(Odd("a link out of scope"));
        }
        Ok(())
    }

    /// `<li>` ends the item before it, `<dd>` and `<dt>` those before them.
    pub(super) fn close_item(&mut self, list: bool) {
        let wanted = |t: Tag| if list { t == LI } else { matches!(t, DD | DT) };
        let found = self.find(wanted, |o| {
            o.html && rules(o.name.id) & SPECIAL_TAG != 0 && !matches!(o.name.id, ADDRESS | DIV | P)
        });
        if let Some(place) = found {
            self.truncate(place);
        }
    }

    // ---- tables -------------------------------------------------------------------------------------------

    pub(super) fn start_in_table(&mut self, token: &TagToken<'s>, at: usize) -> Done {
        match token.name.id {
            CAPTION => {
                self.clear_back_to(&[TABLE])?;
                self.formatting.push(Formatting::Marker);
                self.push(token.name, true)?;
                self.mode = Mode::InCaption;
                Ok(())
            }
            COLGROUP => {
                self.clear_back_to(&[TABLE])?;
                self.push(token.name, true)?;
                self.mode = Mode::InColumnGroup;
                Ok(())
            }
            COL => {
                self.clear_back_to(&[TABLE])?;
                self.push_implied(COLGROUP)?;
                self.mode = Mode::InColumnGroup;
                self.start_tag(token, at)
            }
            TBODY | TFOOT | THEAD => {
                self.clear_back_to(&[TABLE])?;
                self.push(token.name, true)?;
                self.mode = Mode::InTableBody;
                Ok(())
            }
            TD | TH | TR => {
                self.clear_back_to(&[TABLE])?;
                self.push_implied(TBODY)?;
                self.mode = Mode::InTableBody;
                self.start_tag(token, at)
            }
            TABLE => {
                self.end_table()?;
                self.start_tag(token, at)
            }
            STYLE | SCRIPT => self.in_head(token),
            TEMPLATE => Err(Odd("a template")),
            INPUT if self.attrs.get(Attr::Type).is_some_and(|t| t.eq_ignore_ascii_case("hidden")) => {
                self.void(token.name)
            }
            FORM => {
                if self.form == Form::None {
                    self.void(token.name)?;
                    self.form = Form::Gone;
                }
                Ok(())
            }
            _ => Err(Odd("an element in a table")),
        }
    }

    /// Ends the innermost table.
    pub(super) fn end_table(&mut self) -> Done {
        if let Some(place) = self.in_table_scope(|t| t == TABLE) {
            self.truncate(place);
            self.reset_mode()?;
        }
        Ok(())
    }

    pub(super) fn end_table_body(&mut self) -> Done {
        self.clear_back_to(&[TBODY, TFOOT, THEAD])?;
        self.pop();
        self.mode = Mode::InTable;
        Ok(())
    }

    pub(super) fn end_row(&mut self) -> Done {
        if self.in_table_scope(|t| t == TR).is_none() {
            return Err(Odd("a row that is not there"));
        }
        self.clear_back_to(&[TR])?;
        self.pop();
        self.mode = Mode::InTableBody;
        Ok(())
    }

    pub(super) fn close_cell(&mut self) -> Done {
        let cell = self.in_table_scope(|t| matches!(t, TD | TH)).ok_or(Odd("a cell that is not there"))?;
        self.truncate(cell);
        self.clear_to_marker();
        self.mode = Mode::InRow;
        Ok(())
    }

    /// `false` when there is none.
    pub(super) fn close_caption(&mut self) -> bool {
        let Some(place) = self.in_table_scope(|t| t == CAPTION) else { return false };
        self.truncate(place);
        self.clear_to_marker();
        self.mode = Mode::InTable;
        true
    }

    /// The mode that the open elements ask for.
    pub(super) fn reset_mode(&mut self) -> Done {
        for o in self.open.iter().rev().filter(|o| !o.ghost && o.html) {
            self.mode = match o.name.id {
                TD | TH => Mode::InCell,
                TR => Mode::InRow,
                TBODY | THEAD | TFOOT => Mode::InTableBody,
                CAPTION => Mode::InCaption,
                COLGROUP => Mode::InColumnGroup,
                TABLE => Mode::InTable,
                BODY => Mode::InBody,
                HTML | HEAD | TEMPLATE | FRAMESET => return Err(Odd("a table outside the body")),
                _ => continue,
            };
            return Ok(());
        }
        Err(Odd("nothing is open"))
    }

    pub(super) fn foreign_start(&mut self, token: &TagToken<'s>) -> Done {
        if rules(token.name.id) & BREAKS_OUT != 0 {
            return Err(Odd("HTML in foreign content"));
        }
        self.foreign_element(token)
    }

    pub(super) fn foreign_element(&mut self, token: &TagToken<'s>) -> Done {
        if matches!(token.name.id, FOREIGN_OBJECT | ANNOTATION_XML) {
            return Err(Odd("HTML inside foreign content"));
        }
        if token.name.id == A {
            // Its `href` may have a prefix, and the names around it capitals.
            return Err(Odd("a link in foreign content"));
        }
        let inherited = self.open.last().filter(|o| !o.html).map(|o| o.svg);
        self.push(token.name, false)?;
        if let Some(o) = self.open.last_mut() {
            o.svg = inherited.unwrap_or(token.name.id == SVG);
        }
        if token.self_closing {
            self.pop();
        }
        Ok(())
    }
}
