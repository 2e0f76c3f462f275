//! What an end tag does, by insertion mode (§13.2.6.4).

use super::{Builder, Done, Form, Mode, Odd, scope};
use crate::names::*;

impl<'s> Builder<'s, '_> {
    pub(super) fn end_tag(&mut self, name: Name<'s>) -> Done {
        if self.open.last().is_some_and(|o| !o.html) && self.foreign_end(name)? {
            return Ok(());
        }
        let tag = name.id;
        match self.mode {
            Mode::InBody => self.end_in_body(name),
            Mode::Initial | Mode::BeforeHtml | Mode::BeforeHead => {
                if matches!(tag, HEAD | BODY | HTML | BR) {
                    if self.mode != Mode::BeforeHead {
                        self.push_implied(HTML)?;
                    }
                    self.push_implied(HEAD)?;
                    self.mode = Mode::InHead;
                    return self.end_tag(name);
                }
                if self.mode == Mode::Initial {
                    self.mode = Mode::BeforeHtml;
                }
                Ok(())
            }
            Mode::InHead => match tag {
                HEAD => {
                    self.mode = Mode::AfterHead;
                    Ok(())
                }
                BODY | HTML | BR => {
                    self.pop();
                    self.mode = Mode::AfterHead;
                    self.end_tag(name)
                }
                _ => Ok(()),
            },
            Mode::InHeadNoscript => match tag {
                NOSCRIPT => {
                    self.pop();
                    self.mode = Mode::InHead;
                    Ok(())
                }
                BR => {
                    self.pop();
                    self.mode = Mode::InHead;
                    self.end_tag(name)
                }
                _ => Ok(()),
            },
            Mode::AfterHead => match tag {
                BODY | HTML | BR => {
                    self.leave_head();
                    self.push_implied(BODY)?;
                    self.mode = Mode::InBody;
                    self.end_tag(name)
                }
                _ => Ok(()),
            },
            Mode::AfterBody if tag == HTML => {
                self.mode = Mode::AfterAfterBody;
                Ok(())
            }
            Mode::AfterBody | Mode::AfterAfterBody => {
                self.mode = Mode::InBody;
                self.end_tag(name)
            }
            Mode::InTable => self.end_in_table(name),
            Mode::InTableBody => match tag {
                TBODY | TFOOT | THEAD => match self.in_table_scope(|t| t == tag) {
                    Some(_) => self.end_table_body(),
                    None => Ok(()),
                },
                TABLE => {
                    self.end_table_body()?;
                    self.end_tag(name)
                }
                BODY | CAPTION | COL | COLGROUP | HTML | TD | TH | TR => Ok(()),
                _ => self.end_in_table(name),
            },
            Mode::InRow => match tag {
                TR => self.end_row(),
                TABLE => {
                    self.end_row()?;
                    self.end_tag(name)
                }
                TBODY | TFOOT | THEAD => match self.in_table_scope(|t| t == tag) {
                    Some(_) => {
                        self.end_row()?;
                        self.end_tag(name)
                    }
                    None => Ok(()),
                },
                BODY | CAPTION | COL | COLGROUP | HTML | TD | TH => Ok(()),
                _ => self.end_in_table(name),
            },
            Mode::InCell => match tag {
                TD | TH => {
                    if let Some(place) = self.in_table_scope(|t| t == tag) {
                        self.truncate(place);
                        self.clear_to_marker();
                        self.mode = Mode::InRow;
                    }
                    Ok(())
                }
                BODY | CAPTION | COL | COLGROUP | HTML => Ok(()),
                TABLE | TBODY | TFOOT | THEAD | TR => match self.in_table_scope(|t| t == tag) {
                    Some(_) => {
                        self.close_cell()?;
                        self.end_tag(name)
                    }
                    None => Ok(()),
                },
                _ => self.end_in_body(name),
            },
            Mode::InCaption => match tag {
                CAPTION => {
                    self.close_caption();
                    Ok(())
                }
                TABLE => match self.close_caption() {
                    true => self.end_tag(name),
                    false => Ok(()),
                },
                BODY | COL | COLGROUP | HTML | TBODY | TD | TFOOT | TH | THEAD | TR => Ok(()),
                _ => self.end_in_body(name),
            },
            Mode::InColumnGroup => match tag {
                COLGROUP => {
                    if self.current() == COLGROUP {
                        self.pop();
                        self.mode = Mode::InTable;
                    }
                    Ok(())
                }
                COL | TEMPLATE => Ok(()),
                _ => {
                    if self.current() == COLGROUP {
                        self.pop();
                        self.mode = Mode::InTable;
                        return self.end_tag(name);
                    }
                    Ok(())
                }
            },
        }
    }

    pub(super) fn end_in_table(&mut self, name: Name<'s>) -> Done {
        match name.id {
            TABLE => self.end_table(),
            BODY | CAPTION | COL | COLGROUP | HTML | TBODY | TD | TFOOT | TH | THEAD | TR | TEMPLATE => {
                Ok(())
            }
            // These would insert something in front of the table.
            P | BR => Err(Odd("a paragraph in a table")),
            _ => self.end_in_body(name),
        }
    }

    pub(super) fn end_in_body(&mut self, name: Name<'s>) -> Done {
        let tag = name.id;
        let r = rules(tag);
        if r & FORMAT != 0 {
            return self.adoption_agency(tag);
        }
        if r & CONTAINER != 0 || matches!(tag, BUTTON | LISTING | PREFORMATTED | SELECT) {
            if let Some(place) = self.in_scope(tag) {
                self.truncate(place);
            }
            return Ok(());
        }
        match tag {
            P => {
                if self.in_button_scope(P).is_none() {
                    self.push_implied(P)?;
                }
                self.close_paragraph();
            }
            LI => {
                let found = self.find(|t| t == LI, |o| scope(o) || (o.html && matches!(o.name.id, OL | UL)));
                if let Some(place) = found {
                    self.truncate(place);
                }
            }
            DD | DT => {
                if let Some(place) = self.in_scope(tag) {
                    self.truncate(place);
                }
            }
            H1 | H2 | H3 | H4 | H5 | H6 => {
                if let Some(place) = self.find(|t| rules(t) & HEADING_TAG != 0, scope) {
                    self.truncate(place);
                }
            }
            FORM => self.end_form(),
            APPLET | MARQUEE | OBJECT => {
                if let Some(place) = self.in_scope(tag) {
                    self.truncate(place);
                    self.clear_to_marker();
                }
            }
            BR => {
                self.reconstruct()?;
                self.attrs.clear();
                self.void(Name::known(BR))?;
            }
            BODY | HTML => {
                if self.find(|t| t == BODY, scope).is_some() {
                    self.mode = if tag == BODY { Mode::AfterBody } else { Mode::AfterAfterBody };
                }
            }
            TEMPLATE => {}
            _ => self.other_end(name),
        }
        Ok(())
    }

    pub(super) fn end_form(&mut self) {
        let form = std::mem::replace(&mut self.form, Form::None);
        let Form::Open(place) = form else { return };
        let above = self.open.get(place + 1..).unwrap_or_default();
        if above.iter().any(|o| !o.ghost && scope(o)) {
            return;
        }
        self.implied_ends(UNKNOWN);
        if self.open.len() == place + 1 {
            self.pop();
        } else if let Some(o) = self.open.get_mut(place) {
            o.ghost = true;
        }
    }

    /// Any other end tag: the innermost element of that name, if nothing special is before it.
    pub(super) fn other_end(&mut self, name: Name<'s>) {
        for place in (0..self.open.len()).rev() {
            let Some(o) = self.open.get(place) else { return };
            if o.ghost {
                continue;
            }
            if o.html && o.name.id == name.id && o.name.text == name.text {
                self.truncate(place);
                return;
            }
            if o.html && rules(o.name.id) & SPECIAL_TAG != 0 {
                return;
            }
        }
    }

    /// An end tag in foreign content; `false` when the rules of the mode apply.
    pub(super) fn foreign_end(&mut self, name: Name<'s>) -> Result<bool, Odd> {
        if matches!(name.id, P | BR) {
            return Err(Odd("HTML in foreign content"));
        }
        for place in (0..self.open.len()).rev() {
            let Some(o) = self.open.get(place) else { break };
            if o.html {
                if name.id == UNKNOWN && name.text.bytes().any(|b| b.is_ascii_uppercase()) {
                    return Err(Odd("a name of one's own in capitals"));
                }
                return Ok(false);
            }
            if o.name.text.eq_ignore_ascii_case(name.text) {
                self.truncate(place);
                return Ok(true);
            }
        }
        Ok(false)
    }
}
