/// The service that a database belongs to: the `PRAGMA application_id` of its file.
///
/// Files of two services can have the same tables, and would be taken for each other.
public struct DatabaseKind: Sendable, Hashable, CustomStringConvertible {
  /// A short name, which a database of a server keeps.
  public let name: String
  /// The owner, for texts: `the coordinator`.
  public let description: String
  let applicationID: Int64

  private init(_ name: String, _ description: String, _ number: Int64) {
    self.name = name
    self.description = description
    // "CSn" and a number, with which no other program's files begin.
    applicationID = 0x4353_6E00 + number
  }

  /// The coordinator's database.
  public static let coordinator = DatabaseKind("coordinator", "the coordinator", 1)
  /// The database of accounts.
  public static let accounts = DatabaseKind("accounts", "accounts", 2)
  /// The ledger of workers.
  public static let ledger = DatabaseKind("ledger", "the workers' ledger", 3)
  /// The crash marks of workers without a ledger.
  public static let marks = DatabaseKind("marks", "the workers' crash marks", 4)
  /// The memory of push-workers.
  public static let pushMemory = DatabaseKind("push-memory", "the push-worker's memory", 5)
  /// The list of addresses that get no mail.
  public static let suppressions = DatabaseKind("suppressions", "the mail-worker's suppressions", 6)

  /// The database of the webhook-worker.
  public static let webhooks = DatabaseKind("webhooks", "the webhook-worker", 7)

  /// Those of services on the command engine, which have the same tables.
  public static let services = [coordinator, accounts, webhooks]
  static let all = services + [ledger, marks, pushMemory, suppressions]

  /// - Returns: `nil` for a name that no service on the command engine has.
  public init?(service name: String) {
    guard let kind = Self.services.first(where: { $0.name == name }) else { return nil }
    self = kind
  }
}
