//! What a route says of itself.

use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::request_body::RequestBody;
use utoipa::openapi::schema::{Object, Schema, Type};
use utoipa::openapi::{Ref, RefOr, Required};
use utoipa::{PartialSchema, ToSchema};

use crate::api::failure::Failure;

/// Where the operation stands in the documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    /// Starting, reading, following, deleting runs.
    Searches,
    /// Credits and the key's owner.
    Account,
    /// What the service says of itself.
    Service,
}

impl Tag {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 3] = [Self::Searches, Self::Account, Self::Service];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Searches => "Searches",
            Self::Account => "Account",
            Self::Service => "Service",
        }
    }

    /// What it is about.
    pub fn description(self) -> &'static str {
        match self {
            Self::Searches => "Start a search, follow it, read its results.",
            Self::Account => "What the key's owner has and may do. Free.",
            Self::Service => "What the service says of itself. Free.",
        }
    }
}

/// Named schemas.
pub type Schemas = Vec<(String, RefOr<Schema>)>;

/// One operation.
pub struct Doc {
    pub(super) id: &'static str,
    pub(super) tag: Tag,
    pub(super) summary: &'static str,
    pub(super) text: String,
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Option<RequestBody>,
    pub(super) answers: Vec<Answer>,
    pub(super) failures: Vec<Failure>,
    pub(super) schemas: Schemas,
}

impl Doc {
    /// An operation of that id, unique in the document, and of that summary.
    pub fn new(id: &'static str, tag: Tag, summary: &'static str) -> Self {
        Self {
            id,
            tag,
            summary,
            text: String::new(),
            parameters: Vec::new(),
            body: None,
            answers: Vec::new(),
            failures: Vec::new(),
            schemas: Vec::new(),
        }
    }

    /// What there is to say beyond the summary, in Markdown.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }

    /// A parameter; `{run_id}` and what every request may have come by themselves.
    #[must_use]
    pub fn parameter(mut self, parameter: Parameter) -> Self {
        self.parameters.push(parameter);
        self
    }

    /// The body it takes, and the named schemas that it refers to.
    #[must_use]
    pub fn takes(mut self, body: RequestBody, schemas: Schemas) -> Self {
        self.body = Some(body);
        self.schemas.extend(schemas);
        self
    }

    /// An answer that is no error.
    #[must_use]
    pub fn answer(mut self, mut answer: Answer) -> Self {
        self.schemas.append(&mut answer.schemas);
        self.answers.push(answer);
        self
    }

    /// A failure that is its own.
    #[must_use]
    pub fn fails(mut self, failure: Failure) -> Self {
        self.failures.push(failure);
        self
    }
}

/// One answer of an operation.
pub struct Answer {
    pub(super) status: u16,
    pub(super) text: &'static str,
    /// Media types with their schemas.
    pub(super) bodies: Vec<(&'static str, RefOr<Schema>)>,
    pub(super) always: Vec<&'static str>,
    pub(super) maybe: Vec<&'static str>,
    pub(super) links: bool,
    schemas: Schemas,
}

impl Answer {
    /// An answer without a body.
    pub fn new(status: u16, text: &'static str) -> Self {
        let (bodies, always, maybe, schemas) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { status, text, bodies, always, maybe, links: false, schemas }
    }

    /// The same with a body of that type.
    #[must_use]
    pub fn body<T: ToSchema>(mut self, media_type: &'static str) -> Self {
        let schema = named::<T>(&mut self.schemas);
        self.bodies.push((media_type, schema));
        self
    }

    /// The same with a body that is a text of that media type.
    #[must_use]
    pub fn file(mut self, media_type: &'static str) -> Self {
        self.bodies.push((media_type, Object::with_type(Type::String).into()));
        self
    }

    /// The same with a body of that schema.
    #[must_use]
    pub fn schema(mut self, media_type: &'static str, schema: RefOr<Schema>, named: Schemas) -> Self {
        self.bodies.push((media_type, schema));
        self.schemas.extend(named);
        self
    }

    /// Headers of [`headers`](super::headers) that it always has, beside those of every answer.
    #[must_use]
    pub fn always(mut self, names: &[&'static str]) -> Self {
        self.always.extend(names);
        self
    }

    /// Headers that it may have.
    #[must_use]
    pub fn maybe(mut self, names: &[&'static str]) -> Self {
        self.maybe.extend(names);
        self
    }

    /// It begins a run: what can be asked of the run is linked.
    #[must_use]
    pub fn begins_a_run(mut self) -> Self {
        self.links = true;
        self
    }
}

/// The schema of a type, by its name; it and all that it refers to are added to `schemas`.
pub fn named<T: ToSchema>(schemas: &mut Schemas) -> RefOr<Schema> {
    let name = T::name().into_owned();
    T::schemas(schemas);
    schemas.push((name.clone(), <T as PartialSchema>::schema()));
    Ref::from_schema_name(name).into()
}

/// A parameter.
pub fn parameter(place: ParameterIn, name: &str, text: &str, schema: impl Into<RefOr<Schema>>) -> Parameter {
    let required = if place == ParameterIn::Path { Required::True } else { Required::False };
    ParameterBuilder::new()
        .name(name)
        .parameter_in(place)
        .required(required)
        .description(Some(text))
        .schema(Some(schema))
        .build()
}
