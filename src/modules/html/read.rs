//! Functions that read a body as HTML or XML.

use super::page::Page;
use super::selectors::Selectors;
use super::{builder, xml};
use crate::modules::text::squeeze;

impl Page {
    /// Reads an HTML page.
    pub(crate) fn read(html: &str, selectors: &Selectors) -> Self {
        builder::read(html, selectors)
    }

    /// Reads an XML body: its elements, and the text of the first `<title>`.
    pub(crate) fn read_xml(xml: &str, selectors: &Selectors) -> Self {
        xml::read(xml, selectors)
    }
}

/// Returns whether the beginning of a body has an XML prolog. XHTML counts as HTML.
pub(crate) fn has_xml_prolog(text: &str) -> bool {
    xml::has_prolog(text)
}

/// Returns the text of an HTML fragment, without tags and with entities decoded.
pub(crate) fn fragment_text(html: &str) -> String {
    squeeze(&Page::read(html, &Selectors::default()).text)
}
