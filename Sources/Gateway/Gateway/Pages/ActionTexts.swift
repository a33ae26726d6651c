/// A text of the pages that people see.
enum ActionText: Int, CaseIterable, Sendable {
  case verify, verifyButton, verified
  case reset, newPassword, resetButton, wasReset
  /// With ``ActionTexts/count`` in place of the least number of characters.
  case weak
  case change, changeButton, changed
  case recover, recoverButton, recovered
  case revert, revertButton, reverted
  case signIn, openInApp
  case goOn, failed, later
  /// Title of what failed.
  case problem
  // Pages of providers.
  case wait, done, notSignedIn, noStorage, foreign, off, noScript
  // The check of an app.
  case check, checkFailed
  case toApp
}

/// Texts of these pages in one language: the languages of the mails.
struct ActionTexts: Sendable {
  /// Place of a number in a text.
  static let count = "{count}"
  private static let english = "en"

  /// BCP 47.
  let languageTag: String
  private let texts: [String]

  var isRightToLeft: Bool { languageTag == "ar" }

  /// - Parameter language: as the link says it: `pt-AO`. English in place of one that is not there.
  init(language: String?) {
    var tag = (language ?? "").prefix(Self.maxTagBytes).lowercased().replacing("_", with: "-")
    while Self.languages[Self.aliases[tag] ?? tag] == nil, let dash = tag.lastIndex(of: "-") {
      tag = String(tag[..<dash])
    }
    let known = Self.aliases[tag] ?? tag
    let key = Self.languages[known] == nil ? Self.english : known
    languageTag = Self.tags[key] ?? key
    texts = Self.languages[key] ?? []
  }

  subscript(text: ActionText) -> String { texts.indices.contains(text.rawValue) ? texts[text.rawValue] : "" }

  private static let maxTagBytes = 64

  private static let aliases = Dictionary(
    uniqueKeysWithValues: [("pt", "pt-br")]
      + ["ao", "ch", "cv", "gq", "gw", "lu", "mo", "mz", "st", "tl"].map { ("pt-\($0)", "pt-pt") })

  /// Tags that are not all in lower case.
  private static let tags = ["pt-br": "pt-BR", "pt-pt": "pt-PT"]

  /// By the tag in lower case, each in the order of ``ActionText``.
  static let languages: [String: [String]] = [
    english: englishTexts + englishSignIn, "de": german + germanSignIn, "es": spanish + spanishSignIn,
    "fr": french + frenchSignIn, "pt-br": brazilian + brazilianSignIn, "pt-pt": portuguese + portugueseSignIn,
    "ar": arabic + arabicSignIn, "bn": bengali + bengaliSignIn, "hi": hindi + hindiSignIn,
    "ja": japanese + japaneseSignIn,
  ]
}
