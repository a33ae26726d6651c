import CountersignMessages

/// A change of an account that its user asks for.
struct ProfileChange: Sendable, Hashable {
  /// Maximum bytes of a name in UTF-8. It is in each ID token, as the address of the picture is.
  static let maxNameBytes = 256
  /// Maximum bytes of the address of a picture.
  static let maxPhotoBytes = 2048
  private static let phone = "phone"

  /// New values; empty ones remove.
  private let displayName: String?
  private let photoURL: String?
  private let unlinksPhone: Bool

  /// - Throws: `INVALID_ARGUMENT` for a value that is too long, or has control characters.
  init(_ command: UpdateAccount) throws(APIError) {
    // An attribute that is both set and deleted is deleted; those that accounts does not have are absent anyway.
    let deleted = Set(command.deleteAttributes ?? [])
    displayName = deleted.contains("DISPLAY_NAME") ? "" : command.displayName
    photoURL = deleted.contains("PHOTO_URL") ? "" : command.photoURL
    unlinksPhone = (command.deleteProviders ?? []).contains(Self.phone)
    try Self.check(displayName, "displayName", max: Self.maxNameBytes)
    try Self.check(photoURL, "photoURL", max: Self.maxPhotoBytes)
  }

  private static func check(_ text: String?, _ field: String, max: Int) throws(APIError) {
    guard let text else { return }
    guard text.utf8.count <= max else {
      throw APIError(.invalidArgument, "\(field) is longer than \(max) bytes", field: field)
    }
    // Each takes six bytes in an ID token, which would be too long to be taken back.
    guard !text.utf8.contains(where: { $0 < 0x20 }) else {
      throw APIError(.invalidArgument, "\(field) has control characters", field: field)
    }
  }

  /// Parts of the fingerprint. Absent and empty differ.
  var parts: [String] {
    [displayName, photoURL].flatMap { [$0 == nil ? "" : "=", $0 ?? ""] } + [unlinksPhone ? Self.phone : ""]
  }

  /// Changes an account.
  /// - Returns: names of the fields that have changed.
  func apply(to account: inout AccountRecord) -> [String] {
    let before = account
    if let displayName { account.displayName = displayName.isEmpty ? nil : displayName }
    if let photoURL { account.photoURL = photoURL.isEmpty ? nil : photoURL }
    // That a number was fictional stays: its sessions go on, and end with the first real proof.
    if unlinksPhone { account.phoneNumber = nil }
    var fields: [String] = []
    if account.displayName != before.displayName { fields.append(AccountField.displayName) }
    if account.photoURL != before.photoURL { fields.append(AccountField.photoURL) }
    if account.phoneNumber != before.phoneNumber { fields.append(AccountField.phoneNumber) }
    return fields
  }
}
