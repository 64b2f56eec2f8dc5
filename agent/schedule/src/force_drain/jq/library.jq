# What gojq has and the library does not.
def IN(s): any(s == .; .);
def IN(source; s): any(source == s; .);
def INDEX(rows; key): reduce rows as $row ({}; . + {($row | key | tostring): $row});
def INDEX(key): INDEX(.[]; key);
def leaf_paths: paths(scalars);
def toarray: if isarray then . else [.] end;
def trimstr($text): ltrimstr($text) | rtrimstr($text);
def ascii: [.] | implode;
# Nobody reads what a selector prints.
def debug: .;
def debug(message): .;
