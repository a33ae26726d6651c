import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import Projects

/// Apple's page, for the Services ID of the web. Its answer comes by POST, since scopes are asked for.
extension SignInWithApple: PageProvider {
  private static let scopes = ["name", "email"]

  func pageClient(of project: Project, for app: ProjectApp?) throws(APIError) -> String {
    guard let client = project.providers[id]?.clientIDs.first else {
      throw .noPage(id, "the project's file names no Services ID in providers.\(id).clientIDs")
    }
    _ = try teamKey(of: project)
    return client
  }

  func pageAddress(
    _ flow: PageFlow, _ request: PageRequest, state: Secret, for project: Project
  ) async throws(APIError) -> Secret {
    page.address(flow, request, state: state, scopes: Self.scopes, [(name: "response_mode", value: "form_post")])
  }

  func finish(
    _ flow: PageFlow, with credential: IDPCredential, for project: Project, at now: UnixTime
  ) async throws(APIError) -> ProvenIdentity {
    let found = try await page.tokens(credential, of: flow, secret: clientSecret(flow.clientID, of: project, at: now))
    let claims = try await tokens.verify(found.idToken, of: flow, in: project, at: now)
    var identity = try identity(claims, user: credential.user, at: now)
    identity.take(found)
    identity.grant = found.refreshToken.flatMap { grants?.seal($0, of: flow.clientID, app: flow.app) }
    return identity
  }

  private func clientSecret(
    _ clientID: String, of project: Project, at now: UnixTime
  ) throws(APIError) -> Secret {
    let (teamID, key) = try teamKey(of: project)
    do throws(JOSEError) {
      return Secret(
        try AppleClientSecret.sign(teamID: teamID, clientID: clientID, issuedAt: now.seconds, with: key))
    } catch {
      throw .providerSecretWrong(id)
    }
  }

  /// The team's key, which signs with ES256 alone.
  private func teamKey(of project: Project) throws(APIError) -> (teamID: String, key: SigningKey) {
    guard let team = project.providers[id]?.teamKey else {
      throw .noPage(id, "the project's file lacks providers.\(id).teamID and keyID")
    }
    guard let text = secrets[project.id, id] else {
      throw .noPage(id, "providerSecretsFile of accounts lacks the team's key")
    }
    let read: SigningKey?
    do throws(JOSEError) { read = try SigningKey(file: Array(text.reveal().utf8), id: team.keyID) } catch { read = nil }
    guard let key = read, key.algorithm == .es256 else { throw .providerSecretWrong(id) }
    return (team.teamID, key)
  }
}
