import CountersignCryptography
import CountersignEncoding
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
    try await outcome(flow, with: credential, for: project, at: now).identity.get()
  }

  func outcome(
    _ flow: PageFlow, with credential: IDPCredential, for project: Project, at now: UnixTime
  ) async -> CheckedCredential {
    var lost: LostGrant?
    do throws(APIError) {
      let found = try await page.tokens(credential, of: flow, secret: clientSecret(flow.clientID, of: project, at: now))
      let grant = found.refreshToken.flatMap { grants?.seal($0, of: flow.clientID, app: flow.app) }
      lost = grant.flatMap { Self.lost($0, with: found.idToken) }
      let claims = try await tokens.verify(found.idToken, of: flow, in: project, at: now)
      var identity = try identity(claims, user: credential.user, at: now)
      identity.take(found)
      identity.grant = grant
      return CheckedCredential(.success(identity))
    } catch {
      return CheckedCredential(.failure(error), lost: lost)
    }
  }

  /// The grant beside an ID token that may yet be refused. Apple itself has answered, over TLS (OpenID Connect Core 1.0,
  /// section 3.1.3.7), so the token says whose grant it is. Without that it is left alone: a revocation could end a later
  /// sign-in of the user.
  private static func lost(_ grant: ProviderGrant, with idToken: String?) -> LostGrant? {
    guard let subject = idToken.flatMap({ ProviderTokens.part($0, 1) })?["sub"]?.text,
      (1...ProvenIdentity.maxSubjectBytes).contains(subject.utf8.count)
    else { return nil }
    return LostGrant(grant: grant, subject: subject)
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
