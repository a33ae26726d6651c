import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// `account.findProviders`: the OpenID Connect providers of a project, those of its file among them.
struct FindProvidersOrder: CommandOrder {
  private static let limits = 1...100

  private let project: Project
  private let check: AdministratorCheck
  private let providerID: String?
  private let limit: Int
  private let behind: String
  private let openID: OpenIDConfigurations

  init(_ command: FindProviders, _ envelope: Envelope, _ parts: AccountParts) throws(APIError) {
    project = try parts.reader.project(command.project)
    check = try AdministratorCheck(
      bearer: command.bearer, project: project.id, role: .config, of: envelope, replyKey: nil, parts.reader)
    limit = command.limit ?? Self.limits.upperBound
    guard Self.limits.contains(limit) else {
      throw APIError(
        .invalidArgument, "limit must be \(Self.limits.lowerBound) to \(Self.limits.upperBound)", field: "limit")
    }
    guard command.providerID.map(OpenIDConfigurations.isID) ?? true else { throw .configurationNotFound }
    guard command.behind.map(OpenIDConfigurations.isID) ?? true else {
      throw .wrongProvider("behind", "behind is the ID of a provider")
    }
    providerID = command.providerID
    behind = command.behind ?? ""
    openID = parts.openID
  }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    check.addKeys(to: &keys)
    keys.add(group: try OpenIDRecord.group(project.id))
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    if case .failure(let error) = try check.administrator(in: set) { return CommandAnswer(error) }
    let all = try views(in: set)
    if let providerID {
      guard let view = all.first(where: { $0.providerID == providerID }) else {
        return CommandAnswer(.configurationNotFound)
      }
      return try CommandAnswer(ProvidersFound(providers: [view]))
    }
    let rest = all.filter { behind.utf8.lexicographicallyPrecedes($0.providerID.utf8) }
    let page = rest.prefix(limit)
    let room = ReplyRoom.fitting(page.map(\.size))
    var reply = ProvidersFound(providers: Array(page.prefix(room)))
    reply.hasMore = room < rest.count ? true : nil
    return try CommandAnswer(reply)
  }

  /// By their IDs. A record goes before the file, even one that no key opens.
  private func views(in set: WorkingSet) throws(StoreError) -> [ProviderView] {
    var views: [String: ProviderView?] = [:]
    for id in project.providers.keys {
      views[id] = openID.inFile(id, of: project).map { openID.withSecrets($0, of: project).view(isFromFile: true) }
    }
    for record in try set.group(OpenIDRecord.group(project.id)).records {
      guard let id = record.id.text.split(separator: "/").last.map(String.init) else { continue }
      views[id] = .some(
        openID.open(record, of: project).map { openID.withSecrets($0, of: project).view(isFromFile: false) })
    }
    return views.values.compactMap { $0 }.sorted { $0.providerID.utf8.lexicographicallyPrecedes($1.providerID.utf8) }
  }
}

extension ProviderView {
  /// Bytes in JSON, about: its texts may be escaped.
  fileprivate var size: Int {
    let texts =
      [providerID, displayName ?? "", issuer] + clients.map(\.clientID) + (scopes ?? [])
      + (parameters ?? [:]).flatMap { [$0.key, $0.value] }
    return texts.reduce(512 + 64 * clients.count) { $0 + 2 * $1.utf8.count + 8 }
  }
}
