//! What the docs say to do can be done: their objects are accepted by a real API server, their commands run.

use drydock_e2e::manifests::{self, in_repository};

mod commands;
mod objects;
mod shell;

/// A block of a page between fences.
struct Block {
    /// The page, from the root of the repository.
    page: String,
    /// Where its first line is, from 1.
    line: usize,
    /// `yaml`, `sh`, `console`, …; empty if nothing is said.
    kind: String,
    text: String,
}

impl Block {
    fn place(&self) -> String {
        format!("{}:{}", self.page, self.line)
    }
}

/// The blocks of all pages, page by page in their order.
fn blocks() -> Vec<Block> {
    let root = in_repository("");
    let mut pages = manifests::files_below(&in_repository("docs"), "md").unwrap();
    pages.push(in_repository("README.md"));
    let of_page = |path: &std::path::PathBuf| {
        let name = path.strip_prefix(&root).unwrap_or(path).display().to_string();
        blocks_of(&name, &std::fs::read_to_string(path).unwrap())
    };
    pages.iter().flat_map(of_page).collect()
}

fn blocks_of(page: &str, text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, Block)> = None;
    for (number, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        let is_fence = trimmed.starts_with("```");
        match &mut open {
            None if is_fence => {
                let kind = trimmed.trim_start_matches('`').split(',').next();
                let block = Block {
                    page: page.to_owned(),
                    line: number + 2,
                    kind: kind.unwrap_or_default().trim().to_owned(),
                    text: String::new(),
                };
                open = Some((line.len() - trimmed.len(), block));
            }
            None => {}
            Some(_) if is_fence => blocks.extend(open.take().map(|(_, block)| block)),
            Some((indent, block)) => {
                block.text.push_str(line.get(*indent..).unwrap_or(trimmed));
                block.text.push('\n');
            }
        }
    }
    blocks
}
