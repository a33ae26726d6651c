import CountersignTelemetry

/// Texts of a profile that come from elsewhere, as far as they may be shown and stand in ID tokens.
enum ProfileText {
  /// Maximum bytes of a name in UTF-8. It is in each ID token, as the address of the picture is.
  static let maxNameBytes = 256
  static let maxPhotoBytes = 2048

  /// A name without control characters, cut where it is too long. `nil` when nothing is left.
  static func name(_ text: String) -> String? {
    var name = String(String.UnicodeScalarView(text.unicodeScalars.filter { !$0.isLayoutControl }))
    while name.utf8.count > maxNameBytes { name.removeLast() }
    return name.isEmpty ? nil : name
  }

  /// The address of a picture. `nil` for one that may not stand in a profile.
  static func photo(_ text: String) -> String? {
    let isFit = text.utf8.count <= maxPhotoBytes && !text.unicodeScalars.contains(where: \.isLayoutControl)
    return isFit && isWebAddress(text) ? text : nil
  }

  /// Pages of others show it: `javascript:` would run there.
  static func isWebAddress(_ text: String) -> Bool {
    let start = text.prefix(8).lowercased()
    guard let scheme = ["https://", "http://"].first(where: start.hasPrefix) else { return false }
    return text.dropFirst(scheme.count).first.map { !"/?#\\".contains($0) } ?? false
  }
}
