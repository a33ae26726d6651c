import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// `account.setServiceAccount`: an operator makes, changes or deletes a service account.
struct SetServiceAccountOrder: KeyedOrder {
  let fingerprints: Fingerprints
  private let act: SetServiceAccount.Act
  private let name: ServiceAccountName
  private let roles: Set<AdministratorRole>
  private let key: ServiceAccountRecord.Key?
  private let keyID: String?
  private let operatorName: Administrator
  private let eventID = MessageID.make()

  init(_ command: SetServiceAccount, _ envelope: Envelope, _ reader: CommandReader) throws(APIError) {
    name = ServiceAccountName(name: command.name, project: try reader.project(command.project).id)
    guard ServiceAccountName.isName(command.name) else {
      throw APIError(.invalidArgument, "the name must be \(ServiceAccountName.form)", field: "name")
    }
    act = command.act
    roles = Set(command.roles ?? [])
    if let unknown = command.roles?.first(where: { !AdministratorRole.known.contains($0) }) {
      // One of ours would be among them: a text of a stranger is not repeated.
      throw APIError(
        .invalidArgument,
        "roles has one of \(unknown.rawValue.utf8.count) bytes that is none: they are \(AdministratorRole.all)",
        field: "roles")
    }
    guard act != .setRoles || command.roles != nil else {
      throw APIError(.invalidArgument, "roles is needed: an empty list takes all", field: "roles")
    }
    let hasKey = [.create, .addKey].contains(act)
    key = hasKey ? try ServiceAccountRecord.Key(id: command.keyID, publicKey: command.publicKey) : nil
    keyID = command.keyID
    operatorName = Administrator(name: envelope.userID ?? "", isOperator: true)
    fingerprints = reader.hashes.fingerprints(
      "service account",
      [name.email, act.rawValue, AdministratorRole.text(roles), keyID ?? "", command.publicKey ?? ""])
  }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    if let id = name.id { keys.add(record: id) }
    keys.add(group: try ServiceAccountRecord.group(name.project))
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    guard let id = name.id else { return CommandAnswer(.noServiceAccount) }
    let found = try ServiceAccountRecord.find(name, in: set)
    let number = try ServiceAccountRecord.all(name.project, in: set).count
    let account: ServiceAccountRecord?
    do throws(APIError) {
      if found == nil, act == .create, number >= ServiceAccountRecord.maxAccounts { throw .tooManyServiceAccounts }
      account = try changed(found, at: set.now)
    } catch {
      return CommandAnswer(error)
    }
    if let account { try account.store(in: &set) } else { try set.remove(id) }
    try ActRecord.note(
      "setServiceAccount.\(act.rawValue)", by: operatorName, project: name.project, localID: nil, count: nil,
      id: eventID, cause: envelope, in: &set)
    return try CommandAnswer(ServiceAccountsListed(accounts: account.map { [$0.entry] } ?? []))
  }

  /// `nil` for one that is deleted.
  private func changed(
    _ found: ServiceAccountRecord?, at now: UnixTime
  ) throws(APIError) -> ServiceAccountRecord? {
    if act == .create {
      guard found == nil, let key else { throw .serviceAccountExists }
      var account = ServiceAccountRecord(name, roles: roles, at: now)
      account.keys = [key]
      return account
    }
    guard var account = found else { throw .noServiceAccount }
    switch act {
    case .create: break
    case .addKey: try account.add(key)
    case .removeKey: account.keys.removeAll { $0.id == keyID }
    case .setRoles: account.roles = roles
    case .disable: account.isDisabled = true
    case .enable: account.isDisabled = false
    case .delete: return nil
    }
    return account
  }
}

/// `account.listServiceAccounts`.
struct ListServiceAccountsOrder: CommandOrder {
  private let project: String

  init(_ command: ListServiceAccounts, _ reader: CommandReader) throws(APIError) {
    project = try reader.project(command.project).id
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    try CommandAnswer(ServiceAccountsListed(accounts: ServiceAccountRecord.all(project, in: set).map(\.entry)))
  }
}

extension ServiceAccountRecord {
  fileprivate mutating func add(_ key: Key?) throws(APIError) {
    guard let key, self.key(key.id) == nil else {
      throw APIError(.invalidArgument, "the service account has a key of this ID already", field: "keyID")
    }
    guard keys.count < Self.maxKeys else {
      throw APIError(
        .invalidArgument, "the service account has \(Self.maxKeys) keys already: remove one first", field: "keyID")
    }
    keys.append(key)
  }
}

extension AdministratorRole {
  fileprivate static let all = known.map(\.rawValue).joined(separator: ", ")
}

extension APIError {
  static let noServiceAccount = APIError(
    .userNotFound, "there is no service account of this name: 'countersign service-account list' shows all",
    field: "name")
  static let serviceAccountExists = APIError(
    .duplicateLocalID, "there is a service account of this name already", field: "name")
  static let tooManyServiceAccounts = APIError(
    .operationNotAllowed, "the project has \(ServiceAccountRecord.maxAccounts) service accounts: delete one first",
    field: "project")
}
