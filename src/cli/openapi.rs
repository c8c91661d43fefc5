//! `openapi`.

use std::io::Write;

use clap::Args;

use super::exit::{Exit, Failure};
use crate::api::openapi::document;
use crate::base::text::write_json;
use crate::config::base_url_option;

/// Print the OpenAPI 3.1 document of the API, the same as a server's /openapi.json
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  sightline openapi --base-url https://search.example.org > openapi.json")]
pub(crate) struct OpenApiArgs {
    /// Address of the server in the document
    #[arg(long, env = "SIGHTLINE_BASE_URL", value_name = "URL", default_value = "http://127.0.0.1:8080")]
    #[arg(value_parser = base_url_option())]
    base_url: String,
}

pub(crate) fn run(args: &OpenApiArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    write_json(out, &document(&args.base_url))?;
    Ok(Exit::Done)
}
