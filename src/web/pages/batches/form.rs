//! The form of a new batch.

use crate::model::batch::batch_name;
use crate::modules::query::SearchType;
use crate::runs::batches::draft::Draft;
use crate::runs::batches::table;
use crate::web::error::WebError;
use crate::web::pages::form_parts::FormOption;
use crate::web::pages::form_parts::new_once;
use crate::web::pages::refusal::sentence;
use crate::web::visit::Form;

/// The fields of the form.
#[derive(Debug, Clone)]
pub(super) struct BatchForm {
    pub(super) name: String,
    /// The searches as text: one query on each line, or CSV.
    pub(super) list: String,
    /// The type of queries that have none.
    pub(super) search_type: Option<SearchType>,
    /// The form's token, so that a form that is sent twice creates one batch.
    pub(super) once: String,
    pub(super) mistake: Option<Mistake>,
}

/// The reason why the form cannot become a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mistake {
    /// The name is not allowed.
    Name(String),
    /// The text is no list of searches.
    List(String),
}

/// The batch that the form describes.
pub(super) struct BatchOrder {
    pub(super) name: Option<String>,
    pub(super) draft: Draft,
}

impl BatchForm {
    /// Creates an empty form.
    ///
    /// # Errors
    /// Returns 500 if the system gives no random numbers.
    pub(super) fn fresh() -> Result<Self, WebError> {
        Ok(Self {
            name: String::new(),
            list: String::new(),
            search_type: Some(SearchType::Username),
            once: new_once(),
            mistake: None,
        })
    }

    /// Reads the form that was sent.
    pub(super) fn read(form: &Form) -> Self {
        Self {
            name: form.get("name").to_owned(),
            list: form.get("list").to_owned(),
            search_type: SearchType::from_name(form.get("type")),
            once: form.get("once").to_owned(),
            mistake: None,
        }
    }

    /// Returns the batch that the form describes. Its draft may contain invalid searches.
    ///
    /// # Errors
    /// Returns an error if the name is not allowed, or if the text is no list of 1 to 1,000 searches.
    pub(super) fn order(&self) -> Result<BatchOrder, Mistake> {
        let name = batch_name(&self.name).map_err(|allowed| Mistake::Name(format!("Allowed: {allowed}.")))?;
        let draft = table::read(self.list.as_bytes(), |_| self.search_type).map_err(|error| {
            Mistake::List(format!("{}. Allowed: {}.", sentence(&error.message), error.allowed))
        })?;
        Ok(BatchOrder { name, draft })
    }

    /// Returns the mistake in the name.
    pub(super) fn wrong_name(&self) -> Option<&str> {
        if let Some(Mistake::Name(text)) = &self.mistake { Some(text) } else { None }
    }

    /// Returns the mistake in the list.
    pub(super) fn wrong_list(&self) -> Option<&str> {
        if let Some(Mistake::List(text)) = &self.mistake { Some(text) } else { None }
    }

    pub(super) fn types(&self) -> Vec<FormOption> {
        let types = [
            (SearchType::Username, "username", "Username"),
            (SearchType::Email, "email", "Email"),
            (SearchType::Domain, "domain", "Domain"),
        ];
        types.map(|(kind, value, label)| FormOption::new(value, label, self.search_type == Some(kind))).into()
    }
}
