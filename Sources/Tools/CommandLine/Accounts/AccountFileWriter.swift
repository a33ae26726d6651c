import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Glibc
import PasswordHashing

/// Writes accounts into a new file, in a format of Firebase's `auth:import`.
///
/// JSON has a member of our own, `countersignHash`: the hash with its algorithm and parameters. CSV has a column of our
/// own, the last, with providers that Firebase has no columns for. It has none for second factors.
struct AccountFileWriter {
  private static let bufferSize = 65_536

  private let path: String
  private let format: AccountFileFormat
  private let file: Descriptor
  private var buffer: [UInt8] = []
  private var isFirst = true

  private final class Descriptor {
    let number: Int32

    init(_ number: Int32) {
      self.number = number
    }

    deinit { close(number) }
  }

  /// Makes the file, for its owner alone, or goes on with one that was left.
  /// - Parameter size: bytes of a file with users that are kept; 0 for none.
  /// - Throws: ``CommandLineError`` when another export writes the file, it cannot be made, or it is not as it was left.
  init(path: String, format: AccountFileFormat, behind size: Int = 0) throws(CommandLineError) {
    self.path = path
    self.format = format
    let number = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | (size > 0 ? 0 : O_CREAT), 0o600)
    guard number >= 0 else { throw Self.unwritable(path) }
    file = Descriptor(number)
    isFirst = size == 0
    var (opened, named) = (stat(), stat())
    // An export that ended between the two calls has given the file its own name.
    let isLocked = flock(number, LOCK_EX | LOCK_NB) == 0
    guard isLocked || errno == EWOULDBLOCK, fstat(number, &opened) == 0 else { throw Self.unwritable(path) }
    guard isLocked, lstat(path, &named) == 0, opened.st_ino == named.st_ino else {
      throw CommandLineError(.unavailable, "another export writes \(path): wait for its end")
    }
    guard opened.st_size >= size, opened.st_uid == geteuid(), opened.st_mode & 0o077 == 0 else {
      throw CommandLineError(.badInput, "\(path) is not as an export left it: remove it, start without --resume")
    }
    guard ftruncate(number, off_t(size)) == 0, lseek(number, off_t(size), SEEK_SET) == size else {
      throw Self.unwritable(path)
    }
    if size == 0, format == .json { buffer += "{\"users\": [\n".utf8 }
  }

  /// Adds an account. Blocks now and then.
  mutating func write(_ account: AccountView, hash: PasswordHash?) throws(CommandLineError) {
    switch format {
    case .json:
      if !isFirst { buffer += ",\n".utf8 }
      buffer += account.json(hash)
    case .csv:
      buffer += account.csv(hash).utf8
      buffer.append(UInt8(ascii: "\n"))
    }
    isFirst = false
    if buffer.count >= Self.bufferSize { try flush() }
  }

  /// Writes the end, and waits until all is on the disk. Without it the file is not complete, and is not read.
  mutating func finish() throws(CommandLineError) {
    if format == .json { buffer += "\n]}\n".utf8 }
    _ = try saved()
  }

  /// Waits until all users so far are on the disk.
  /// - Returns: the bytes of the file.
  mutating func saved() throws(CommandLineError) -> Int {
    try flush()
    let size = lseek(file.number, 0, SEEK_CUR)
    guard size >= 0, fsync(file.number) == 0 else { throw Self.unwritable(path) }
    return size
  }

  private mutating func flush() throws(CommandLineError) {
    var rest = buffer[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(file.number, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw Self.unwritable(path) }
      rest = rest.dropFirst(count)
    }
    buffer.removeAll(keepingCapacity: true)
  }

  private static func unwritable(_ path: String) -> CommandLineError {
    let code: CommandLineError.Code = errno == EACCES || errno == EPERM ? .notPermitted : .noInput
    return CommandLineError(code, "\(path) cannot be written: \(String(cString: strerror(errno)))")
  }
}

extension AccountView {
  fileprivate func json(_ hash: PasswordHash?) -> [UInt8] {
    var object = JSONObjectWriter()
    object.put("localId", localID)
    object.put("email", email)
    object.put("emailVerified", emailVerified ?? false)
    if let hash {
      object.put("passwordHash", Base64.encode(hash.exported.hash))
      object.put("salt", Base64.encode(hash.exported.salt))
      object.put("countersignHash", hash.stored)
    }
    object.put("displayName", displayName)
    object.put("photoUrl", photoURL)
    object.put("lastSignedInAt", String(lastLoginAt.milliseconds))
    object.put("createdAt", String(createdAt.milliseconds))
    object.put("phoneNumber", phoneNumber)
    object.put("disabled", disabled)
    object.put("customAttributes", customAttributes)
    object.put(named: "providerUserInfo", list: (identities ?? []).map(\.json))
    if let secondFactors { object.put(named: "mfaInfo", list: secondFactors.map(\.json)) }
    return object.finished()
  }

  fileprivate func csv(_ hash: PasswordHash?) -> String {
    typealias Column = FileUser.Column
    var columns = [String](repeating: "", count: Column.count + 1)
    (columns[0], columns[1]) = (localID, email ?? "")
    columns[2] = String(emailVerified ?? false)
    if let hash {
      (columns[3], columns[4]) = (Base64.encode(hash.exported.hash), Base64.encode(hash.exported.salt))
    }
    (columns[5], columns[6]) = (displayName ?? "", photoURL ?? "")
    var others: [[UInt8]] = []
    for identity in identities ?? [] {
      guard let (_, index) = Column.providers.first(where: { $0.0 == identity.providerID }) else {
        others.append(identity.json)
        continue
      }
      (columns[index], columns[index + 1]) = (identity.subject, identity.email ?? "")
      (columns[index + 2], columns[index + 3]) = (identity.displayName ?? "", identity.photoURL ?? "")
    }
    (columns[23], columns[24]) = (String(createdAt.milliseconds), String(lastLoginAt.milliseconds))
    (columns[25], columns[26], columns[27]) = (phoneNumber ?? "", String(disabled), customAttributes ?? "")
    if !others.isEmpty {
      let list = others.map { String(decoding: $0, as: UTF8.self) }.joined(separator: ",")
      columns[Column.otherProviders] = "[\(list)]"
    }
    return columns.map(\.quotedForCSV).joined(separator: ",")
  }
}

extension IdentityView {
  fileprivate var json: [UInt8] {
    var object = JSONObjectWriter(reserving: 128)
    object.put("providerId", providerID)
    object.put("rawId", subject)
    object.put("email", email)
    object.put("displayName", displayName)
    object.put("photoUrl", photoURL)
    return object.finished()
  }
}

extension SecondFactorView {
  /// Without the secret of a TOTP factor, which never leaves accounts.
  fileprivate var json: [UInt8] {
    var object = JSONObjectWriter(reserving: 128)
    object.put("mfaEnrollmentId", enrollmentID)
    object.put("displayName", displayName)
    object.put("phoneInfo", phoneNumber)
    object.put("enrolledAt", enrolledAt.rfc3339WithMilliseconds)
    if kind == .totp { object.put(named: "totpInfo", object: JSONObjectWriter().finished()) }
    return object.finished()
  }
}

extension String {
  fileprivate var quotedForCSV: String {
    guard utf8.contains(where: { ",\"\r\n".utf8.contains($0) }) else { return self }
    return "\"\(replacing("\"", with: "\"\""))\""
  }
}
