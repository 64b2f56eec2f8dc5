//! Releases by image: the digest gives the version, so that no list of releases is needed.

const REPOSITORY: &str = "quay.io/openshift-release-dev/ocp-release@sha256:";
const DIGITS: usize = 64;

/// The image of a release.
pub fn image_of(version: &str) -> String {
    let hex: String = version.bytes().map(|byte| format!("{byte:02x}")).collect();
    let hex = hex.get(..DIGITS).unwrap_or(&hex);
    format!("{REPOSITORY}{hex:0<DIGITS$}")
}

/// The version of an image that [`image_of`] has made.
pub fn version_of(image: &str) -> Option<String> {
    let digits = image.strip_prefix(REPOSITORY)?.as_bytes();
    let bytes = digits.chunks(2).map(|pair| {
        let text = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(text, 16).ok()
    });
    let bytes: Option<Vec<u8>> = bytes.collect();
    let text = String::from_utf8(bytes?).ok()?;
    Some(text.trim_end_matches('\0').to_owned()).filter(|version| !version.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_tells_its_version() {
        for version in ["4.14.12", "4.15.0-rc.1"] {
            assert_eq!(version_of(&image_of(version)).as_deref(), Some(version));
        }
        assert_eq!(version_of("quay.io/x/y@sha256:00"), None);
    }
}
