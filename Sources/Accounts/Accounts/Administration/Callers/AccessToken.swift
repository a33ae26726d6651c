import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// Rights that an access token gives, as its ticket holds them.
struct AccessGrant: Sendable, Hashable {
  /// Time at which its service account was made: another one of the same name is another one.
  let madeAt: UnixTime
  /// The key that it was granted for. It ends with that.
  let keyID: String
  let roles: Set<AdministratorRole>
}

extension AccessGrant: FieldCoded {
  init(_ fields: inout FieldCoder, _ grant: Self?) throws(UnreadableFields) {
    madeAt = try fields.required(1, grant?.madeAt)
    keyID = try fields.required(2, grant?.keyID)
    roles = AdministratorRole.set(try fields.required(3, grant.map { AdministratorRole.text($0.roles) }))
  }
}

extension AdministratorRole {
  /// Roles as a text, `users.read users.write`.
  static func text(_ roles: Set<AdministratorRole>) -> String {
    roles.map(\.rawValue).sorted().joined(separator: " ")
  }

  static func set(_ text: String) -> Set<AdministratorRole> {
    Set(text.split(separator: " ").map { AdministratorRole(rawValue: String($0)) })
  }
}

/// Text of an access token: a ticket's, and the name of the service account, so that both are loaded at once.
struct PresentedAccessToken: Sendable {
  private static let maxBytes = 256
  private static let separator: Character = "."

  let name: String
  private let account: RecordID
  private let tickets: [RecordID]

  /// - Returns: `nil` for a text that is not a token.
  init?(_ token: Secret, project: String, _ tickets: Tickets) {
    let text = token.reveal()
    guard text.utf8.count <= Self.maxBytes, let end = text.lastIndex(of: Self.separator) else { return nil }
    name = String(text[text.index(after: end)...])
    guard ServiceAccountName.isName(name), let id = ServiceAccountName(name: name, project: project).id else {
      return nil
    }
    account = id
    self.tickets = tickets.ids(of: Secret(String(text[..<end])))
  }

  static func text(_ ticket: TicketText, of name: ServiceAccountName) -> Secret {
    Secret("\(ticket.secret.reveal())\(separator)\(name.name)")
  }

  func addKeys(to keys: inout StoreKeys) {
    for id in tickets { keys.add(record: id) }
    keys.add(record: account)
  }

  /// Roles that its service account had when it was granted, and has still. `nil` for one that does not count.
  func roles(
    project: String, _ tickets: Tickets, in set: WorkingSet
  ) throws(StoreError) -> Set<AdministratorRole>? {
    var keys = StoreKeys()
    addKeys(to: &keys)
    try set.require(keys)
    let found: OpenTicket<AccessGrant>? = try tickets.find(self.tickets, .accessToken, project: project, in: set)
    guard let grant = found?.content, let record = try set.record(account) else { return nil }
    let holder = try ServiceAccountRecord(record)
    guard !holder.isDisabled, holder.createdAt == grant.madeAt, holder.key(grant.keyID) != nil else { return nil }
    return holder.roles.intersection(grant.roles)
  }
}
