import CountersignMessages
import CountersignTelemetry
import Projects

/// Facebook's page. Its code yields an access token, which is checked as one that an app brings.
extension SignInWithFacebook: PageProvider {
  private static let scopes = ["email", "public_profile"]

  func pageClient(of project: Project, for app: ProjectApp?) throws(APIError) -> String {
    guard let appID = project.providers[id]?.appID else {
      throw .noPage(id, "the project's file names no app in providers.\(id).appID")
    }
    guard secrets[project.id, id] != nil else {
      throw .noPage(id, "providerSecretsFile of accounts has no secret of the app")
    }
    return appID
  }

  func pageAddress(
    _ flow: PageFlow, _ request: PageRequest, state: Secret, for project: Project
  ) async throws(APIError) -> Secret {
    page.address(flow, request, state: state, scopes: Self.scopes)
  }

  func finish(
    _ flow: PageFlow, with credential: IDPCredential, for project: Project, at now: UnixTime
  ) async throws(APIError) -> ProvenIdentity {
    guard let secret = secrets[project.id, id] else { throw .providerSecretWrong(id) }
    guard let token = try await page.tokens(credential, of: flow, secret: secret).accessToken else {
      throw .invalidIDPResponse("Facebook gives no access token for the code")
    }
    return try await identity(of: token, appID: flow.clientID, project, at: now)
  }
}
