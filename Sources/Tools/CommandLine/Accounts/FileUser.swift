import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import PasswordHashing

struct FileUser {
  /// Columns of a CSV file, by their place.
  enum Column {
    static let count = 28
    /// Of four columns each: ID, address, name, picture.
    static let providers = [("google.com", 7), ("facebook.com", 11), ("twitter.com", 15), ("github.com", 19)]
    static let customAttributes = 27
    /// A column of our own with the other providers, behind the comma that ends a row of `auth:export`.
    static let otherProviders = count
    /// `disabled` and `customAttributes` came later.
    static let counts = 26...count + 1
  }

  /// Latest time that is read: the end of the year 9999.
  private static let latestTime: Int64 = 253_402_300_799_999

  private(set) var fields = UserFields()
  private(set) var hasOwnHash = false

  /// - Parameter row: as many columns as there may be.
  init(_ row: CSVRow) throws(AccountFileError) {
    let columns = try row.fields.map { field throws(AccountFileError) in try field.trimmedText() }
    func text(_ index: Int) -> JSONValue {
      let value = index < columns.count ? columns[index] : ""
      return value.isEmpty ? .null : .text(value)
    }
    let names = [
      "localId", "email", "emailVerified", "passwordHash", "salt", "displayName", "photoUrl",
    ]
    var members = Dictionary(uniqueKeysWithValues: names.enumerated().map { ($1, text($0)) })
    for (index, name) in ["createdAt", "lastSignedInAt", "phoneNumber", "disabled", "customAttributes"].enumerated() {
      members[name] = text(23 + index)
    }
    var providers: [JSONValue] = []
    for (provider, index) in Column.providers where text(index) != .null {
      providers.append([
        "providerId": .text(provider), "rawId": text(index), "email": text(index + 1), "displayName": text(index + 2),
        "photoUrl": text(index + 3),
      ])
    }
    if let others = text(Column.otherProviders).text {
      guard case .array(let others) = try Self.parse(Array(others.utf8)[...]) else {
        throw AccountFileError("ProviderUserInfo is not a list")
      }
      providers += others
    }
    members["providerUserInfo"] = .array(providers)
    try read(members)
  }

  init(json: ArraySlice<UInt8>) throws(AccountFileError) {
    guard let members = try Self.parse(json).members else { throw AccountFileError("is not an object") }
    try read(members)
  }

  private static let reader = JSONReader(maxBytes: AccountFileBytes.longestRow)

  private static func parse(_ bytes: ArraySlice<UInt8>) throws(AccountFileError) -> JSONValue {
    do throws(JSONRefusal) {
      return try reader.value(of: bytes)
    } catch .malformed, .endsEarly {
      throw AccountFileError("is not valid JSON")
    } catch .repeatedName {
      throw AccountFileError("has a name twice in one object")
    } catch {
      throw AccountFileError("\(error)")
    }
  }

  // MARK: Members

  private static let names: Set<String> = [
    "localId", "email", "emailVerified", "passwordHash", "salt", "displayName", "photoUrl", "createdAt",
    "lastSignedInAt", "lastLoginAt", "providerUserInfo", "phoneNumber", "disabled", "customAttributes",
    "mfaInfo", "countersignHash",
  ]
  private static let providerNames: Set<String> = ["providerId", "rawId", "email", "displayName", "photoUrl"]
  private static let factorNames: Set<String> = [
    "mfaEnrollmentId", "displayName", "phoneInfo", "unobfuscatedPhoneInfo", "enrolledAt", "totpInfo",
  ]

  private mutating func read(_ members: [String: JSONValue]) throws(AccountFileError) {
    let members = try Members(members, known: Self.names)
    guard let localID = try members.text("localId"), localID.utf8.count <= 128 else {
      throw AccountFileError("localId is missing, or longer than 128 bytes")
    }
    fields.localID = localID
    fields.email = try members.text("email")
    fields.emailVerified = try members.flag("emailVerified")
    fields.displayName = try members.text("displayName")
    fields.photoURL = try members.text("photoUrl")
    fields.phoneNumber = try members.text("phoneNumber")
    fields.disabled = try members.flag("disabled")
    fields.customAttributes = try members.text("customAttributes")
    fields.createdAt = try members.time("createdAt", latest: Self.latestTime)
    fields.lastLoginAt = try members.time("lastSignedInAt", latest: Self.latestTime)
    if fields.lastLoginAt == nil { fields.lastLoginAt = try members.time("lastLoginAt", latest: Self.latestTime) }
    fields.identities = try identities(members)
    fields.secondFactors = try secondFactors(members)
    try readHash(members)
  }

  private mutating func readHash(_ members: Members) throws(AccountFileError) {
    guard let stored = try members.text("countersignHash") else {
      fields.passwordHash = try members.base64("passwordHash")
      fields.salt = try members.base64("salt")
      return
    }
    guard PasswordHash(stored: stored) != nil else { throw AccountFileError("countersignHash is not one") }
    fields.passwordHash = Base64.encode(Array(stored.utf8))
    hasOwnHash = true
  }

