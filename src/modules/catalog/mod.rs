//! The catalogue: loading, validating and indexing entries.
