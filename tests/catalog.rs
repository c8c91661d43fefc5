//! The catalogue.

use sightline::modules::catalog::Catalog;

#[test]
fn scratch() {
    let Ok(dir) = std::env::var("SITES") else { return };
    let files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|it| it.unwrap().path()).collect();
    match Catalog::load(false, &files) {
        Ok(catalog) => println!("{} modules", catalog.modules().len()),
        Err(error) => println!("{error}"),
    }
}
