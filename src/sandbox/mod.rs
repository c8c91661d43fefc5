//! A simulated web that plays every module of the catalogue.
