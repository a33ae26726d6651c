import CountersignMessages
import CountersignTelemetry
import Projects

/// Google's page, for the client of the web: the one that has a secret.
extension SignInWithGoogle: PageProvider {
  private static let scopes = ["openid", "email", "profile"]

  func pageClient(of project: Project, for app: ProjectApp?) throws(APIError) -> String {
    guard let client = project.clientIDs(of: id).first(where: { secrets[project.id, id, $0] != nil }) else {
      throw .noPage(id, "providerSecretsFile of accounts has no secret of a client of the project's file")
    }
    return client
  }

  func pageAddress(
    _ flow: PageFlow, _ request: PageRequest, state: Secret, for project: Project
  ) async throws(APIError) -> Secret {
    page.address(flow, request, state: state, scopes: Self.scopes)
  }

  func finish(
    _ flow: PageFlow, with credential: IDPCredential, for project: Project, at now: UnixTime
  ) async throws(APIError) -> ProvenIdentity {
    guard let secret = secrets[project.id, id, flow.clientID] else { throw .providerSecretWrong(id) }
    let found = try await page.tokens(credential, of: flow, secret: secret)
    let claims = try await tokens.verify(found.idToken, of: flow, in: project, at: now)
    if !claims.isEmulated { try Self.check(claims, of: [flow.clientID], nonce: nil) }
    var identity = try Self.identity(claims, at: now)
    identity.take(found)
    return identity
  }
}
