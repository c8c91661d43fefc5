//! SQL lives only here: `open(url)`, errors, migrations, one folder for each database.
