/// The lookup of BCP 47 (RFC 4647, 3.4): from the requested language to less and less specific ones.
public enum LanguageLookup {
  /// Maximum length of a tag. 35 characters hold every tag without extensions or private use (RFC 5646, 4.4.1); a much
  /// longer text is a mistake, or an attack.
  static let maxLength = 64

  /// The tags to try, in order, in lower case: `zh-Hant-TW` → `zh-hant-tw`, `zh-hant`, `zh`.
  ///
  /// - Parameter tag: language tag of an app, in any case; `_` for `-` (POSIX and older systems) is tolerated.
  /// - Returns: an empty list for a text that is not a language tag, so that the default is used.
  public static func chain(_ tag: String) -> [String] {
    guard tag.utf8.count <= maxLength else { return [] }
    var subtags = tag.lowercased().replacingUnderscores().split(separator: "-", omittingEmptySubsequences: false)
    guard isWellFormed(subtags) else { return [] }
    var chain: [String] = []
    while !subtags.isEmpty {
      chain.append(subtags.joined(separator: "-"))
      subtags.removeLast()
      // A single letter or digit only introduces the subtag after it (RFC 4647, 3.4).
      if let last = subtags.last, last.utf8.count == 1 { subtags.removeLast() }
    }
    return chain
  }

  /// A language of two to eight letters, then subtags of one to eight letters and digits (RFC 5646, 2.1).
  private static func isWellFormed(_ subtags: [Substring]) -> Bool {
    guard let language = subtags.first, (2...8).contains(language.utf8.count),
      language.unicodeScalars.allSatisfy({ ("a"..."z").contains($0) })
    else { return false }
    return subtags.allSatisfy { subtag in
      (1...8).contains(subtag.utf8.count)
        && subtag.unicodeScalars.allSatisfy { ("a"..."z").contains($0) || ("0"..."9").contains($0) }
    }
  }
}

extension String {
  fileprivate func replacingUnderscores() -> String { String(map { $0 == "_" ? "-" : $0 }) }
}
