//! The stack of open elements, and the list of formatting elements that are still in force.

use super::{Builder, Done, Form, Formatting, MAX_DEPTH, MAX_FORMATTING, Odd, Open, scope};
use crate::names::*;
use crate::source::TagToken;
use crate::walk::Attrs;

impl<'s> Builder<'s, '_> {
    pub(super) fn push(&mut self, name: Name<'s>, html: bool) -> Done {
        if self.open.len() >= MAX_DEPTH {
            return Err(Odd("deep nesting"));
        }
        self.flush();
        if self.walk.is_opaque() {
            return Err(Odd("elements in an SVG style or script"));
        }
        let mut attrs = std::mem::take(&mut self.attrs);
        self.walk.enter(name, html, &mut attrs);
        self.attrs = attrs;
        self.open.push(Open { name, html, svg: false, ghost: false, listed: false });
        Ok(())
    }

    /// An element that no tag stands for.
    pub(super) fn push_implied(&mut self, tag: Tag) -> Done {
        let attrs = std::mem::take(&mut self.attrs);
        let pushed = self.push(Name::known(tag), true);
        self.attrs = attrs;
        pushed
    }

    /// An element without contents.
    pub(super) fn void(&mut self, name: Name<'s>) -> Done {
        if name.id == BASE && !self.base_set && self.attrs.has(Attr::Href) {
            self.base_set = true;
            let href = self.attrs.get(Attr::Href).unwrap_or_default().to_string();
            if !self.walk.set_base(&href) {
                return Err(Odd("a base after links"));
            }
        }
        self.push(name, true)?;
        self.pop();
        Ok(())
    }

    pub(super) fn pop(&mut self) {
        self.pop_one();
        while self.open.last().is_some_and(|o| o.ghost) {
            self.pop_one();
        }
    }

    pub(super) fn pop_one(&mut self) {
        self.flush();
        let Some(was) = self.open.pop() else { return };
        self.walk.leave();
        let place = self.open.len();
        if was.listed {
            for f in &mut self.formatting {
                if let Formatting::Element { open, .. } = f
                    && *open == Some(place)
                {
                    *open = None;
                }
            }
        }
        if self.form == Form::Open(place) {
            self.form = Form::Gone;
        }
    }

    /// Pops everything from this place on.
    pub(super) fn truncate(&mut self, place: usize) {
        while self.open.len() > place {
            self.pop();
        }
    }

    #[inline]
    pub(super) fn current(&self) -> Tag {
        self.open.last().filter(|o| o.html).map_or(UNKNOWN, |o| o.name.id)
    }

    /// The place of the innermost HTML element that `wanted` accepts, unless one that `limit` accepts is
    /// before it.
    #[inline]
    pub(super) fn find(
        &self,
        wanted: impl Fn(Tag) -> bool,
        limit: impl Fn(&Open<'s>) -> bool,
    ) -> Option<usize> {
        for (place, o) in self.open.iter().enumerate().rev() {
            if o.ghost {
                continue;
            }
            if o.html && wanted(o.name.id) {
                return Some(place);
            }
            if limit(o) {
                return None;
            }
        }
        None
    }

    pub(super) fn in_scope(&self, tag: Tag) -> Option<usize> {
        self.find(|t| t == tag, scope)
    }
    pub(super) fn in_button_scope(&self, tag: Tag) -> Option<usize> {
        self.find(|t| t == tag, |o| scope(o) || (o.html && o.name.id == BUTTON))
    }
    pub(super) fn in_table_scope(&self, wanted: impl Fn(Tag) -> bool) -> Option<usize> {
        self.find(wanted, |o| o.html && matches!(o.name.id, HTML | TABLE | TEMPLATE))
    }

    pub(super) fn implied_ends(&mut self, except: Tag) {
        while let Some(o) = self.open.last()
            && o.html
            && rules(o.name.id) & IMPLIED != 0
            && o.name.id != except
        {
            self.pop();
        }
    }

    pub(super) fn close_paragraph(&mut self) {
        if let Some(place) = self.in_button_scope(P) {
            self.truncate(place);
        }
    }

    /// Pops until the current element is one of these.
    pub(super) fn clear_back_to(&mut self, context: &[Tag]) -> Done {
        while let Some(o) = self.open.last() {
            if o.html && (context.contains(&o.name.id) || matches!(o.name.id, HTML | TEMPLATE)) {
                return Ok(());
            }
            self.pop();
        }
        Err(Odd("a table without an end"))
    }

    // ---- formatting elements ------------------------------------------------------------------------------

    /// Opens again what was closed by others than itself.
    #[inline]
    pub(super) fn reconstruct(&mut self) -> Done {
        match self.formatting.last() {
            None | Some(Formatting::Marker | Formatting::Element { open: Some(_), .. }) => Ok(()),
            Some(_) => self.reopen(),
        }
    }

    pub(super) fn reopen(&mut self) -> Done {
        let closed = |f: &Formatting| matches!(f, Formatting::Element { open: None, .. });
        let from = self.formatting.iter().rposition(|f| !closed(f)).map_or(0, |i| i + 1);
        let here = self.source.at;
        let attrs = std::mem::take(&mut self.attrs);
        for i in from..self.formatting.len() {
            let Some(Formatting::Element { tag, at, .. }) = self.formatting.get(i).copied() else { continue };
            let mut again = Attrs::default();
            self.source.at = at + 1;
            self.source.tag(&mut again, false)?;
            self.attrs = again;
            self.push(Name::known(tag), true)?;
            self.set_listed(i, tag, at);
        }
        self.source.at = here;
        self.attrs = attrs;
        Ok(())
    }

    /// The current element is the `i`th of the list.
    pub(super) fn set_listed(&mut self, i: usize, tag: Tag, at: usize) {
        let place = self.open.len().saturating_sub(1);
        if let Some(o) = self.open.last_mut() {
            o.listed = true;
        }
        let entry = Formatting::Element { tag, at, open: Some(place) };
        match self.formatting.get_mut(i) {
            Some(f) => *f = entry,
            None => self.formatting.push(entry),
        }
    }

    pub(super) fn push_formatting(&mut self, token: &TagToken<'s>, at: usize) -> Done {
        let tag = token.name.id;
        let since_marker = self.formatting.iter().rev().take_while(|f| !matches!(f, Formatting::Marker));
        let same =
            since_marker.filter(|f| matches!(f, Formatting::Element { tag: t, .. } if *t == tag)).count();
        if same >= 3 {
            // A fourth one that is the same in all attributes would replace the first.
            return Err(Odd("the same formatting four times"));
        }
        if self.formatting.len() >= MAX_FORMATTING {
            return Err(Odd("much open formatting"));
        }
        self.push(token.name, true)?;
        self.set_listed(self.formatting.len(), tag, at);
        Ok(())
    }

    pub(super) fn clear_to_marker(&mut self) {
        while let Some(f) = self.formatting.pop() {
            match f {
                Formatting::Marker => return,
                Formatting::Element { open: Some(place), .. } => {
                    if let Some(o) = self.open.get_mut(place) {
                        o.listed = false;
                    }
                }
                Formatting::Element { .. } => {}
            }
        }
    }

    /// The end of a formatting element, as far as nothing has to be torn apart.
    pub(super) fn adoption_agency(&mut self, tag: Tag) -> Done {
        if self.current() == tag && self.open.last().is_some_and(|o| !o.listed) {
            self.pop();
            return Ok(());
        }
        let mut entry = None;
        for (i, f) in self.formatting.iter().enumerate().rev() {
            match f {
                Formatting::Marker => break,
                Formatting::Element { tag: t, open, .. } if *t == tag => {
                    entry = Some((i, *open));
                    break;
                }
                Formatting::Element { .. } => {}
            }
        }
        let Some((i, open)) = entry else {
            self.other_end(Name::known(tag));
            return Ok(());
        };
        let Some(place) = open else {
            self.formatting.remove(i);
            return Ok(());
        };
        let above = self.open.get(place + 1..).unwrap_or_default();
        if above.iter().any(|o| !o.ghost && scope(o)) {
            // Not in scope: the tag is ignored.
            return Ok(());
        }
        if above.iter().any(|o| !o.ghost && o.html && rules(o.name.id) & SPECIAL_TAG != 0) {
            return Err(Odd("a block inside formatting that ends"));
        }
        self.formatting.remove(i);
        if let Some(o) = self.open.get_mut(place) {
            o.listed = false;
        }
        self.truncate(place);
        Ok(())
    }
}
