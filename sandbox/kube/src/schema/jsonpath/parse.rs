//! Reading a path.

use super::{JsonPathError, Node, Slice};
use serde_json::Value;

/// Parses what stands between the braces.
pub(super) fn action(text: &str) -> Result<Vec<Node>, JsonPathError> {
    let mut parser = Parser {
        input: text.chars().collect(),
        position: 0,
        nodes: Vec::new(),
    };
    while parser.step()? {}
    Ok(parser.nodes)
}

struct Parser {
    input: Vec<char>,
    position: usize,
    nodes: Vec<Node>,
}

fn ends_a_name(character: char) -> bool {
    matches!(
        character,
        ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}'
    )
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.input.get(self.position).copied()
    }

    fn starts_with(&self, prefix: &str) -> bool {
        prefix
            .chars()
            .enumerate()
            .all(|(at, wanted)| self.input.get(self.position + at) == Some(&wanted))
    }

    /// Reads one node; false at the end.
    fn step(&mut self) -> Result<bool, JsonPathError> {
        let Some(next) = self.peek() else { return Ok(false) };
        if self.starts_with("[?(") {
            self.position += 3;
            return self.filter().map(|()| true);
        }
        if self.starts_with("..") {
            return self.recursive().map(|()| true);
        }
        match next {
            '\n' | '\r' => return Err(JsonPathError::new("unclosed action")),
            ' ' | '@' | '$' => self.position += 1,
            '[' => {
                self.position += 1;
                self.array()?;
            }
            '"' | '\'' => self.quote(next)?,
            '.' => {
                self.position += 1;
                self.field();
            }
            '+' | '-' => self.number()?,
            digit if digit.is_numeric() => self.number()?,
            letter if letter == '_' || letter.is_alphanumeric() => self.identifier(),
            other => {
                let message = format!(
                    "unrecognized character in action: U+{:04X} '{other}'",
                    other as u32
                );
                return Err(JsonPathError::new(message));
            }
        }
        Ok(true)
    }

    fn recursive(&mut self) -> Result<(), JsonPathError> {
        if self.nodes.last() == Some(&Node::Recursive) {
            return Err(JsonPathError::new("invalid multiple recursive descent"));
        }
        self.position += 2;
        self.nodes.push(Node::Recursive);
        if self
            .peek()
            .is_some_and(|next| next == '_' || next.is_alphanumeric())
        {
            self.field();
        }
        Ok(())
    }

    fn field(&mut self) {
        let mut name = String::new();
        while let Some(next) = self.peek() {
            if next == '\\' {
                self.position += 1;
                if let Some(escaped) = self.peek() {
                    name.push(escaped);
                    self.position += 1;
                }
                continue;
            }
            if ends_a_name(next) {
                break;
            }
            name.push(next);
            self.position += 1;
        }
        self.nodes.push(if name == "*" {
            Node::Wildcard
        } else {
            Node::Field(name)
        });
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> String {
        let mut taken = String::new();
        while let Some(next) = self.peek().filter(|next| wanted(*next)) {
            taken.push(next);
            self.position += 1;
        }
        taken
    }

    fn identifier(&mut self) {
        let name = self.take_while(|next| !ends_a_name(next));
        self.nodes.push(match name.as_str() {
            "true" => Node::Literal(Value::Bool(true)),
            "false" => Node::Literal(Value::Bool(false)),
            _ => Node::Identifier(name),
        });
    }

    fn number(&mut self) -> Result<(), JsonPathError> {
        let start = self.position;
        self.position += 1;
        self.take_while(|next| next.is_ascii_digit() || next == '.');
        let text: String = self.input[start..self.position].iter().collect();
        let value = match text.trim_start_matches('+').parse::<i64>() {
            Ok(integer) => Value::from(integer),
            Err(_) => Value::from(
                text.parse::<f64>()
                    .map_err(|_| JsonPathError::new(format!("cannot parse number {text}")))?,
            ),
        };
        self.nodes.push(Node::Literal(value));
        Ok(())
    }

    fn quote(&mut self, mark: char) -> Result<(), JsonPathError> {
        self.position += 1;
        let mut text = String::new();
        loop {
            match self.peek() {
                None | Some('\n') => return Err(JsonPathError::new("unterminated quoted string")),
                Some('\\') => {
                    self.position += 1;
                    text.push(match self.peek() {
                        Some('n') => '\n',
                        Some('t') => '\t',
                        Some('r') => '\r',
                        Some(other) => other,
                        None => return Err(JsonPathError::new("unterminated quoted string")),
                    });
                }
                Some(end) if end == mark => break,
                Some(other) => text.push(other),
            }
            self.position += 1;
        }
        self.position += 1;
        self.nodes.push(Node::Literal(Value::String(text)));
        Ok(())
    }

    fn array(&mut self) -> Result<(), JsonPathError> {
        let text = self.take_while(|next| next != ']' && next != '\n');
        if self.peek() != Some(']') {
            return Err(JsonPathError::new("unterminated array"));
        }
        self.position += 1;
        let parts: Vec<&str> = text.split(',').collect();
        if parts.len() > 1 {
            let branches = parts
                .iter()
                .map(|part| action(&format!("[{}]", part.trim_matches(' '))));
            self.nodes.push(Node::Union(branches.collect::<Result<_, _>>()?));
            return Ok(());
        }
        let key = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
        if let Some(key) = key.filter(|key| !key.contains('\'')) {
            self.nodes.extend(action(&format!(".{key}"))?);
            return Ok(());
        }
        self.nodes
            .push(Node::Slice(slice(if text == "*" { ":" } else { &text })?));
        Ok(())
    }

    fn filter(&mut self) -> Result<(), JsonPathError> {
        let text = self.filter_text()?;
        let is_operator = |character: char| matches!(character, '!' | '<' | '>' | '=');
        let compared = text.find(is_operator).filter(|at| *at > 0).and_then(|at| {
            let (left, rest) = text.split_at(at);
            let end = rest.find(|character| !is_operator(character))?;
            let (operator, right) = rest.split_at(end);
            Some((left, operator, right))
        });
        self.nodes.push(match compared {
            Some((left, operator, right)) => Node::Filter {
                left: action(left)?,
                operator: operator.to_owned(),
                right: action(right)?,
            },
            None => Node::Filter {
                left: action(&text)?,
                operator: "exists".to_owned(),
                right: Vec::new(),
            },
        });
        Ok(())
    }

    /// The text up to `)]`; a parenthesis within quotes does not end it.
    fn filter_text(&mut self) -> Result<String, JsonPathError> {
        let start = self.position;
        let mut quote = None;
        let mut closed = false;
        loop {
            match self.peek() {
                None | Some('\n') => return Err(JsonPathError::new("unterminated filter")),
                Some(mark @ ('"' | '\'')) => match quote {
                    None => quote = Some(mark),
                    Some(open) if open == mark && self.input[self.position - 1] != '\\' => closed = true,
                    Some(_) => {}
                },
                Some(')') if quote.is_some() == closed => break,
                Some(_) => {}
            }
            self.position += 1;
        }
        let text = self.input[start..self.position].iter().collect();
        self.position += 1;
        if self.peek() != Some(']') {
            return Err(JsonPathError::new("unclosed array expect ]"));
        }
        self.position += 1;
        Ok(text)
    }
}

fn slice(text: &str) -> Result<Slice, JsonPathError> {
    let invalid = || JsonPathError::new(format!("invalid array index {text}"));
    let parts: Vec<&str> = text.split(':').collect();
    if parts.len() > 3 {
        return Err(invalid());
    }
    let number = |part: &str| -> Result<Option<i64>, JsonPathError> {
        if !part
            .trim_start_matches('-')
            .chars()
            .all(|digit| digit.is_ascii_digit())
            || part.starts_with("--")
        {
            return Err(invalid());
        }
        if part.is_empty() {
            return Ok(None);
        }
        let parsed = part.parse::<i64>();
        parsed
            .map(Some)
            .map_err(|_| JsonPathError::new(format!("array index {part} is not a number")))
    };
    let start = number(parts[0])?;
    let (end, end_is_derived) = match parts.get(1) {
        Some(part) => (number(part)?, false),
        None => (Some(start.unwrap_or(0) + 1), true),
    };
    let step = parts.get(2).map_or(Ok(None), |part| number(part))?;
    Ok(Slice {
        start,
        end,
        end_is_derived,
        step,
    })
}
