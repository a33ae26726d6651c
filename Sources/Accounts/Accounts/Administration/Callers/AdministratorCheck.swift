import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// Caller of an administrator's command: the holder of an access token, or an operator of the broker, who needs none.
struct AdministratorCheck: Sendable {
  /// Bearer of development, where everyone is an administrator.
  private static let owner = "owner"

  private let project: String
  private let role: AdministratorRole
  private let caller: Caller

  private enum Caller: Sendable {
    case known(Administrator)
    /// `nil` for a text that is not a token.
    case token(PresentedAccessToken?, Tickets)
  }

  /// - Parameter replyKey: the command's key for the secrets of the reply.
  /// - Throws: `INVALID_ACCESS_TOKEN` without a bearer, unless an operator has sent the command.
  init(
    bearer: SecretField?, project: String, role: AdministratorRole, of envelope: Envelope, replyKey: String?,
    _ reader: CommandReader
  ) throws(APIError) {
    self.project = try reader.project(project).id
    self.role = role
    guard let bearer else {
      // The first sender: an operator who redrives a dead letter lends it no rights.
      let user = envelope.identity.sender
      guard reader.rules.operators.contains(user) else { throw .missingAccessToken }
      caller = .known(Administrator(name: user, isOperator: true))
      return
    }
    let text = try reader.open(bearer, "bearer", of: envelope, replyKey: replyKey)
    if reader.rules.isDevelopment, text.reveal() == Self.owner {
      caller = .known(Administrator(name: Self.owner, isOperator: false))
    } else {
      caller = .token(PresentedAccessToken(text, project: project, reader.tickets), reader.tickets)
    }
  }

  func addKeys(to keys: inout StoreKeys) {
    if case .token(let token?, _) = caller { token.addKeys(to: &keys) }
  }

  /// - Returns: the administrator; or `INVALID_ACCESS_TOKEN` or `INSUFFICIENT_PERMISSION`.
  func administrator(in set: WorkingSet) throws(StoreError) -> Result<Administrator, APIError> {
    switch caller {
    case .known(let administrator): return .success(administrator)
    case .token(nil, _): return .failure(.invalidAccessToken)
    case .token(let token?, let tickets):
      guard let roles = try token.roles(project: project, tickets, in: set) else {
        return .failure(.invalidAccessToken)
      }
      guard roles.contains(role) else { return .failure(.lacking(role)) }
      return .success(Administrator(name: email(of: token), isOperator: false))
    }
  }

  /// Name that the administrator will have. `nil` where the caller is certainly none.
  var name: String? {
    switch caller {
    case .known(let administrator): administrator.name
    case .token(let token, _): token.map { email(of: $0) }
    }
  }

  private func email(of token: PresentedAccessToken) -> String {
    ServiceAccountName(name: token.name, project: project).email
  }
}

/// Somebody who acts on accounts of others.
struct Administrator: Sendable, Hashable {
  /// Address of the service account, or the broker's user.
  let name: String
  let isOperator: Bool
}

extension APIError {
  static let missingAccessToken = APIError(
    .invalidAccessToken, "an access token of a service account is needed", field: "bearer", reason: "NO_ACCESS_TOKEN")
  static let invalidAccessToken = APIError(
    .invalidAccessToken,
    "the access token is wrong or too old, or its service account or key is gone: ask for another one",
    field: "bearer")

  static func lacking(_ role: AdministratorRole) -> APIError {
    APIError(
      .insufficientPermission,
      "the service account lacks the role \(role.rawValue): 'countersign service-account roles' gives it one",
      field: "bearer")
  }
}
