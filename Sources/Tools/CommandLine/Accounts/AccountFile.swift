import CountersignMessages

/// Formats of Firebase's `auth:import` and `auth:export`.
enum AccountFileFormat: String, CaseIterable, Sendable {
  case json, csv
}

/// A user of a file, or what is wrong with it.
struct AccountFileRow: Sendable {
  /// Line of its beginning, from 1.
  let line: Int
  let user: Result<UserFields, AccountFileError>
  /// Whether ``UserFields/passwordHash`` is a text of our own, with algorithm and parameters, rather than a raw hash.
  let hasOwnHash: Bool

  init(line: Int, _ user: Result<UserFields, AccountFileError>, hasOwnHash: Bool = false) {
    self.line = line
    self.user = user
    self.hasOwnHash = hasOwnHash
  }
}

/// Reason for which a row is not taken. It repeats no value.
struct AccountFileError: Error, Sendable, Hashable, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}