  /// Absent without any. Number and password are in members of their own.
  private func identities(_ members: Members) throws(AccountFileError) -> [UserIdentity]? {
    var identities: [UserIdentity] = []
    for entry in try members.objects("providerUserInfo") {
      let entry = try Members(entry, known: Self.providerNames)
      guard let provider = try entry.text("providerId") else { throw AccountFileError("providerId is missing") }
      if ["phone", "password"].contains(provider) { continue }
      guard let subject = try entry.text("rawId") else { throw AccountFileError("rawId is missing") }
      var identity = UserIdentity(providerID: provider, subject: subject)
      identity.email = try entry.text("email")
      identity.displayName = try entry.text("displayName")
      identity.photoURL = try entry.text("photoUrl")
      identities.append(identity)
    }
    return identities.isEmpty ? nil : identities
  }

  /// Absent without the member: those that the account has stay. Firebase's own `auth:export` leaves them out; the form
  /// is that of its interface (`UserInfo.mfaInfo`).
  private func secondFactors(_ members: Members) throws(AccountFileError) -> [UserSecondFactor]? {
    guard members.has("mfaInfo") else { return nil }
    return try members.objects("mfaInfo").map { entry throws(AccountFileError) in
      let entry = try Members(entry, known: Self.factorNames)
      var factor = UserSecondFactor(enrollmentID: try entry.text("mfaEnrollmentId"))
      factor.phoneNumber = try entry.text("unobfuscatedPhoneInfo")
      if factor.phoneNumber == nil { factor.phoneNumber = try entry.text("phoneInfo") }
      guard factor.enrollmentID != nil || factor.phoneNumber != nil else {
        throw AccountFileError("mfaInfo has an entry with neither mfaEnrollmentId nor phoneInfo")
      }
      // An authenticator's secret is in no file. Any other factor would be lost without its number.
      guard factor.phoneNumber != nil || entry.has("totpInfo") else {
        throw AccountFileError("mfaInfo has an entry with neither phoneInfo nor totpInfo")
      }
      factor.displayName = try entry.text("displayName")
      guard let time = try entry.text("enrolledAt") else { return factor }
      factor.enrolledAt = UnixTime(rfc3339: time)
      guard factor.enrolledAt != nil else { throw AccountFileError("enrolledAt is not a time as in RFC 3339") }
      return factor
    }
  }
}

/// Members of an object in a file. An empty text counts as absent, as in Firebase.
private struct Members {
  private static let longestName = 32
  private let members: [String: JSONValue]

  init(_ members: [String: JSONValue], known: Set<String>) throws(AccountFileError) {
    // An account may be less safe without what it stands for.
    if let unknown = members.keys.filter({ !known.contains($0) }).min() {
      let isPlain = unknown.utf8.count <= Self.longestName && unknown.allSatisfy { $0.isASCII && $0.isLetter }
      throw AccountFileError("has a member that is not imported\(isPlain ? ": \(unknown)" : "")")
    }
    self.members = members
  }

  func has(_ name: String) -> Bool { members[name] ?? .null != .null }

  func text(_ name: String) throws(AccountFileError) -> String? {
    switch members[name] ?? .null {
    case .null: return nil
    case .text(let text): return text.isEmpty ? nil : text
    default: throw AccountFileError("\(name) is not a text")
    }
  }

  func flag(_ name: String) throws(AccountFileError) -> Bool? {
    switch members[name] ?? .null {
    case .null, "": return nil
    case .bool(let flag): return flag
    case "true": return true
    case "false": return false
    default: throw AccountFileError("\(name) is neither true nor false")
    }
  }

  /// Milliseconds since 1970, as a number or a text.
  func time(_ name: String, latest: Int64) throws(AccountFileError) -> UnixTime? {
    let milliseconds: Int64?
    switch members[name] ?? .null {
    case .null, "": return nil
    case .integer(let number): milliseconds = number
    case .text(let text): milliseconds = Int64(text)
    default: milliseconds = nil
    }
    guard let milliseconds, (0...latest).contains(milliseconds) else {
      throw AccountFileError("\(name) is not a time in milliseconds")
    }
    return UnixTime(milliseconds: milliseconds)
  }

  /// Base64 with padding, whatever the file has.
  func base64(_ name: String) throws(AccountFileError) -> String? {
    guard let text = try text(name) else { return nil }
    guard let bytes = AnyBase64.decode(text) else { throw AccountFileError("\(name) is not base64") }
    return Base64.encode(bytes)
  }

  func objects(_ name: String) throws(AccountFileError) -> [[String: JSONValue]] {
    switch members[name] ?? .null {
    case .null: return []
    case .array(let values):
      let objects = values.compactMap(\.members)
      guard objects.count == values.count else { throw AccountFileError("\(name) has something that is not an object") }
      return objects
    default: throw AccountFileError("\(name) is not a list")
    }
  }
}

extension [UInt8] {
  /// Text without white space around it.
  fileprivate func trimmedText() throws(AccountFileError) -> String {
    let isText = { (byte: UInt8) in byte > 0x20 }
    let start = firstIndex(where: isText) ?? endIndex
    let end = lastIndex(where: isText).map { $0 + 1 } ?? start
    guard let text = String(validating: self[start..<end], as: UTF8.self) else {
      throw AccountFileError("is not UTF-8")
    }
    return text
  }
}
