import CountersignMessages
import CountersignTelemetry

struct ProfileChange: Sendable, Hashable {
  /// Maximum bytes of a name in UTF-8. It is in each ID token, as the address of the picture is.
  static let maxNameBytes = 256
  static let maxPhotoBytes = 2048
  private let displayName: String?
  private let photoURL: String?
  /// Providers to unlink, and `phone` to take the number.
  private let unlinks: Set<String>
  private let removesEmail: Bool
  private let removesPassword: Bool

  init(_ command: UpdateAccount) throws(APIError) {
    try self.init(
      displayName: command.displayName, photoURL: command.photoURL, without: Set(command.deleteAttributes ?? []),
      unlinking: Set(command.deleteProviders ?? []))
  }

  /// - Parameter deleted: names of attributes. One that is both set and deleted is deleted.
  init(
    displayName: String?, photoURL: String?, without deleted: Set<String>, unlinking unlinks: Set<String>
  ) throws(APIError) {
    self.displayName = deleted.contains("DISPLAY_NAME") ? "" : displayName
    self.photoURL = deleted.contains("PHOTO_URL") ? "" : photoURL
    self.unlinks = unlinks
    removesEmail = deleted.contains("EMAIL") || unlinks.contains(SignInProvider.password.name)
    removesPassword = removesEmail || deleted.contains("PASSWORD")
    try Self.check(self.displayName, "displayName", max: Self.maxNameBytes)
    try Self.check(self.photoURL, "photoURL", max: Self.maxPhotoBytes)
    guard self.photoURL.map({ $0.isEmpty || Self.isWebAddress($0) }) ?? true else {
      throw APIError(.invalidArgument, "photoURL is not an address of http:// or https://", field: "photoURL")
    }
  }

  /// Pages of others show it: `javascript:` would run there.
  private static func isWebAddress(_ text: String) -> Bool {
    let start = text.prefix(8).lowercased()
    guard let scheme = ["https://", "http://"].first(where: start.hasPrefix) else { return false }
    return text.dropFirst(scheme.count).first.map { !"/?#\\".contains($0) } ?? false
  }

  /// A name for a new account. `nil` for an empty one.
  static func name(_ text: String?) throws(APIError) -> String? {
    try check(text, "displayName", max: maxNameBytes)
    return text?.isEmpty == true ? nil : text
  }

  private static func check(_ text: String?, _ field: String, max: Int) throws(APIError) {
    guard let text else { return }
    guard text.utf8.count <= max else {
      throw APIError(.invalidArgument, "\(field) is longer than \(max) bytes", field: field)
    }
    // Other people's pages show it. Those of ASCII also take six bytes each in an ID token, which would be too long to
    // be taken back.
    guard !text.unicodeScalars.contains(where: \.isLayoutControl) else {
      throw APIError(
        .invalidArgument, "\(field) has control characters, or some that turn the writing direction", field: field)
    }
  }

  /// Absent and empty differ.
  var parts: [String] {
    [displayName, photoURL].flatMap { [$0 == nil ? "" : "=", $0 ?? ""] } + unlinks.sorted()
      + [removesEmail, removesPassword].map(String.init)
  }

  /// Acts in it that may need a recent sign-in.
  func acts(on account: AccountRecord) -> [SensitiveAct] {
    var acts: [SensitiveAct] = account.ways.filter(unlinks.contains).map {
      $0 == SignInProvider.phone.name ? .removalOfNumber : .linking
    }
    if removesPassword, account.hasPassword || removesEmail && account.email != nil { acts.append(.linking) }
    return acts
  }

  /// The hash of a password that is lost by it is still to be removed: see ``AccountRecord/removeLostPassword(of:in:)``.
  func apply(to account: inout AccountRecord) {
    if let displayName { account.displayName = displayName.isEmpty ? nil : displayName }
    if let photoURL { account.photoURL = photoURL.isEmpty ? nil : photoURL }
    // That a number was fictional stays: its sessions go on, and end with the first real proof.
    if unlinks.contains(SignInProvider.phone.name) { account.phoneNumber = nil }
    account.unlink(unlinks)
    if removesPassword { account.passwordChangedAt = nil }
    if removesEmail { account.removeAddress() }
  }
}
